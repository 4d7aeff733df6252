"""The `dynamics` node: the built-in plant of a whole fleet. Owns /clock, makes odometry, obeys thrust commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Point, PointStamped, Vector3
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header, String
from std_srvs.srv import Trigger

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopLatch
from shoal.frames import enu_to_ned, frd_to_flu
from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.simulation.conditions import load_condition
from shoal.simulation.world import World
from shoal.tasks.base import TaskContext
from shoal.tasks.run import make_task, read_task_settings
from shoal_dynamics import response_time
from shoal_dynamics.docking import Ports
from shoal_dynamics.joints import Joints
from shoal_dynamics.lock_step import LockStep
from shoal_dynamics.progress import ProgressLines
from shoal_dynamics.tick_schedule import Pacer, TickSchedule, choose_schedule
from shoal_ros import convert, endpoints, process
from shoal_ros.diagnostics import Diagnostics, Level
from shoal_ros.parameters import declare
from shoal_ros.stop import StopEndpoints, state_folder

HOLD_S = 0.1  # wall, between two looks whether everybody is there
LONGEST_S = 3600.0  # for which random currents are drawn; afterwards they hold
SETTLE_S = 0.5  # wall, from when all are there until the clock starts: DDS discovery is still under way
GUIDANCE_LAG_S = 0.3  # simulated; in lock step guidance may be that far behind
LOCK_POLL_S = 0.001  # wall, between two looks for answers in lock step
WARM_UP_S = 2.0  # simulated; figures from before are not counted


class DynamicsNode(Node):
    """`advance` moves the world by one tick; the loop around it keeps the wall's time."""

    def __init__(self) -> None:
        super().__init__("dynamics")
        self._declare()
        self.world = self._make_world()
        delayed = self.world.command_delay_s > 0
        self.schedule: TickSchedule = choose_schedule(
            1.0 / self._odometry_hz, self.world.plant.substep_s, self.rate, whole=delayed
        )
        self._clock_ticks = max(1, round(self.rate / self._clock_hz / self.schedule.tick_s)) if self.rate > 0 else 1
        self._tick = 0
        self.done = False
        self.waiting = True  # the clock stands until everybody is there
        self._silent: set[str] = set()
        self.lock = LockStep()
        self._began = self._complete_since = time.monotonic()
        self._paced = (time.monotonic(), 0.0)  # wall and simulated time when the speed was last looked at
        self._speed = 1.0
        self._last: dict[str, Odometry | None] = {}
        self._open_topics()
        self._joints = Joints(self, lambda: self.world)
        self._ports = Ports(self, lambda: self.world, self._joints)
        self._stop = StopLatch(state_folder(self, self._fleet_name) / "dynamics.stop.json")
        StopEndpoints(self, self._stop, lambda _: None)
        self._fresh_run()
        names = ", ".join(self.world.names)
        self.get_logger().info(f"{names} in condition '{self.world.condition.name}', seed {self._seed}")

    def _declare(self) -> None:
        self._fleet_name = declare(self, "fleet", "two", "fleet name or file")
        self._path = declare(
            self, "path", "", "path whose start the vehicles are put around; empty: as in the fleet file"
        )
        self._task = declare(
            self, "task", "", "task that gives the start: name or package.module:Name; empty: the path's"
        )
        self._task_settings = declare(self, "task_settings", "{}", "of that task, JSON")
        self._condition = declare(self, "condition", "default", "plant, sensors and water: name or file")
        self._seed = declare(self, "seed", 0, "of everything that is drawn", low=0)
        self._period_s = declare(self, "control_period_s", 0.05, "s, of the controllers", low=0.01, high=1.0)
        self._odometry_hz = declare(self, "odometry_rate_hz", 20.0, "Hz of simulated time", low=1.0, high=100.0)
        self._clock_hz = declare(self, "clock_rate_hz", 20.0, "Hz of wall time, of /clock", low=1.0, high=200.0)
        self.rate = declare(self, "rate", 1.0, "times real time; 0: as fast as it goes", low=0.0, high=100.0)
        self.lockstep = declare(self, "lockstep", False, "the clock waits for the controllers' answers")
        self._lock_s = declare(self, "lockstep_wait_s", 2.0, "s of wall time to wait for an answer", low=0.0)
        self._timeout_s = declare(self, "command_timeout_s", 0.5, "s: older commands count as zero", low=0.05)
        self._duration_s = declare(self, "duration_s", 0.0, "s of simulated time, then it ends; 0: never", low=0.0)
        self._start_s = declare(self, "start_timeout_s", 30.0, "s of wall time to wait for everybody at start", low=0.0)
        self._reference = declare(self, "wait_for_reference", True, "the start waits for /fleet/reference too")
        self._recorded = declare(self, "wait_for_recorder", False, "the start waits for a recorder of the truth")
        declare(self, "paused", False, "the simulation is paused", read_only=False)
        self._figures = declare(self, "figures_file", "", "file for latency and jitter at the end; empty: none")
        if self.rate == 0 and not self.lockstep:
            raise ShoalError("rate = 0 without lockstep; expected lockstep, or no controller could follow")

    def _make_world(self) -> World:
        """As the lock-step simulator makes it."""
        fleet, condition = load_fleet(self._fleet_name), load_condition(self._condition)
        given = read_task_settings(self._task_settings, "task_settings")
        name = self._task or ("follow_path" if self._path else "hold_station")
        task = make_task(name, TaskContext(fleet, condition, given, self._path, self._seed))
        world = World(
            task.fleet,
            task.start(),
            condition,
            self._seed,
            self._period_s,
            LONGEST_S,
            current=task.current(),
            command_timeout_s=self._timeout_s,
        )
        task.prepare(world)
        return world

    def _open_topics(self) -> None:
        names = self.world.names
        self._clock_out = endpoints.publisher(self, topics.CLOCK)
        self._odometry = [endpoints.publisher(self, topics.ODOMETRY, vehicle=n) for n in names]
        self._sightings = {n: endpoints.publisher(self, topics.SIGHTING, vehicle=n) for n in names}
        self._truth = [endpoints.publisher(self, topics.TRUTH, vehicle=n) for n in names]
        self._collisions = endpoints.publisher(self, topics.COLLISIONS)
        polled = endpoints.Polled()
        self._thrusters = [m.vehicle().input_names for m in self.world.fleet.vehicles]
        self._inputs = [
            [endpoints.polled(self, topics.THRUST, polled, vehicle=n, thruster=t) for t in thrusters]
            for n, thrusters in zip(names, self._thrusters, strict=True)
        ]
        stepping = names if self.lockstep else ()
        self._steps = {n: endpoints.polled(self, topics.ESTIMATE, polled, raw=True, vehicle=n) for n in stepping}
        self._setpoint = endpoints.polled(self, topics.SETPOINT, polled)
        self._guided_s = 0.0  # stamp of guidance's last setpoint
        endpoints.subscription(self, topics.OCEAN_CURRENT, self._on_current)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self._diagnostics = Diagnostics(self, "dynamics", "plant")

    def _fresh_run(self) -> None:
        """Nothing received, nothing measured."""
        world = self.world
        counts = [len(t) for t in self._thrusters]
        self.answers = {n: response_time.ResponseTimer(c) for n, c in zip(world.names, counts, strict=True)}
        self._asked_s = self._guided_s = 0.0
        self._counting, self._counted = False, (time.monotonic(), 0.0)
        self._progress = ProgressLines(self._duration_s)
        self._last = world.measure()
        self._publish(self._last)

    # -- ticks --------------------------------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        return bool(self.get_parameter("paused").value)

    def publish_while_paused(self) -> None:
        """Paused: repeat what time it is and where everybody is, for nodes that have just started."""
        self._read_commands()
        self._clock_out.publish(Clock(clock=convert.to_stamp(self.world.t_s)))
        self._publish(self._last)
        self._diagnostics.report(self.world.t_s, Level.WARN, "paused", {"t_s": self.world.t_s})

    def wait_for_nodes(self) -> None:
        """Before the start: repeat where everybody is, until everybody is there."""
        self._read_commands()
        missing = [n for n, a in self.answers.items() if not a.ever]
        if self._reference and not self.count_publishers(topics.REFERENCE.name):
            missing.append("guidance")
        if self._recorded and not self._recorder_listens():
            missing.append("recorder")
        patient = time.monotonic() - self._began < self._start_s
        if missing and patient:
            self._publish(self._last)
            self._diagnostics.report(0.0, Level.WARN, f"the clock waits for {', '.join(missing)}", {})
            self._complete_since = time.monotonic()
            return
        if time.monotonic() - self._complete_since < SETTLE_S:
            self._publish(self._last)
            return
        if missing:
            self.get_logger().warning(f"starting without {', '.join(missing)}")
            self.lock.given_up |= set(missing)
        self.waiting = False
        self._paced = (time.monotonic(), self.world.t_s)

    def _recorder_listens(self) -> bool:
        """To the truth, and to what guidance publishes if there is a guidance."""
        wanted = [topics.TRUTH.of(vehicle=name) for name in self.world.names]
        wanted += [topics.SETPOINT.name, topics.REFERENCE.name] if self._reference else []
        return all(
            any(info.node_name == "recorder" for info in self.get_subscriptions_info_by_topic(topic))
            for topic in wanted
        )

    def advance(self) -> None:
        """One tick."""
        self._read_commands()
        self.world.step(self.schedule.tick_s, stopped=self._stop.stopped)
        self._ports.tell_latches()
        self._tick += 1
        asking = self._tick * self.schedule.tick % self.schedule.period == 0
        if asking or self._tick % self._clock_ticks == 0:
            self._clock_out.publish(Clock(clock=convert.to_stamp(self.world.t_s)))
        if asking:
            self._ask()
        for text in self.world.near_misses():
            self.get_logger().warning(text)
            self._collisions.publish(String(data=text))
        self.done = 0 < self._duration_s <= self.world.t_s + 1e-9

    def _ask(self) -> None:
        """Odometry goes out; controllers answer."""
        t_s = self.world.t_s
        self._read_commands()  # what was sent before counts for the odometry before
        if not self._counting and t_s >= WARM_UP_S:
            self._counting, self._counted = True, (time.monotonic(), t_s)
            for answer in self.answers.values():
                answer.forget()
        self._last = self.world.measure()
        self._asked_s = t_s
        self._publish_sightings(t_s)
        self._ports.publish_sightings(self._stop.stopped)
        self._publish(self._last)
        if text := self._progress.line(t_s, time.monotonic(), self.world.states):
            self.get_logger().info(text)
        self._report(t_s)

    def _publish_sightings(self, t_s: float) -> None:
        """Before the odometry that they go with: a controller reads them when it steps."""
        for name, scan in self.world.scans().items():
            for other, to_m in scan.seen_m.items():
                x, y, z = frd_to_flu(to_m).tolist()
                header = Header(stamp=convert.to_stamp(t_s), frame_id=other)
                self._sightings[name].publish(PointStamped(header=header, point=Point(x=x, y=y, z=z)))

    def _publish(self, measured: dict[str, Odometry | None]) -> None:
        if self.world.t_s == 0.0:
            self._clock_out.publish(Clock())
        # One time for all: whoever flies a joined group may answer for a mate before that one's odometry has left.
        asked_ns = time.time_ns()
        for publisher, (name, odometry) in zip(self._odometry, measured.items(), strict=True):
            if odometry is not None:
                self.answers[name].sent(asked_ns)
                publisher.publish(convert.odometry_to_bytes(odometry, name))
        for name, publisher, state in zip(self.world.names, self._truth, self.world.states, strict=True):
            if publisher.get_subscription_count():
                publisher.publish(convert.odometry_to_bytes(Odometry(self.world.t_s, state), name))

    def _read_commands(self) -> None:
        """Empty the thrusters' queues."""
        t_s = self.world.t_s
        for inputs, (name, queue) in zip(self._inputs, self.world.queues.items(), strict=True):
            forces: dict[int, float] = {}
            for index, waiting in enumerate(inputs):
                for message, info in endpoints.take_all(waiting):
                    forces[index] = message.data
                    self.answers[name].received(index, info["source_timestamp"], info["received_timestamp"])
            if forces:
                queue.update(t_s, self._asked_s, forces)
                self.lock.commanded(name)
        self.lock.join(name for joint in self._joints.present.joints for name in (joint.a, joint.b))
        for name, waiting in self._steps.items():
            for _, info in endpoints.take_all(waiting)[-1:]:
                self.lock.stepped(name, info["source_timestamp"])

    def answered(self) -> bool:
        """Lock step: whether all that are waited for have answered the last odometry, and guidance keeps up."""
        self._read_commands()
        for message, _ in endpoints.take_all(self._setpoint)[-1:]:
            self._guided_s = convert.from_stamp(message.header.stamp)
            self.lock.given_up.discard("guidance")
        behind = self._reference and self.world.t_s - self._guided_s > GUIDANCE_LAG_S
        if behind and "guidance" not in self.lock.given_up:
            return False
        return all(self.lock.answered(n, a.complete, a.asked_ns) for n, a in self.answers.items())

    def give_up_waiting(self) -> None:
        """Lock step: go on without those that have not answered, until they do."""
        self.lock.given_up |= {n for n, a in self.answers.items() if not self.lock.answered(n, a.complete, a.asked_ns)}
        if self.world.t_s - self._guided_s > GUIDANCE_LAG_S:
            self.lock.given_up.add("guidance")

    @property
    def due_for_answers(self) -> bool:
        """Lock step: whether odometry has just gone out."""
        return self.lockstep and self._tick * self.schedule.tick % self.schedule.period == 0

    # -- reports ------------------------------------------------------------------------------------------------

    def _report(self, t_s: float) -> None:
        silent = [name for name, queue in self.world.queues.items() if queue.silent(t_s)]
        wall, then_s = self._paced
        if (elapsed := time.monotonic() - wall) > 1.0:
            self._speed = (t_s - then_s) / elapsed
            self._paced = (time.monotonic(), t_s)
        slow = self.rate > 0 and not self.lockstep and self._speed < 0.9 * self.rate
        level, message = Level.OK, "running"
        if self._stop.stopped:
            level, message = Level.WARN, "stopped: zero thrust for all"
        elif silent:
            level = Level.WARN
            message = f"zero thrust for {', '.join(silent)}: no command for {self._timeout_s:g} s"
        elif slow:
            level, message = Level.WARN, "the machine is too slow for the rate"
        if self._diagnostics.due(t_s, level, message):
            values: dict[str, object] = {"t_s": t_s, "real_time_factor": self._speed}
            for name, answer in self.answers.items():
                if answer.latencies_ms:
                    values[f"{name} latency_ms"] = answer.latencies_ms[-1]
            self._diagnostics.report(t_s, level, message, values)

    def close(self) -> None:
        """Figures for the benchmark."""
        if self._figures:
            wall_period_s = self.schedule.period_s / (self.rate or 1.0)
            since_wall, since_s = self._counted
            factor = (self.world.t_s - since_s) / max(time.monotonic() - since_wall, 1e-6)
            response_time.write(Path(self._figures), wall_period_s, self.answers, factor)

    # -- messages in --------------------------------------------------------------------------------------------

    def _on_current(self, message: Vector3) -> None:
        velocity = np.array([message.x, message.y, message.z])
        if not np.isfinite(velocity).all() or np.linalg.norm(velocity) > 5.0:
            self.get_logger().error(f"ocean_current = {velocity.tolist()}; expected finite, at most 5 m/s")
            return
        self.world.set_current(enu_to_ned(velocity))

    def _on_reset(self, request: Any, response: Any) -> Any:
        self.world = self._make_world()
        self._tick = 0
        self._joints.world_is_new()
        self._fresh_run()
        self._paced = (time.monotonic(), 0.0)
        response.success, response.message = True, "at the start again"
        self.get_logger().info("reset: the clock is at 0 again")
        return response


