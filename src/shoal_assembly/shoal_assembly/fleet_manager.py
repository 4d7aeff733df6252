"""The `fleet_manager` node: vessels join into platforms. What to do is `shoal.platform`'s; this is wiring.

It takes guidance's place: common reference, formation and mode are its own as long as it runs. Killed and started again
it goes on where it was, since somebody had asked for that; after an orderly end it has forgotten.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import TwistStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import String

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopLatch
from shoal.frames import enu_to_ned
from shoal.guidance.director import Mode
from shoal.messages import topics
from shoal.messages.echo import Echo
from shoal.messages.joining import Ownership
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.messages.wording import sentences
from shoal.recordings.assembly_json import ownership_from_json
from shoal.recordings.placement_json import formation_to_json
from shoal.simulation.conditions import load_condition
from shoal.tasks.assemble import Assemble, AssembleDirector, placement_of
from shoal.tasks.base import TaskContext
from shoal.tasks.run import make_task, read_task_settings
from shoal_assembly.crash_memory import CrashMemory
from shoal_ros import convert, endpoints, process
from shoal_ros.assembly_orders import AssemblyOrders
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.parameters import declare
from shoal_ros.publishers import PublisherWatch
from shoal_ros.stop import StopEndpoints, state_folder

IDLE_WALL_S = 0.2
RATE_HZ = 20.0
STATUS_PERIOD_S = 0.2
OLD_S = 1.0  # odometry and owners that were heard of longer ago count as unknown
CLOCK_BACK_S = 0.5


class FleetManagerNode(Node):
    """Begins as soon as all vessels are received."""

    def __init__(self, **options: Any) -> None:
        super().__init__("fleet_manager", **options)
        name = declare(self, "fleet", "vessels3", "fleet file, or the name of one in config/fleets")
        settings = declare(self, "task_settings", "{}", "of the task assemble, JSON: blueprint, into, follow_s, …")
        self.fleet = load_fleet(name)
        given = read_task_settings(settings, "task_settings")
        task = make_task("assemble", TaskContext(self.fleet, load_condition("default"), given, "", 0))
        assert isinstance(task, Assemble)
        self.director: AssembleDirector | None = task.build_director()
        self._received: dict[str, tuple[Odometry, float]] = {}  # with when it came, by our clock
        self._owners: dict[str, tuple[Ownership, float]] = {}
        self._last_s = self._last_idle_s = self._status_s = -np.inf
        self._told = 0  # events
        self._latest: Preview | None = None
        self._open_topics()
        folder = state_folder(self, name)
        self._memory = CrashMemory(folder / "fleet_manager.json")
        self._found = self._memory.found()
        self._latch = StopLatch(folder / "fleet_manager.stop.json")
        self._stop = StopEndpoints(self, self._latch, lambda _: None)
        self.create_timer(1.0 / RATE_HZ, self._tick)
        self.create_timer(IDLE_WALL_S, self._idle, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _open_topics(self) -> None:
        t = topics
        self._reference, self._setpoint = endpoints.publisher(self, t.REFERENCE), endpoints.publisher(self, t.SETPOINT)
        self._mode, self._formation = endpoints.publisher(self, t.MODE), endpoints.publisher(self, t.FORMATION)
        self._status = endpoints.publisher(self, t.PLATFORM)
        self._assembly = AssemblyOrders(self)
        self._diagnostics = Diagnostics(self, "fleet_manager", "fleet")
        self._publisher_watch = PublisherWatch(self, [t.REFERENCE.name, t.SETPOINT.name, t.FORMATION.name])
        group = endpoints.Polled()
        self._odometry = {n: endpoints.polled(self, t.ODOMETRY, group, raw=True, vehicle=n) for n in self.fleet.names}
        self._owner = {n: endpoints.polled(self, t.OWNER, group, vehicle=n) for n in self.fleet.names}
        endpoints.subscription(self, t.SET_PLATFORM, self._on_order)
        endpoints.subscription(self, t.CMD_VEL, self._on_stick)
        self._formation.publish(String(data=formation_to_json(placement_of(self.fleet.names))))
        self._mode.publish(String(data=Mode.TASK.value))

    # -- ticks --------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        t_s = self._now()
        if t_s < self._last_s - CLOCK_BACK_S:
            self.get_logger().error("the clock went back: the water is another one; nothing is ordered any more")
            self.director = None
            self._memory.forget()
        self._last_s = t_s = max(t_s, self._last_s)
        self._listen(t_s)
        director = self.director
        if director is None or self._early(t_s):
            return
        if self._found is not None:
            if len(self._received) < len(self.fleet.names):
                return
            director.restore(self._found, t_s)
            self._found = None
        odometry = {n: self._fresh(n, t_s) for n in self.fleet.names}
        director.hear(t_s, self._latch.stopped, self._known_owners(t_s))
        orders = director.orders(t_s, odometry)
        if director.manager.members:
            self._memory.keep(director.remember())
        self._assembly.order(orders.joining)
        if orders.stop == "stop":
            self._stop.stop("fleet manager")
        elif orders.stop == "release":
            self._stop.release("fleet manager")
        if orders.reference is not None:
            self._latest = orders.reference
            self._publish_reference(t_s, orders.reference)
        site = director.manager.site
        self._setpoint.publish(convert.pose_to_bytes(t_s, np.array([site.x_m, site.y_m, 0.0]), site.heading_rad))
        self._report(t_s, director)

    def _publish_reference(self, t_s: float, reference: Preview) -> None:
        heard = {name: Echo(o.stamp_s, t_s - came_s) for name, (o, came_s) in self._received.items()}
        self._reference.publish(convert.preview_to_bytes(replace(reference, heard=heard), t_s))

    def _idle(self) -> None:
        """While ROS time stands still repeat the same, for late comers."""
        t_s = self._now()
        if t_s == self._last_idle_s:
            self._tick()
            if self._latest is not None and self.director is not None:
                self._publish_reference(t_s, self._latest)
        self._last_idle_s = t_s

    def _listen(self, t_s: float) -> None:
        for name, waiting in self._odometry.items():
            for data, _ in endpoints.take_all(waiting)[-1:]:
                odometry = convert.odometry_from_bytes(data)
                last = self._received.get(name)
                if odometry.is_finite and (last is None or odometry.stamp_s != last[0].stamp_s):
                    self._received[name] = odometry, t_s
        for name, waiting in self._owner.items():
            for message, _ in endpoints.take_all(waiting)[-1:]:
                try:
                    self._owners[name] = ownership_from_json(message.data), t_s
                except ShoalError as error:
                    self.get_logger().error(str(error), throttle_duration_sec=2.0)

    def _fresh(self, name: str, t_s: float) -> Odometry | None:
        odometry, came_s = self._received.get(name, (None, -np.inf))
        return None if t_s - came_s > OLD_S else odometry

    def _early(self, t_s: float) -> bool:
        """Just started, and /clock has not come yet: odometry is of a later time than ours."""
        return any(odometry.stamp_s > t_s + CLOCK_BACK_S for odometry, _ in self._received.values())

    def _known_owners(self, t_s: float) -> dict[str, Ownership]:
        return {name: owner for name, (owner, came_s) in self._owners.items() if t_s - came_s <= OLD_S}

    # -- orders -------------------------------------------------------------------------------------------------

    def _on_order(self, message: String) -> None:
        try:
            if self.director is None:
                raise ShoalError(f"platform '{message.data}': the clock went back; expected a fleet manager anew")
            self.get_logger().info(f"ordered: {self.director.order(message.data)}")
        except ShoalError as error:
            self.get_logger().error(f"{topics.SET_PLATFORM.name}: {error}")

    def _on_stick(self, message: TwistStamped) -> None:
        move, turn = message.twist.linear, message.twist.angular
        velocity = enu_to_ned(np.array([move.x, move.y, move.z]))
        if self.director is not None and np.isfinite([*velocity, turn.z]).all():
            self.director.steer(self._now(), velocity, -turn.z)

    # -- reports ------------------------------------------------------------------------------------------------

    def _report(self, t_s: float, director: AssembleDirector) -> None:
        manager = director.manager
        for event in manager.events[self._told :]:
            self.get_logger().info(f"{event.t_s:.1f} s: {event.vessel} {event.what}")
        self._told = len(manager.events)
        if 0 <= t_s - self._status_s < STATUS_PERIOD_S:
            return
        self._status_s = t_s
        phases = {name: manager.phase_of(name) for name in self.fleet.names}
        owners = {name: {"owner": o.owner, "assembly": o.assembly, "term": o.term}
                  for name, o in self._known_owners(t_s).items()}  # fmt: skip
        status = {
            "stamp_s": t_s,
            "phases": phases,
            "cells": {name: list(cell) for name, cell in manager.members.items()},
            "wanted": sorted(manager.cells),
            "owners": owners,
            "owned": manager.owned,
            "complete": manager.complete,
            "stage": next(reversed(director.stages_s), "build"),
            "over": director.over_s is not None,
            "stopped": self._latch.stopped,
        }
        self._status.publish(String(data=json.dumps(status)))
        issues = self._publisher_watch.issues(t_s)
        busy = ", ".join(f"{name} {phase}" for name, phase in phases.items() if phase not in ("member", "waiting"))
        words = f"{len(manager.members)} of {len(manager.cells)} joined" + (f"; {busy}" if busy else "")
        words = "stopped" if self._latch.stopped else words
        level = Level.WARN if issues or manager.failed or self._latch.stopped else Level.OK
        self._diagnostics.report(t_s, level, sentences(issues) or words, {"failed": ", ".join(manager.failed)})

    def close(self) -> None:
        """An orderly end: the next start is a run of its own."""
        self._memory.forget()

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)


def main() -> None:
    """Entry point."""
    process.run(FleetManagerNode)


if __name__ == "__main__":
    main()
