"""The `guidance` node: where the fleet shall be, ahead of time. Modes and motion are the Director's; this is wiring."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Path as PathMessage
from numpy.typing import NDArray
from pydantic import ValidationError
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import Trigger

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.placement import assign, lag_of, places_m, sight_problem, swimmers
from shoal.fleet.stop import StopLatch
from shoal.frames import enu_to_ned, yaw_of
from shoal.guidance.director import Director, Mode, ReferenceSchedule
from shoal.guidance.formation import Formation
from shoal.guidance.sequence import State
from shoal.messages import topics
from shoal.messages.echo import Echo
from shoal.messages.health import Issue
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.messages.wording import sentences
from shoal.recordings.placement_json import formation_to_json
from shoal_guidance.answers import attempt, serve
from shoal_guidance.docking_orders import DockingOrders
from shoal_guidance.mode_memory import ModeMemory
from shoal_guidance.settings import FIXED, GuidanceSettings
from shoal_guidance.task_orders import TaskOrders, make_orders
from shoal_guidance.task_server import TaskServer
from shoal_guidance.waypoint_messages import legs_s, place_m
from shoal_ros import convert, endpoints, process
from shoal_ros.assembly_orders import AssemblyOrders
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.parameters import SettingsParameters, declare, with_changes
from shoal_ros.publishers import PublisherWatch
from shoal_ros.stop import StopEndpoints, state_folder

Array = NDArray[np.float64]

STATUS_PERIOD_S = 0.2
IDLE_WALL_S = 0.2
CLOCK_BACK_S = 0.5  # a clock that goes back further has been reset; less is two sources that disagree


class GuidanceNode(Node):
    """Starts as soon as the fleet is received; starts over, in hold, after a restart or when the clock goes back."""

    def __init__(self, **options: Any) -> None:
        super().__init__("guidance", **options)
        name = declare(self, "fleet", "two", "fleet file, or the name of one in config/fleets")
        self.fleet = load_fleet(name)
        task = declare(self, "task", "", "task that orders the fleet about: name or package.module:Name")
        path = declare(self, "path", "circle", "path of that task, if it follows one")
        condition = declare(self, "condition", "", "condition of that task: name or file")
        seed = declare(self, "seed", 0, "of what that task draws", low=0)
        self._task = make_orders(task, self.fleet, path, condition, seed) if task else None
        self._tuning = SettingsParameters(self, GuidanceSettings.of(self.fleet), fixed=FIXED, changed=self._changed)
        settings = self._tuning.value
        self._formation = settings.formation(self.fleet)
        self._check_start()
        self._schedule = ReferenceSchedule(settings.preview_s)
        self._received: dict[str, Odometry] = {}
        self._came_s: dict[str, float] = {}  # when the newest of them came, by our clock; stamps are the vehicle's
        self._director: Director | None = None
        self._placement: Placement | None = None
        folder = state_folder(self, name)
        self._memory = ModeMemory(folder / "guidance.mode")
        self._restarted = self._memory.was_running
        if self._restarted:
            self._task = None
        self._last_s = self._last_idle_s = -np.inf
        self._first_received_s: float | None = None
        self._status_s = -np.inf
        self._diagnostics = Diagnostics(self, "guidance", "fleet")
        self._try = partial(attempt, self.get_logger())
        self._sent: dict[str, str] = {}  # latched texts, so that they go out only when they change
        self._open_topics()
        self._stop = StopEndpoints(self, StopLatch(folder / "guidance.stop.json"), lambda _: None)
        self.create_timer(1.0 / settings.rate_hz, self._tick)
        self.create_timer(IDLE_WALL_S, self._idle, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.add_on_set_parameters_callback(self._check_formation)
        self._publish_mode()

    def _check_start(self) -> None:
        """A formation that cannot be is refused now, not when the fleet has been received."""
        starts = {m.name: np.array(m.start_m) for m in self.fleet.vehicles}
        assign(self.fleet, self._formation, starts, np.mean(list(starts.values()), axis=0))
        if problem := sight_problem(self.fleet, self._formation):
            self.get_logger().warning(f"fleet '{self.fleet.name}': {problem}")

    def _open_topics(self) -> None:
        t = topics
        self._reference, self._setpoint = endpoints.publisher(self, t.REFERENCE), endpoints.publisher(self, t.SETPOINT)
        self._latched = {x.name: endpoints.publisher(self, x) for x in (t.FORMATION, t.MODE)}
        self._queue, self._status = endpoints.publisher(self, t.WAYPOINTS), endpoints.publisher(self, t.TEST_STATUS)
        # Ours alone, and the stick's: two hands at one fleet would pull it to and fro.
        owned = (t.REFERENCE, t.SETPOINT, t.FORMATION, t.MODE, t.WAYPOINTS, t.TEST_STATUS, t.CMD_VEL)
        self._publisher_watch = PublisherWatch(self, [x.name for x in owned])
        group = endpoints.Polled()  # wanted once a tick, however often it comes
        self._odometry = {n: endpoints.polled(self, t.ODOMETRY, group, raw=True, vehicle=n) for n in self.fleet.names}
        endpoints.subscription(self, t.CMD_VEL, self._stick)
        endpoints.subscription(self, t.GOAL_POSE, self._goal)
        endpoints.subscription(self, t.WAYPOINT, self._waypoint)
        endpoints.subscription(self, t.SET_WAYPOINTS, self._waypoints)
        endpoints.subscription(self, t.SET_MODE, self._set_mode)
        self._assembly, self._docking = AssemblyOrders(self), DockingOrders(self, self.fleet.names)
        self._server = TaskServer(self, self.fleet, self._docking, self._take_task, self._leave_task)
        self.create_service(Trigger, "~/start_test", partial(serve, self._start_test))
        hold, clear = lambda: self._enter(self._now(), Mode.HOLD), lambda: self._ready_director().clear(self._now())
        self.create_service(Trigger, "~/hold", partial(serve, hold, words="hold"))
        self.create_service(Trigger, "~/clear", partial(serve, clear, words="no waypoints"))

    # -- ticks --------------------------------------------------------------------------------------------------

    def _tick(self, idle: bool = False) -> None:
        t_s = self._now()
        if t_s < self._last_s - CLOCK_BACK_S:
            self.get_logger().warning("the clock went back: starting over, in hold")
            self._director, self._first_received_s, self._status_s = None, None, -np.inf
            self._restarted = True  # a plant that was started again must not start a test by itself
            self._leave_task()
            self._listen(t_s)
            self._received.clear()  # of another time
            self._came_s.clear()
            self._last_s = t_s
        self._last_s = t_s = max(t_s, self._last_s)
        self._listen(t_s)
        if self._director is None and not self._begin(t_s):
            return
        director = self._director
        assert director is not None
        if self._task is not None:
            self._publish_orders(t_s, self._task, idle)
            return
        fresh = {n: state[POSITION] for n in self.fleet.names if (state := self._fresh_state(n, t_s)) is not None}
        self._docking.order(None)  # a cancel is repeated until it has been heard
        director.advance(t_s, self._missing(t_s, director), lag_of(director, self._placement, fresh, t_s))
        if self._schedule.due(t_s, director.mode) or idle:
            self._publish_reference(t_s, director.preview(t_s, self._schedule.horizon_s))
        setpoint = director.motion(t_s).position_m
        self._setpoint.publish(convert.pose_to_bytes(t_s, setpoint, director.yaw_rad(t_s)))
        self._report(t_s, director.issues)
        self._publish_mode()
        self._publish_queue(t_s, director)
        self._publish_status(t_s, director)

    def _publish_reference(self, t_s: float, preview: Preview) -> None:
        """With our answers to the vehicles' odometry, by which they compare their clocks with ours."""
        heard = {name: Echo(self._received[name].stamp_s, t_s - came_s) for name, came_s in self._came_s.items()}
        self._reference.publish(convert.preview_to_bytes(replace(preview, heard=heard), t_s))

    def _publish_orders(self, t_s: float, task: TaskOrders, idle: bool) -> None:
        """A task has the fleet: its own director gives the orders, as in the simulator."""
        task.hear_of_docking(t_s, self._docking.feedback, self._docking.pair in self._assembly.pairs)
        orders = task.orders(t_s, {name: self._received.get(name) for name in self.fleet.names})
        self._report(t_s, orders.issues)
        if orders.placement is not None:
            self._placement = orders.placement
            self._publish_latched(topics.FORMATION, formation_to_json(orders.placement))
        self._assembly.order(orders.joining)
        self._docking.order(orders.docking)
        if orders.stop == "stop":
            self._stop.stop("task")
        elif orders.stop == "release":
            self._stop.release("task")
        if self._server.follow(t_s, self._docking.feedback):
            self._leave_task()
            return
        if orders.reference is not None or (idle and task.preview is not None):
            self._publish_reference(t_s, task.preview_at(t_s))
        if task.preview is not None:
            self._setpoint.publish(convert.pose_to_bytes(t_s, task.preview_at(t_s).positions_m[0]))
        self._publish_mode()

    def _leave_task(self) -> None:
        """Somebody else has the reference from now on, from where the task has left it."""
        if self._task is not None and self._task.preview is not None and self._director is not None:
            now = self._task.preview_at(self._last_s)
            yaw = 0.0 if now.headings_rad is None else float(now.headings_rad[0])
            self._director = Director(self._last_s, now.positions_m[0], self._settings.director(), yaw)
        self._task = None
        self._server.end("cancelled", "somebody else has the reference")

    def _take_task(self, task: TaskOrders) -> None:
        """An operator's."""
        if self._stop.latch.stopped:
            raise ShoalError("the fleet is stopped; expected STOP to be released first")
        if silent := [name for name in self.fleet.names if self._fresh_state(name, self._now()) is None]:
            raise ShoalError(f"no odometry from {', '.join(silent)}; expected everybody's")
        self._ready_director()
        self._task = task

    def _idle(self) -> None:
        """While ROS time stands still (a pause, a plant that waits for us) repeat the same, for late comers."""
        if self._now() == self._last_idle_s:
            self._tick(idle=True)
        self._last_idle_s = self._now()

    def _begin(self, t_s: float) -> bool:
        """Where the fleet is, all of it; a vehicle that stays silent counts where the fleet file has it."""
        if not self._received:
            return False
        self._first_received_s = t_s if self._first_received_s is None else self._first_received_s
        missing = [name for name in self.fleet.names if name not in self._received]
        if missing and t_s - self._first_received_s < self._settings.patience_s:
            return False
        if missing:
            self.get_logger().warning(f"no odometry from {', '.join(missing)}: going on without")
        where = self._positions()
        self._director = Director(t_s, np.mean(list(where.values()), axis=0), self._settings.director())
        if self._task is None:
            self._assign(t_s)
            self._try("start_mode", lambda: self._enter(t_s, self._start_mode()))
        return True

    def _start_mode(self) -> Mode:
        """As asked for; after a restart nobody has asked for motion."""
        wanted = Mode.named(self._settings.start_mode)
        if self._restarted and wanted is not Mode.HOLD:
            self.get_logger().warning(f"restarted: holding instead of mode '{wanted.value}'")
            return Mode.HOLD
        return wanted

    def _missing(self, t_s: float, director: Director) -> list[str]:
        """What keeps the next test from starting."""
        if director.mode is not Mode.TEST or director.status(t_s).state is State.RUNNING or self._placement is None:
            return []
        fresh = {n: self._fresh_state(n, t_s) for n in self.fleet.names}
        placement = self._placement
        places = places_m(placement, director.motion(t_s).position_m, director.yaw_rad(t_s), t_s)
        return self._settings.rule().missing(fresh, places, placement.sight)

    def _report(self, t_s: float, issues: tuple[Issue, ...]) -> None:
        issues = (*issues, *self._publisher_watch.issues(t_s))
        values = {i.code.value: i.value for i in issues}
        self._diagnostics.report(t_s, Level.WARN if issues else Level.OK, sentences(issues) or "as planned", values)

    def _fresh_state(self, name: str, t_s: float) -> Array | None:
        """None: nothing new of late. By arrival: the vehicle's clock need not be ours."""
        late = t_s - self._came_s.get(name, -np.inf) > self._settings.odometry_timeout_s
        return None if late else self._received[name].state

    def _positions(self) -> dict[str, Array]:
        starts = {m.name: np.array(m.start_m) for m in self.fleet.vehicles}
        return {n: self._received[n].position_m if n in self._received else starts[n] for n in self.fleet.names}

    def _assigned(self, formation: Formation, t_s: float) -> Placement:
        director = self._ready_director()
        center, yaw = director.motion(t_s).position_m, director.yaw_rad(t_s)
        return assign(self.fleet, formation, self._positions(), center, yaw, t_s)

    def _assign(self, t_s: float) -> None:
        self._formation = self._settings.formation(self.fleet)
        self._placement = self._assigned(self._formation, t_s)
        yaws = {n: yaw_of(o.attitude) for n, o in self._received.items()}
        self._ready_director().swimmers = swimmers(self.fleet, self._placement, yaws)
        self._publish_latched(topics.FORMATION, formation_to_json(self._placement))

    # -- messages in --------------------------------------------------------------------------------------------

    def _listen(self, t_s: float) -> None:
        """Each vehicle's newest odometry, unless it is nonsense."""
        for name, waiting in self._odometry.items():
            if taken := endpoints.take_all(waiting):
                odometry = convert.odometry_from_bytes(taken[-1][0])
                last = self._received.get(name)
                if odometry.is_finite and (last is None or odometry.stamp_s != last.stamp_s):
                    self._received[name], self._came_s[name] = odometry, t_s

    def _stick(self, message: TwistStamped) -> None:
        move, turn = message.twist.linear, message.twist.angular
        velocity = enu_to_ned(np.array([move.x, move.y, move.z]))  # and a yaw from above is one from below turned round
        self._try("cmd_vel", lambda: self._ready_director().stick(self._now(), velocity, -turn.z))

    def _goal(self, message: PoseStamped) -> None:
        """RViz's 2D goal has no depth: z = 0 keeps the setpoint's."""
        self._try("goal_pose", lambda: self._add(message, keep_depth=message.pose.position.z == 0.0))

    def _waypoint(self, message: PoseStamped) -> None:
        self._try("waypoint", lambda: self._add(message, keep_depth=False))

    def _add(self, message: PoseStamped, keep_depth: bool) -> None:
        t_s, director, position = self._now(), self._ready_director(), place_m(message)
        if keep_depth:
            ahead = director.waypoints(t_s)
            position[2] = (ahead[-1].position_m if ahead else director.motion(t_s).position_m)[2]
        director.add_waypoint(t_s, position)

    def _waypoints(self, message: PathMessage) -> None:
        def act() -> None:
            places = [place_m(pose, message.header.frame_id) for pose in message.poses]
            self._ready_director().set_waypoints(self._now(), places, legs_s(message))

        self._try("set_waypoints", act)

    def _set_mode(self, message: String) -> None:
        self._try("set_mode", lambda: self._enter(self._now(), Mode.named(message.data)))

    def _enter(self, t_s: float, mode: Mode) -> None:
        director = self._ready_director()
        if mode is Mode.TEST:
            director.start_tests(t_s, self._settings.trials(), self._settings.repeat)
        else:
            director.set_mode(t_s, mode)
        self._publish_mode()

    def _start_test(self) -> str:
        self._enter(self._now(), Mode.TEST)
        return f"test '{self._settings.test}', times {self._settings.repeat}"

    def _ready_director(self) -> Director:
        """For an operator, who takes over from a task."""
        self._leave_task()
        if self._director is None:
            raise ShoalError("guidance has not received the fleet's odometry yet; expected it first")
        return self._director

    # -- parameters ---------------------------------------------------------------------------------------------

    @property
    def _settings(self) -> GuidanceSettings:
        return self._tuning.value

    def _check_formation(self, changed: list[Parameter]) -> SetParametersResult:
        """A formation that cannot be is refused with the reason, before anybody receives it."""
        own = {p.name: p.value for p in changed if p.name.startswith("formation_")}
        if own and self._director is not None:
            try:
                self._assigned(with_changes(self._settings, own).formation(self.fleet), self._now())
            except ShoalError as error:
                return SetParametersResult(successful=False, reason=str(error))
            except ValidationError:
                pass  # refused by the settings themselves
        return SetParametersResult(successful=True)

    def _changed(self, settings: GuidanceSettings) -> None:
        if self._director is not None:
            self._director.apply(self._now(), settings.director())
            if settings.formation(self.fleet) != self._formation:
                self._assign(self._now())

    # -- messages out -------------------------------------------------------------------------------------------

    def _publish_latched(self, topic: topics.Topic, text: str) -> None:
        if self._sent.get(topic.name) != text:
            self._sent[topic.name] = text
            self._latched[topic.name].publish(String(data=text))

    def _publish_mode(self) -> None:
        mode = self._director.mode if self._director else Mode.HOLD
        mode = Mode.TASK if self._task is not None else mode
        self._publish_latched(topics.MODE, mode.value)
        self._memory.remember(mode)

    def _publish_queue(self, t_s: float, director: Director) -> None:
        ahead = [waypoint.position_m for waypoint in director.waypoints(t_s)]
        text = str(ahead)
        if self._sent.get("queue") != text:
            self._sent["queue"] = text
            self._queue.publish(convert.path_to_bytes(t_s, np.full(len(ahead), t_s), np.array(ahead).reshape(-1, 3)))

    def _publish_status(self, t_s: float, director: Director) -> None:
        status = director.status(t_s)
        if t_s - self._status_s >= STATUS_PERIOD_S or status.state != self._sent.get("state"):
            self._status_s, self._sent["state"] = t_s, status.state
            self._status.publish(String(data=json.dumps({"stamp_s": t_s} | asdict(status))))

    def close(self) -> None:
        """An orderly end: the next start is a run of its own."""
        self._memory.forget()

    def _now(self) -> float:
        return float(self.get_clock().now().nanoseconds * 1e-9)


def main() -> None:
    """Entry point."""
    process.run(GuidanceNode)


if __name__ == "__main__":
    main()
