"""The `relay` node puts the link model between vehicles: `/<sender>/plan` → `/<receiver>/heard/<sender>/plan`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.subscription import Subscription

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.link import Link, LinkSettings
from shoal.messages import topics
from shoal.messages.plan import Plan
from shoal.simulation.conditions import load_condition
from shoal.simulation.faults import Faults
from shoal.simulation.plan_faults import PlanFaults
from shoal_ros import convert, endpoints, process
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.parameters import SettingsParameters, declare

Array = NDArray[np.float64]
STREAM = 4  # of the seed; the simulator's link draws from the same
POLL_S = 0.01
NOWHERE = np.array([0, 0, 0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])


@dataclass(frozen=True)
class RawPlan(Plan):
    """A message under way. The link only looks at the sender, so its bytes are not even read."""

    data: bytes = b""


class RelayNode(Node):
    """Loss, delay, jitter, drop-outs and line of sight, each a parameter that may change at run time."""

    def __init__(self) -> None:
        super().__init__("relay")
        self.names = load_fleet(declare(self, "fleet", "two", "fleet name or file")).names
        condition = load_condition(
            declare(self, "condition", "default", "its radio faults are simulated: name or file")
        )
        self._faults = Faults(condition.faults, self.names)
        self._plan_faults = PlanFaults(self._faults)
        self._seed = declare(self, "seed", 0, "of what is lost when")
        self._settings = SettingsParameters(self, LinkSettings(), changed=self._change)
        self._link = self._fresh_link()
        self._sequence = 0
        self._last_s = -np.inf
        self._sent = self._passed = 0
        self._states: dict[str, Array] = {}
        self._odometry_subscriptions: list[Subscription] = []
        self._delivered: dict[tuple[str, str], int] = {}
        self._out = {
            (sender, receiver): endpoints.publisher(self, topics.HEARD, vehicle=receiver, other=sender)
            for sender in self.names
            for receiver in self.names
            if sender != receiver
        }
        for name in self.names:
            endpoints.subscription(self, topics.PLAN, partial(self._on_plan, name), raw=True, vehicle=name)
        self._diagnostics = Diagnostics(self, "relay", "link")
        self._change(self._settings.value)
        self.create_timer(POLL_S, self._deliver)

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)

    def _fresh_link(self) -> Link:
        of_links = self._faults.of_link if self._faults.of_links else None
        return Link(self._settings.value, np.random.default_rng([self._seed, STREAM]), of_links)

    def _change(self, settings: LinkSettings) -> None:
        """What is under way stays under way. Odometry is subscribed to only while it decides something."""
        self._link.settings = settings
        if settings.line_of_sight and not self._odometry_subscriptions:
            self._odometry_subscriptions = [
                endpoints.subscription(self, topics.ODOMETRY, partial(self._on_odometry, name), raw=True, vehicle=name)
                for name in self.names
            ]
        elif not settings.line_of_sight:
            for subscription in self._odometry_subscriptions:
                self.destroy_subscription(subscription)
            self._odometry_subscriptions, self._states = [], {}

    def _on_odometry(self, name: str, data: bytes) -> None:
        self._states[name] = convert.odometry_from_bytes(data).state

    def _on_plan(self, sender: str, data: bytes) -> None:
        t_s = self._tick()
        if self._faults:
            try:
                made = convert.plan_from_bytes(data)
            except ShoalError:  # the receivers refuse it, too
                return
            sent = self._plan_faults.sent(made, t_s)
            if sent is None:
                return
            data = data if sent is made else convert.plan_to_bytes(sent)
        if not self._link.due(t_s, sender):
            return
        self._sequence += 1  # our own: a controller that was started again counts from 1
        empty = np.zeros((0, 3))
        raw = RawPlan(sender, self._sequence, t_s, np.zeros(0), empty, empty, data=data)
        for receiver in self.names:
            if receiver != sender:
                here, there = self._states.get(sender, NOWHERE), self._states.get(receiver, NOWHERE)
                self._sent += 1
                self._passed += self._link.send(t_s, sender, receiver, raw, here, there)
        self._publish_arrived(t_s)

    def _deliver(self) -> None:
        t_s = self._tick()
        self._publish_arrived(t_s)
        share = f"{self._passed} of {self._sent} messages passed"
        self._diagnostics.report(t_s, Level.OK, "relaying", {"passed": share, **self._settings.value.model_dump()})

    def _tick(self) -> float:
        """The time; when it has gone back, nothing that is under way will arrive."""
        t_s = self._now()
        if t_s < self._last_s - 1e-3:
            self._link = self._fresh_link()
            self._delivered.clear()
        self._last_s = t_s
        return t_s

    def _publish_arrived(self, t_s: float) -> None:
        for receiver in self.names:
            for plan in self._link.receive(t_s, receiver):
                key = plan.vehicle, receiver
                # The topic keeps one message: a plan that was overtaken on its way must not replace the newer one.
                if isinstance(plan, RawPlan) and self._delivered.get(key, 0) < plan.sequence:
                    self._delivered[key] = plan.sequence
                    self._out[key].publish(plan.data)


def main() -> None:
    """`ros2 run shoal_ros relay`."""
    process.run(RelayNode)


if __name__ == "__main__":
    main()
