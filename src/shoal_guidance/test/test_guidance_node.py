"""The guidance node as a real process over Fast DDS; the test plays the plant: clock and odometry."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Path
from ros_bench import Bench, bench
from sensor_msgs.msg import Joy
from std_msgs.msg import String

from shoal.fleet.file import load_fleet
from shoal.frames import from_yaw
from shoal.guidance.paths import standard_path
from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.placement_json import formation_from_json
from shoal_ros import convert, endpoints

pytestmark = pytest.mark.ros
FLEET = load_fleet("two")
STEP_S = 0.1


class Sea:
    """Two vehicles that are wherever the test wants them, and a clock that waits for guidance."""

    def __init__(self, b: Bench) -> None:
        self.bench, self.t_s = b, 0.0
        self.states = {m.name: m.start_state().array for m in FLEET.vehicles}
        self.silent: set[str] = set()
        self.odometry = {n: endpoints.publisher(b.node, topics.ODOMETRY, vehicle=n) for n in FLEET.names}
        self.setpoints, self.references = b.listen(topics.SETPOINT), b.listen(topics.REFERENCE)
        self.modes, self.status = b.listen(topics.MODE), b.listen(topics.TEST_STATUS)
        self.formations, self.queues = b.listen(topics.FORMATION), b.listen(topics.WAYPOINTS)
        self.set_mode = endpoints.publisher(b.node, topics.SET_MODE)
        self.cmd_vel = endpoints.publisher(b.node, topics.CMD_VEL)
        self.goal = endpoints.publisher(b.node, topics.GOAL_POSE)

    def say(self) -> None:
        self.bench.tick(self.t_s)
        for name, state in self.states.items():
            if name not in self.silent:
                self.odometry[name].publish(convert.odometry_to_message(Odometry(self.t_s, state), name))

    def begin(self) -> None:
        """Back to the start: guidance must notice the clock and start over, in hold."""
        for received in (self.setpoints, self.references, self.modes, self.status):
            received.clear()
        self.bench.until(lambda: 0 <= self.stamp_s() <= self.t_s, "the first setpoint", self._next)

    def _next(self) -> None:
        self.t_s = round(self.t_s + STEP_S, 6)
        self.say()
        self.bench.linger(0.02)

    def go_on(self, seconds: float, follow: bool = False) -> None:
        """In lock step: the clock moves when guidance has answered the last tick."""
        for _ in range(round(seconds / STEP_S)):
            self.t_s = round(self.t_s + STEP_S, 6)
            if follow:
                self.take_places()
            self.say()
            self.bench.until(lambda: self.stamp_s() >= self.t_s - 0.5 * STEP_S, f"the setpoint of {self.t_s}", self.say)

    def take_places(self) -> None:
        """Perfect controllers: everybody is in its place and faces the other."""
        slots = formation_from_json(self.formations[-1].data)
        preview = convert.preview_from_message(self.references[-1])
        for name in FLEET.names:
            own = slots.setpoint(name, preview)
            assert own.headings_rad is not None
            self.states[name][POSITION] = own.positions_m[0]
            self.states[name][ATTITUDE] = from_yaw(own.headings_rad[0])

    def stamp_s(self) -> float:
        return convert.from_stamp(self.setpoints[-1].header.stamp) if self.setpoints else -1.0

    def setpoint(self) -> Any:
        return convert.from_pose(self.setpoints[-1].pose)[0]

    def mode(self) -> str:
        return str(self.modes[-1].data) if self.modes else ""

    def enter(self, mode: str) -> None:
        self.set_mode.publish(String(data=mode))
        self.bench.until(lambda: self.mode() == mode, f"mode {mode}", self._next)

    def stick(self, north: float = 0.0, east: float = 0.0, yaw_rate_enu: float = 0.0) -> None:
        message = TwistStamped()
        message.twist.linear.x, message.twist.linear.y, message.twist.angular.z = east, north, yaw_rate_enu
        self.cmd_vel.publish(message)

    def test_status(self) -> dict[str, Any]:
        return json.loads(self.status[-1].data) if self.status else {}


@pytest.fixture(scope="module")
def one() -> Iterator[Sea]:
    with bench() as b:
        b.run("shoal_guidance", "guidance", fleet="two", use_sim_time=True)
        sea = Sea(b)
        b.until(lambda: sea.odometry["rov2"].get_subscription_count(), "guidance")
        b.until(lambda: sea.cmd_vel.get_subscription_count() and sea.set_mode.get_subscription_count(), "guidance")
        yield sea


@pytest.fixture
def sea(one: Sea) -> Sea:
    """The process is shared; each test starts it over by putting the clock back."""
    one.t_s, one.silent = 0.0, set()
    one.states = {m.name: m.start_state().array for m in FLEET.vehicles}
    one.say()
    one.begin()
    assert one.mode() in ("hold", "")
    return one


def goal(x: float, y: float, z: float = 0.0, frame: str = "map") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x, message.pose.position.y, message.pose.position.z = x, y, z
    message.pose.orientation.w = 1.0
    return message


def test_starts_in_hold_where_the_fleet_is_and_looks_four_seconds_ahead(sea: Sea) -> None:
    sea.go_on(1.0)
    assert np.allclose(sea.setpoint(), [0, 0, 5])
    preview = convert.preview_from_message(sea.references[-1])
    assert preview.times_s[-1] - preview.times_s[0] >= 4.0 - 1e-6 and preview.headings_rad is not None
    sea.bench.until(lambda: sea.formations, "the formation")
    placement = formation_from_json(sea.formations[-1].data)
    assert set(placement.sight) == {("rov1", "rov2"), ("rov2", "rov1")}
    stamps = [convert.from_stamp(m.header.stamp) for m in sea.setpoints]
    assert np.all(np.diff(stamps) >= 0)


def test_a_stick_moves_the_setpoint_and_letting_go_stops_it(sea: Sea) -> None:
    for _ in range(40):
        sea.stick(north=0.3, yaw_rate_enu=-0.1)
        sea.go_on(0.1)
    assert sea.mode() == "manual"
    assert 0.3 < sea.setpoint()[0] < 1.0 and abs(sea.setpoint()[1]) < 1e-6
    yaw = convert.preview_from_message(sea.references[-1]).headings_rad
    assert yaw is not None and yaw[0] > 0.1  # clockwise from above, as asked for
    sea.stick()
    sea.go_on(5.0)
    rested = sea.setpoint()
    sea.go_on(2.0)
    assert np.allclose(sea.setpoint(), rested, atol=1e-6) and sea.mode() == "manual"


def test_from_the_pad_to_the_setpoint(sea: Sea) -> None:
    """Two processes in a row: joystick messages move the setpoint, releasing the dead man stops it."""
    teleop, commands = sea.bench.run("shoal_teleop", "teleop", timeout_s=2.0), sea.bench.listen(topics.CMD_VEL)
    joy = sea.bench.talk(topics.JOY)

    def pad(held: int) -> None:
        joy.publish(Joy(axes=[0.0, 1.0, 1.0, 0.0, 0.0, 1.0], buttons=[0, 0, 0, 0, held, 0]))
        sea.go_on(0.1)

    sea.bench.until(lambda: sea.setpoint()[0] > 0.3, "a setpoint that moves north", lambda: pad(1))
    assert sea.mode() == "manual"
    pad(0)
    sea.bench.until(lambda: commands and commands[-1].twist.linear.y == 0.0, "zero velocity")
    sea.go_on(6.0)
    rested = sea.setpoint()
    for _ in range(10):
        pad(0)
    assert np.allclose(sea.setpoint(), rested, atol=1e-6)
    teleop.end()
    assert teleop.code == 0


def test_waypoints_come_from_a_pose_topic_and_keep_the_depth(sea: Sea) -> None:
    sea.goal.publish(goal(2.0, 1.0))  # RViz: east 2, north 1, no depth
    sea.bench.until(lambda: sea.mode() == "waypoints", "waypoints", sea._next)
    exact = sea.bench.talk(topics.WAYPOINT)
    exact.publish(goal(2.0, 1.0, -6.0))
    exact.publish(goal(0.0, 0.0, -5.0, frame="rov1/base_link"))  # refused: needs TF
    sea.bench.until(lambda: sea.queues and len(sea.queues[-1].poses) == 2, "two waypoints", sea._next)
    sea.bench.until(lambda: not sea.queues[-1].poses, "the end of the queue", lambda: sea.go_on(1.0))
    assert np.allclose(sea.setpoint(), [1, 2, 6], atol=1e-3)
    path = Path(poses=[goal(1.0, 1.0, -5.0), goal(0.0, 0.0, -5.0)])
    sea.bench.talk(topics.SET_WAYPOINTS).publish(path)
    sea.bench.until(lambda: len(sea.queues[-1].poses) == 2, "a new queue", sea._next)
    assert sea.bench.trigger("/guidance/clear").success
    sea.bench.until(lambda: not sea.queues[-1].poses, "an empty queue", sea._next)


def test_exactly_one_owner(sea: Sea) -> None:
    sea.enter("manual")
    sea.goal.publish(goal(5.0, 5.0))
    sea.go_on(1.0)
    assert sea.mode() == "manual" and np.allclose(sea.setpoint(), [0, 0, 5])
    sea.enter("waypoints")
    sea.stick(north=0.4)
    sea.go_on(1.0)
    assert sea.mode() == "waypoints" and np.allclose(sea.setpoint(), [0, 0, 5])
    sea.set_mode.publish(String(data="autopilot"))  # unknown: a line in the log, nothing else
    sea.go_on(0.5)
    assert sea.mode() == "waypoints"
    assert sea.bench.trigger("/guidance/hold").success
    sea.bench.until(lambda: sea.mode() == "hold", "hold", sea._next)


def test_a_standard_test_waits_until_everybody_is_ready(sea: Sea) -> None:
    b = sea.bench
    assert not b.refusal("/guidance", test="line,circle", repeat=1, test_duration_s=3.0)
    sea.states["rov1"][ATTITUDE] = from_yaw(np.radians(90 + 20))  # looks 20° past its partner
    assert b.trigger("/guidance/start_test").success
    sea.go_on(7.0)
    status = sea.test_status()
    assert (status["state"], status["test"], status["countdown_s"]) == ("waiting", "line", None)
    assert any("sees rov2" in reason for reason in status["waiting_for"])
    sea.states["rov1"][ATTITUDE] = from_yaw(np.radians(90))
    sea.go_on(3.0)
    assert 1.5 < sea.test_status()["countdown_s"] < 2.6
    sea.silent = {"rov2"}  # no odometry: the five seconds start again
    sea.go_on(2.0)
    assert sea.test_status()["countdown_s"] is None and sea.test_status()["state"] == "waiting"
    sea.silent = set()
    b.until(lambda: sea.test_status()["state"] == "running", "the test", lambda: sea.go_on(0.2))
    b.until(lambda: sea.test_status()["test"] == "circle", "the next test", lambda: sea.go_on(0.2, follow=True))
    b.until(lambda: sea.test_status()["state"] == "running", "the circle", lambda: sea.go_on(0.2, follow=True))
    sea.go_on(1.0, follow=True)
    status = sea.test_status()
    past_s = sea.stamp_s() - (
        status["stamp_s"] - status["t_s"]
    )  # since the start; the setpoint is newer than the status
    assert np.allclose(sea.setpoint(), standard_path("circle").position(past_s), atol=1e-6)
    b.until(lambda: sea.mode() == "hold", "the end", lambda: sea.go_on(0.2, follow=True))
    b.until(lambda: sea.test_status()["state"] == "done", "the end of it", sea._next)


def test_the_formation_changes_at_run_time_and_nonsense_is_refused(sea: Sea) -> None:
    b, before = sea.bench, len(sea.formations)
    assert not b.refusal("/guidance", formation_kind="ring", formation_radius_m=3.0)
    b.until(lambda: len(sea.formations) > before, "a new formation", sea._next)
    assert formation_from_json(sea.formations[-1].data).radius_m == 3.0
    assert "apart" in b.refusal("/guidance", formation_radius_m=0.5)
    assert "no_such_path" in b.refusal("/guidance", test="no_such_path") and b.refusal("/guidance", rate_hz=5.0)
    assert "speed_limit_mps" in b.refusal("/guidance", speed_mps=0.9)
    assert not b.refusal("/guidance", formation_kind="point")


def test_twenty_thousand_waypoints_are_refused_at_once(sea: Sea) -> None:
    many = Path(poses=[goal(float(i), 0.0, -5.0) for i in range(20_000)])
    sea.bench.talk(topics.SET_WAYPOINTS).publish(many)
    guidance = sea.bench.children["/guidance"]
    sea.bench.until(lambda: any("at most 1000" in line for line in guidance.lines), "the refusal", sea._next)
    sea.go_on(0.5)
    assert sea.mode() in ("hold", "")  # the mode is published when it changes: nothing since hold


def test_a_second_publisher_of_a_fleet_topic_is_named(one: Sea) -> None:
    told = one.bench.listen(topics.DIAGNOSTICS)
    second = one.bench.publisher(topics.MODE)

    def names() -> list[str]:
        return [s.message for a in told for s in a.status if s.name == "shoal: guidance" and "/fleet/mode" in s.message]

    one.bench.until(names, "the warning", one._next)
    assert "/bench" in names()[-1] and "/guidance" in names()[-1]
    one.bench.node.destroy_publisher(second)


def test_ends_at_a_signal(one: Sea) -> None:
    child = one.bench.children["/guidance"]
    child.end()
    assert child.code == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_only_an_orderly_end_lets_the_next_start_begin_the_test(how: int) -> None:
    """A guidance node that crashed comes back in hold, whatever its parameters ask for."""
    wanted = {"fleet": "two", "use_sim_time": True, "start_mode": "test", "test": "circle", "ready_s": 0.0}
    with bench() as b:
        sea = Sea(b)
        first = b.run("shoal_guidance", "guidance", **wanted)
        b.until(lambda: sea.mode() == "test", "the test", sea._next)
        first.signal(how)
        b.until(lambda: not first.running, "the end", sea._next)
        sea.modes.clear()
        sea.references.clear()
        again = b.run("shoal_guidance", "guidance", **wanted)
        b.until(lambda: sea.references, "its first reference", sea._next)
        if how == signal.SIGKILL:
            b.until(lambda: sea.mode() == "hold" and sea.stamp_s() >= 0, "hold", sea._next)
            sea.go_on(2.0, follow=True)
            assert sea.mode() == "hold"
            b.until(lambda: any("restarted: holding" in line for line in again.lines), "the reason")
            at = sea.setpoint()
            sea.go_on(3.0, follow=True)
            assert np.allclose(sea.setpoint(), at, atol=1e-6)
        else:
            b.until(lambda: sea.mode() == "test", "the test again", sea._next)