def main() -> None:
    """`ros2 run shoal_dynamics dynamics`."""
    process.start()
    stop = process.Stop()
    node = process.made(DynamicsNode)
    assert isinstance(node, DynamicsNode)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    process.settle()
    try:
        loop(node, lambda wall_s: executor.spin_once(timeout_sec=wall_s), lambda: stop.asked or not rclpy.ok())
    finally:
        process.finish(node)


def loop(node: DynamicsNode, serve: Callable[[float], None], over: Callable[[], bool]) -> None:
    """Tick by tick with the wall clock. `serve` answers ROS for at most that long."""
    while node.waiting and not over():
        serve(HOLD_S)
        node.wait_for_nodes()
    pacer = Pacer(node.rate)
    while not over():
        if node.paused:
            node.publish_while_paused()
            serve(HOLD_S)
            pacer.restart()
            continue
        node.advance()
        if node.done:
            return
        if node.due_for_answers:
            _wait_for_answers(node, serve, over)
        pacer.rate = node.rate or (0.0 if node.lock.hurries else 1.0)
        due = pacer.next(time.monotonic(), node.schedule.tick_s)
        while (left := due - time.monotonic()) > 0 and not over():
            serve(min(left, process.WAKE_S))
        if node.rate <= 0:
            serve(0.0)


def _wait_for_answers(node: DynamicsNode, serve: Callable[[float], None], over: Callable[[], bool]) -> None:
    end = time.monotonic() + node._lock_s
    while not node.answered() and not over():
        if time.monotonic() > end:
            node.give_up_waiting()
            return
        time.sleep(LOCK_POLL_S)
    serve(0.0)


if __name__ == "__main__":
    main()
