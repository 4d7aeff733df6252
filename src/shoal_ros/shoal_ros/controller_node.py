"""A vehicle's controller as a node: carries messages in and out of `shoal.fleet.runtime.VehicleRuntime`.

`mpc` and `autopilot` are this node with different controllers and, for the autopilot, a pilot's topics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import Bool, Float64, String

from shoal.codegen import compile_in_background
from shoal.docking.part import DockingPart
from shoal.errors import ShoalError
from shoal.fleet.membership import Membership
from shoal.fleet.setup import make_runtime
from shoal.fleet.stop import StopLatch, StopState
from shoal.frames import flu_to_frd
from shoal.messages import topics
from shoal.messages.command import Command
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.health import Health, Mode
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.scan import Scan
from shoal.messages.wording import summary
from shoal.recordings.diagnostic_values import health_values
from shoal.recordings.placement_json import formation_from_json
from shoal.vehicles.stiffness import resolvable
from shoal_ros import convert, endpoints, process
from shoal_ros.controller_parameters import read_parameters
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.docking import DockingEndpoints
from shoal_ros.group import GroupEndpoints
from shoal_ros.publishers import PublisherWatch
from shoal_ros.stop import StopEndpoints, state_folder


class ControllerNode(Node):
    """Steps on each odometry message a control period apart: nothing waits for a timer."""

    def __init__(self, name: str, default_controller: str = "") -> None:
        """`default_controller`: empty for the fleet file's."""
        super().__init__(name)
        self.configuration = c = read_parameters(
            self, self._tune, self._put_out_of_use, self._check_thrusters, default_controller
        )
        self.me = c.role.name
        latch = StopLatch(state_folder(self, c.fleet_name) / f"{self.me}.stop.json")
        simulated = bool(self.get_parameter("use_sim_time").value)
        compile_in_background(not simulated)  # a real vehicle is steered from the first moment on
        self.runtime = make_runtime(
            c.role, c.vehicle, c.file, c.settings, c.runtime, c.timing, stop=latch, coarse_clock=simulated
        )
        self._odometry: Odometry | None = None
        self._overruns = 0
        self._reported_s = self._relayed_s = -np.inf
        believed = {m.name: resolvable(m.vehicle()) for m in c.fleet.vehicles}
        self._membership = Membership(self.runtime, believed)
        self._open_topics()
        self._mates = GroupEndpoints(self, self._membership, believed, self._relay, self._time, self._publisher_watch)
        ports = {name: vehicle.ports for name, vehicle in believed.items()}
        part = DockingPart(self.runtime, ports, group_of=self._membership.group_of)
        self._docking = DockingEndpoints(self, part, self._membership)
        self._forces_N = [0.0] * len(self._thrust)
        self._stop = StopEndpoints(self, latch, self._on_stop_change)
        self._open_more()
        self.create_timer(c.timing.period_s, self._on_timer)
        backend = getattr(self.runtime.agent.controller, "backend", "")
        solver = f", back end {backend}" if backend else ""
        self.get_logger().info(f"{self.me}: {1 / c.timing.period_s:g} Hz, controller {c.file.name}{solver}")

    def _open_topics(self) -> None:
        me, others = self.me, self.configuration.role.others
        thrusters = self.runtime.agent.vehicle.input_names
        self._thrust = [endpoints.publisher(self, topics.THRUST, vehicle=me, thruster=t) for t in thrusters]
        self._plan, self._path = (endpoints.publisher(self, t, vehicle=me) for t in (topics.PLAN, topics.PLAN_PATH))
        self._sight = {
            other: tuple(endpoints.publisher(self, t, vehicle=me, other=other) for t in (topics.FOV, topics.DISTANCE))
            for other in others
        }
        self._diagnostics = Diagnostics(self, f"{me} controller", me)
        # Read when a step needs it: a wake-up costs ten times the message.
        self._group = endpoints.Polled()
        self._plans = {other: self._plan_of(other) for other in others}
        self._odometry_subscriptions: dict[str, Subscription] = {}
        self._reference = endpoints.polled(self, topics.REFERENCE, self._group, raw=True)
        endpoints.subscription(self, topics.FORMATION, self._on_formation)
        self._sightings = endpoints.polled(self, topics.SIGHTING, self._group, vehicle=me)
        endpoints.subscription(self, topics.FORGET, self._on_forget)
        endpoints.subscription(self, topics.THRUSTERS_LIVE, self._on_thrusters, vehicle=me)
        endpoints.subscription(self, topics.ODOMETRY, self._on_odometry, raw=True, vehicle=me)
        owned = [topics.ODOMETRY.of(vehicle=me), topics.REFERENCE.name, topics.FORMATION.name, topics.CLOCK.name]
        owned += [topics.THRUST.of(vehicle=me, thruster=t) for t in thrusters[:1]]
        self._publisher_watch = PublisherWatch(self, owned)

    def _plan_of(self, other: str) -> Subscription:
        if self.configuration.use_relay:
            return endpoints.polled(self, topics.HEARD, self._group, raw=True, vehicle=self.me, other=other)
        return endpoints.polled(self, topics.PLAN, self._group, raw=True, vehicle=other)

    # -- what a node adds to it ---------------------------------------------------------------------------------

    def _open_more(self) -> None:
        """Further topics, once the runtime is there."""

    def _stepped(self) -> None:
        """After each step, once its thrust is out."""

    def _described(self, message: str) -> str:
        """What stands in the diagnostics."""
        return message

    # -- messages in --------------------------------------------------------------------------------------------

    def _tune(self, settings: Any) -> None:
        self.runtime.agent.controller.apply(settings)

    def _check_thrusters(self, names: str) -> None:
        self.runtime.agent.check_thrusters(names)

    def _put_out_of_use(self, names: str) -> None:
        try:
            self.runtime.agent.put_out_of_use(names)
        except ShoalError as error:  # joined or parted since it was accepted
            self.get_logger().error(str(error))

    def _on_formation(self, message: String) -> None:
        try:
            self.runtime.on_formation(formation_from_json(message.data))
        except ShoalError as error:
            self.get_logger().error(str(error))

    def _on_forget(self, message: String) -> None:
        if message.data in self.configuration.role.others:
            self.runtime.on_forget(message.data)
            self.get_logger().warning(f"{message.data} is forgotten by order: not kept clear of until it is heard of")
        elif message.data != self.me:
            others = ", ".join(self.configuration.role.others)
            self.get_logger().error(f"{topics.FORGET.name}: '{message.data}' is no neighbour; expected one of {others}")

    def _on_thrusters(self, message: Bool) -> None:
        self.runtime.on_thrusters(message.data)

    def _on_stop_change(self, _: StopState) -> None:
        """At once, not with the next odometry."""
        self.runtime.step_now()
        self._tick(self.runtime.time(self._now()))

    def _on_odometry(self, data: bytes) -> None:
        odometry = convert.odometry_from_bytes(data)
        now_s = self._now()
        repeated = self._odometry is not None and odometry.stamp_s == self._odometry.stamp_s
        self._odometry = odometry
        self._mates.read()
        self._membership.on_odometry(odometry, now_s)
        t_s = self.runtime.time(now_s)
        if not self._tick(t_s) and repeated:
            self._repeat()

    def _on_timer(self) -> None:
        """Odometry stays away: the gate decides what the thrusters do."""
        self._tick(self.runtime.time(self._now()))

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)

    def _read(self, t_s: float) -> None:
        """Take in what has come since the last step."""
        for other, waiting in self._plans.items():
            for data, _ in endpoints.take_all(waiting)[-1:]:
                self._try(other, lambda d: self.runtime.on_plan(convert.plan_from_bytes(d), t_s), data)
        self._subscribe_to_odometry(self.runtime.neighbours.stale(t_s))
        for other, waiting in self._odometry_subscriptions.items():
            for data, _ in endpoints.take_all(waiting)[-1:]:
                self.runtime.on_neighbour_odometry(other, convert.odometry_from_bytes(data), t_s)
        seen = {m.header.frame_id: m.point for m, _ in endpoints.take_all(self._sightings)}
        if seen:
            offsets_m = {name: flu_to_frd(np.array([p.x, p.y, p.z])) for name, p in seen.items()}
            self.runtime.on_scan(Scan(t_s, offsets_m))
        for data, _ in endpoints.take_all(self._reference)[-1:]:
            self._try("reference", lambda d: self.runtime.on_reference(convert.preview_from_bytes(d), None, t_s), data)

    def _subscribe_to_odometry(self, stale: list[str]) -> None:
        """Of those who send no plan, and of nobody else: in a large fleet it would be most of the work."""
        for other in stale:
            if other not in self._odometry_subscriptions:
                waiting = endpoints.polled(self, topics.ODOMETRY, self._group, raw=True, vehicle=other)
                self._odometry_subscriptions[other] = waiting
        for other in [n for n in self._odometry_subscriptions if n not in stale]:
            self.destroy_subscription(self._odometry_subscriptions.pop(other))

    def _try(self, who: str, take: Callable[[bytes], None], data: bytes) -> None:
        """A message that makes no sense must not stop the loop."""
        try:
            take(data)
        except ShoalError as error:
            self.get_logger().error(f"{who}: {error}", throttle_duration_sec=1.0)

    # -- messages out -------------------------------------------------------------------------------------------

    def _tick(self, t_s: float) -> bool:
        """Whether a step was due."""
        if not self.runtime.due(t_s) or self._mates.unknown:
            return False
        self._read(t_s)
        self._docking.read()
        self._mates.follow()
        flew = self._membership.flies
        command = self._membership.tick(t_s)
        if self._membership.flies != flew:
            self.get_logger().warning(f"{self.me}: takes over: nobody else flies")
        self._mates.share()
        self._mates.tell_owner(t_s)
        self._docking.share(t_s)
        if command is None:
            self._accompany(t_s)
            return False
        self._forces_N = self._mates.fly(command, t_s)
        self._publish_thrust()
        self._stepped()
        self._plan.publish(convert.plan_to_bytes(command.plan))
        self._report(t_s, command, self.runtime.neighbours.known(t_s))
        return True

    def _accompany(self, t_s: float) -> None:
        """Another member flies: its last command goes on until somebody's new one comes."""
        if self._membership.flies:
            return
        if self.runtime.stop.stopped:
            self._forces_N = [0.0] * len(self._thrust)
        if self.runtime.stop.stopped or t_s - self._relayed_s > self.configuration.timing.period_s * 1.5:
            self._publish_thrust()
        health = Health(Mode.ZERO_THRUST if self.runtime.stop.stopped else Mode.CONTROLLER)
        if self._diagnostics.due(t_s, Level.OK, "accompanies"):
            self._diagnostics.report(t_s, Level.OK, "accompanies the member that flies", health_values(health))

    def _relay(self, forces_N: list[float]) -> None:
        """Our share of what the flying member commands."""
        self._forces_N, self._relayed_s = forces_N, self._time()
        self._publish_thrust()

    def _time(self) -> float:
        return self.runtime.time(self._now())

    def _repeat(self) -> None:
        """The clock stands, and we are asked once more: not everybody may have received the answer."""
        self._publish_thrust()
        if self.runtime.last is not None:
            self._plan.publish(convert.plan_to_bytes(self.runtime.last.plan))

    def _publish_thrust(self) -> None:
        for publisher, force in zip(self._thrust, self._forces_N, strict=True):
            publisher.publish(Float64(data=force))

    def _report(self, t_s: float, command: Command, known: dict[str, Plan]) -> None:
        self._overruns += command.health.overrun
        health = replace(command.health, issues=command.health.issues + self._publisher_watch.issues(t_s))
        level, message = Level(int(health.severity)), self._described(summary(health))
        if self._diagnostics.due(t_s, level, message):
            ages_s = {name: t_s - plan.stamp_s for name, plan in known.items()}
            self._diagnostics.report(t_s, level, message, health_values(health, ages_s, self._overruns))
        if 0 <= t_s - self._reported_s < self.configuration.report_s - 1e-6:
            return
        self._reported_s = t_s
        own = self._odometry
        if own is not None and own.is_finite:
            for name, plan in known.items():
                there = plan.at(np.array([own.stamp_s]))[0]
                pair = sight_angle_deg(own.state, there), float(np.linalg.norm(there - own.position_m))
                for publisher, value in zip(self._sight[name], pair, strict=True):
                    publisher.publish(Float64(data=value))
        if self._path.get_subscription_count():
            self._path.publish(convert.path_to_bytes(t_s, command.plan.times_s, command.plan.positions_m))

    def close(self) -> None:
        """Thrusters never keep running on an old command."""
        self._forces_N = [0.0] * len(self._thrust)
        self._publish_thrust()
        process.flush(self._thrust)
