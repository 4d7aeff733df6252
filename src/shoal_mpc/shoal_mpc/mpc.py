"""The `mpc` node, one per vehicle: moves messages in and out of `shoal.fleet.agent.Agent`, which is all the control."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import Bool, Float64, String

from shoal.control.settings import ControllerSettings
from shoal.errors import ShoalError
from shoal.fleet.agent import Agent, Command
from shoal.fleet.neighbour_table import NeighbourTable
from shoal.fleet.reference_tracker import ReferenceTracker
from shoal.fleet.step_trigger import StepTrigger
from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal_mpc import report
from shoal_mpc.setup_agent import Role, load_role
from shoal_ros import convert, endpoints, process
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.formation import formation_from_json
from shoal_ros.parameters import SettingsParameters, declare

GRID = ("fine_steps", "fine_step_s", "coarse_steps", "coarse_step_s")  # the optimisation is built for it
CLOCK_BACK_S = 0.5  # a clock that goes back further has been reset; less is only its message coming late


class MpcNode(Node):
    """Steps on each odometry message a control period apart: nothing waits for a timer."""

    def __init__(self) -> None:
        super().__init__("mpc")
        self.role = self._declare()
        self.agent = Agent(self.role.name, self.role.model, self.role.settings, self.role.must_see)
        self._trigger = StepTrigger(self.role.settings.period_s)
        self._odometry: Odometry | None = None
        self._stopped = False
        self._holding = ""  # why we do not follow
        self._overruns = 0
        self._reported_s = -np.inf
        self._last_s = -np.inf
        self._open_topics()
        self._forces_N = [0.0] * len(self._thrust)
        self.create_timer(self.role.settings.period_s, self._on_timer)
        self.get_logger().info(f"{self.role.name}: {1 / self.role.settings.period_s:g} Hz, back end {self.backend}")

    @property
    def backend(self) -> str:
        return str(self.agent.controller.backend.name)

    def _declare(self) -> Role:
        fleet = declare(self, "fleet", "two", "fleet name or file")
        vehicle = declare(self, "vehicle", self.get_namespace().strip("/"), "our name in the fleet")
        condition = declare(self, "condition", "default", "what is believed of the vehicle: name or file")
        period_s = declare(self, "control_period_s", 0.05, "s", low=0.01, high=1.0)
        role = load_role(fleet, vehicle, condition, period_s)
        s = role.settings
        self._use_relay = declare(self, "use_relay", False, "hear plans through the relay")
        fallback_s = declare(self, "odometry_fallback_s", 0.5, "s: with an older plan a neighbour's odometry counts; "
                             "0: never", low=0.0)  # fmt: skip
        gone_s = declare(self, "gone_s", 2.0, "s without a plan, then a neighbour is said to be gone", low=0.1)
        patience_s = declare(self, "reference_timeout_s", 1.5, "s: an older reference is not followed", low=0.1)
        self._report_s = 1.0 / declare(self, "report_rate_hz", 5.0, "Hz, of sight and distance", low=0.1, high=50.0)
        self._inbox = NeighbourTable(role.others, fallback_s, gone_s)
        self._course = ReferenceTracker(vehicle, patience_s)
        controller = SettingsParameters(self, s.controller, fixed=GRID, changed=self._tune)
        fixed = {
            name: SettingsParameters(self, getattr(s, name), f"{name}.", fixed=True).value
            for name in ("estimator", "neighbours", "give_way", "gate", "watch")
        }
        settings = s.model_copy(
            update={
                "controller": controller.value,
                **fixed,
                "backend": declare(self, "backend", s.backend, "solver: auto, kernel, hpipm, …"),
                "actuation_delay_s": declare(self, "actuation_delay_s", s.actuation_delay_s,
                                             "s from odometry to the thrust that answers it", low=0.0, high=1.0),
                "thruster_lag_s": declare(self, "thruster_lag_s", s.thruster_lag_s, "s, time constant",
                                          low=0.0, high=1.0),
            }
        )  # fmt: skip
        return Role(role.fleet, role.name, role.model, settings, role.must_see)

    def _open_topics(self) -> None:
        me = self.role.name
        thrusters = [t.name for t in self.role.model.thrusters]
        self._thrust = [endpoints.publisher(self, topics.THRUST, vehicle=me, thruster=t) for t in thrusters]
        self._plan, self._path = (endpoints.publisher(self, t, vehicle=me) for t in (topics.PLAN, topics.PLAN_PATH))
        self._sight = {
            other: tuple(endpoints.publisher(self, t, vehicle=me, other=other) for t in (topics.FOV, topics.DISTANCE))
            for other in self.role.others
        }
        self._diagnostics = Diagnostics(self, f"{me} controller", me)
        # Read when a step needs it: a wake-up costs ten times the message.
        self._group = endpoints.Polled()
        self._plans = {other: self._plan_of(other) for other in self.role.others}
        self._odometry_subscriptions: dict[str, Subscription] = {}
        self._reference = endpoints.polled(self, topics.REFERENCE, self._group, raw=True)
        endpoints.subscription(self, topics.FORMATION, self._on_formation)
        endpoints.subscription(self, topics.STOP, self._on_stop)
        endpoints.subscription(self, topics.ODOMETRY, self._on_odometry, raw=True, vehicle=me)

    def _plan_of(self, other: str) -> Subscription:
        if self._use_relay:
            return endpoints.polled(self, topics.HEARD, self._group, raw=True, vehicle=self.role.name, other=other)
        return endpoints.polled(self, topics.PLAN, self._group, raw=True, vehicle=other)

    def _watch(self, late: list[str]) -> None:
        """Odometry of those who tell no plan, and of nobody else: in a large fleet it would be most of the work."""
        for other in late:
            if other not in self._odometry_subscriptions:
                self._odometry_subscriptions[other] = endpoints.polled(
                    self, topics.ODOMETRY, self._group, raw=True, vehicle=other
                )
        for other in [n for n in self._odometry_subscriptions if n not in late]:
            self.destroy_subscription(self._odometry_subscriptions.pop(other))

    # -- what others say ----------------------------------------------------------------------------------------

    def _tune(self, settings: ControllerSettings) -> None:
        self.agent.apply(settings)

    def _on_formation(self, message: String) -> None:
        try:
            news = formation_from_json(message.data)
        except ShoalError as error:
            self.get_logger().error(str(error))
            return
        self._course.form(news.slots)
        self.agent.must_see = frozenset(seen for seer, seen in news.sight if seer == self.role.name)

    def _on_stop(self, message: Bool) -> None:
        if message.data != self._stopped:
            self._stopped = bool(message.data)
            self._step(self._time(-np.inf))  # at once, not with the next odometry

    def _read(self, t_s: float) -> None:
        """Take in what has come since the last step."""
        for other, waiting in self._plans.items():
            for data, _ in endpoints.take_all(waiting)[-1:]:
                self._try(other, self._take_plan, data)
        self._watch(self._inbox.late(t_s))
        for other, waiting in self._odometry_subscriptions.items():
            for data, _ in endpoints.take_all(waiting)[-1:]:
                self._inbox.see(other, convert.odometry_from_bytes(data))
        for data, _ in endpoints.take_all(self._reference)[-1:]:
            self._try("reference", self._take_reference, data)

    def _take_plan(self, data: bytes) -> None:
        self._inbox.hear(convert.plan_from_bytes(data))

    def _take_reference(self, data: bytes) -> None:
        self._course.take(convert.preview_from_bytes(data))

    def _try(self, who: str, take: Callable[[bytes], None], data: bytes) -> None:
        """A message that makes no sense must not stop the loop."""
        try:
            take(data)
        except ShoalError as error:
            self.get_logger().error(f"{who}: {error}", throttle_duration_sec=1.0)

    # -- the step -----------------------------------------------------------------------------------------------

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)

    def _on_odometry(self, data: bytes) -> None:
        odometry = convert.odometry_from_bytes(data)
        t_s = self._time(odometry.stamp_s)
        again = self._odometry is not None and odometry.stamp_s == self._odometry.stamp_s
        if self._odometry is None or not odometry.stamp_s <= self._odometry.stamp_s:
            self._odometry = odometry  # an overtaken one never replaces a newer
        if self._trigger.due(t_s):
            self._step(t_s)
        elif again:
            self._answer_again(t_s)

    def _answer_again(self, t_s: float) -> None:
        """The clock stands: whoever asks once more may not have heard the answer, and we may know more than before."""
        self._read(t_s)
        if self._holding and not self._stopped and not self._course.goal(t_s, self._odometry).reason:
            self._step(t_s)
        else:
            self._say_thrust()

    def _time(self, stamp_s: float) -> float:
        """Now. A simulated clock ticks coarsely and its message may come after the odometry it belongs to."""
        now = self._now()
        ahead = stamp_s - now
        t_s = stamp_s if 0 < ahead <= self.role.settings.gate.future_s else now
        if t_s < self._last_s - CLOCK_BACK_S:
            self._restart()
        return max(t_s, self._last_s)

    def _restart(self) -> None:
        self.get_logger().warning("the clock went back: starting over")
        self._odometry = None
        self._trigger = StepTrigger(self.role.settings.period_s)
        self._inbox.clear()
        self._course.clear()
        self._last_s = self._reported_s = -np.inf

    def _on_timer(self) -> None:
        """Odometry stays away: the gate decides what the thrusters do, and says so."""
        t_s = self._time(-np.inf)
        if self._trigger.overdue(t_s):
            self._step(t_s)

    def _step(self, t_s: float) -> None:
        self._last_s = t_s
        self._trigger.stepped(t_s)
        self._holding = ""
        self._read(t_s)
        known = self._inbox.known(t_s)
        if self._stopped:
            command = self.agent.rest(t_s, self._odometry, "stopped by /fleet/stop")
        else:
            goal = self._course.goal(t_s, self._odometry)
            self._holding = goal.reason
            # Who tells no plan is not thought to go back to its place.
            places = goal.places.without(self._inbox.without_plan(t_s))
            command = self.agent.step(t_s, self._odometry, known, goal.own, places)
        self._forces_N = command.thrust_N.tolist()
        self._say_thrust()
        self._plan.publish(convert.plan_to_bytes(command.plan))
        self._tell(t_s, command, known)

    def _say_thrust(self) -> None:
        for publisher, force in zip(self._thrust, self._forces_N, strict=True):
            publisher.publish(Float64(data=force))

    def _tell(self, t_s: float, command: Command, known: dict[str, Plan]) -> None:
        self._overruns += command.health.overrun
        level, message = report.verdict(command.health, self._holding, self._inbox.gone(t_s))
        if self._diagnostics.due(t_s, Level(level), message):
            ages_s = {name: t_s - plan.stamp_s for name, plan in known.items()}
            values = report.values(command.health, ages_s, self._overruns)
            self._diagnostics.tell(t_s, Level(level), message, values)
        if 0 <= t_s - self._reported_s < self._report_s - 1e-6:
            return
        self._reported_s = t_s
        own = self._odometry
        if own is not None and np.isfinite(own.state).all():
            for name, plan in known.items():
                pair = report.sight(own, plan.at(np.array([own.stamp_s]))[0])
                for publisher, value in zip(self._sight[name], pair, strict=True):
                    publisher.publish(Float64(data=value))
        if self._path.get_subscription_count():
            self._path.publish(convert.to_path(t_s, command.plan.times_s, command.plan.positions_m))

    def close(self) -> None:
        """Thrusters never keep running on an old command."""
        self._forces_N = [0.0] * len(self._thrust)
        self._say_thrust()
        process.flush(self._thrust)


def main() -> None:
    """`ros2 run shoal_mpc mpc`."""
    process.run(MpcNode)


if __name__ == "__main__":
    main()
