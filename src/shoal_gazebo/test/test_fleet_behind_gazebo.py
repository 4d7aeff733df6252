"""The fleet's own nodes with a stand-in for Gazebo behind the topics: clock relay, watchdog, controllers, guidance.

How long something takes is counted in the fleet's own time and messages, never on the wall.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from std_msgs.msg import Bool, Float64, UInt64

from shoal.evaluation.metrics import summarise
from shoal.fleet.stop import StopState
from shoal.frames import tilt_rad
from shoal.guidance.path_file import load_path
from shoal.messages import topics
from shoal.recordings.bag_reader import read_runs
from shoal_gazebo.bringup import prepare
from shoal_gazebo.nodes import gazebo_nodes, swimming_nodes
from shoal_ros import convert, endpoints
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec

pytestmark = [pytest.mark.ros, pytest.mark.slow]
HERE = Path(__file__).parent
THRUSTERS = tuple(f"thruster{i}" for i in range(1, 9))
PERIODS = 4  # of control in 0.2 s
SWIM_S = float(os.environ.get("SHOAL_GAZEBO_SWIM_S", "12"))  # 195 s: the whole test, and its verdict
WHOLE = SWIM_S >= 190.0
SETTLE_S = 3.0  # after the setpoint's first half metre


@dataclass(frozen=True)
class StandIn(NodeSpec):
    """The stand-in as one more node."""

    arguments: tuple[str, ...] = ()

    def command(self) -> list[str]:
        return [sys.executable, str(HERE / "stand_in_gazebo.py"), *self.arguments]


class Log:
    """A topic's messages with the time they were sent, however late this process reads them."""

    def __init__(self, harness: Harness, topic: topics.Topic, **names: str) -> None:
        self._waiting = endpoints.polled(harness.node, topic, endpoints.Polled(), **names)
        self.sent: list[tuple[int, Any]] = []  # ns of the system's clock, message

    def read(self) -> list[tuple[int, Any]]:
        self.sent += [(info["source_timestamp"], message) for message, info in endpoints.take_all(self._waiting)]
        return self.sent

    def after(self, ns: int) -> list[float]:
        return [message.data for sent_ns, message in self.read() if sent_ns > ns]


class Sea:
    """A fleet in the stand-in, and what is received of it."""

    def __init__(self, harness: Harness, fleet: str, folder: Path, **believed: float) -> None:
        """`believed`: other times than the shipped ones for Gazebo."""
        self.h, self.fleet = harness, fleet
        ready = prepare(fleet, "tank", folder, camera=False)
        self.names = ready.fleet.names
        state_dir = str(folder / "state")
        beside = [spec for spec in gazebo_nodes(ready, state_dir) if spec.package != "ros_gz_bridge"]
        self.recording = folder / "recording" if WHOLE else None
        swimming = swimming_nodes(ready, **believed, path="circle", display=False, ready_s=1.0, state_dir=state_dir,
                                  record=str(self.recording or ""))  # fmt: skip
        self.specs = {spec.full_name: spec for spec in (*beside, *swimming)}
        self.setpoints = harness.listen(topics.SETPOINT)
        self.wanted: list[tuple[float, np.ndarray]] = []  # the setpoint with its time
        self.swum: dict[str, list[tuple[float, np.ndarray]]] = {}  # positions with their times
        self.stop_states = harness.listen(topics.STOP_STATE)
        self.odometry: dict[str, Any] = {}
        self.tilt_deg = dict.fromkeys(self.names, 0.0)  # largest so far
        self.tilted_s = dict.fromkeys(self.names, 0.0)  # and when
        for name in self.names:
            endpoints.subscription(harness.node, topics.ODOMETRY, lambda m, n=name: self._swam(n, m), vehicle=name)
        self.thrust = {
            (v, t): Log(harness, topics.THRUST, vehicle=v, thruster=t) for v in self.names for t in THRUSTERS
        }
        harness.start(StandIn("", "gazebo", "gazebo", arguments=(fleet, "tank", str(folder))), *self.specs.values())

    def _swam(self, name: str, message: Any) -> None:
        self.odometry[name] = convert.odometry_from_message(message)
        self.swum.setdefault(name, []).append((self.odometry[name].stamp_s, self.odometry[name].position_m))
        now_deg = float(np.degrees(tilt_rad(self.odometry[name].attitude)))
        if now_deg > self.tilt_deg[name]:
            self.tilt_deg[name], self.tilted_s[name] = now_deg, self.odometry[name].stamp_s
        for log in self.thrust.values():
            log.read()
        for setpoint in self.setpoints:
            at = setpoint.header.stamp.sec + 1e-9 * setpoint.header.stamp.nanosec
            if not self.wanted or at > self.wanted[-1][0]:
                self.wanted.append((at, convert.from_pose(setpoint.pose)[0]))
        del self.setpoints[:-2]

    def path_error_m(self, from_s: float) -> np.ndarray:
        """Of the fleet's middle against the setpoint of the same instant, since then."""
        times_s = np.array([t for t, _ in self.wanted])
        ends_s = min(track[-1][0] for track in self.swum.values())
        kept = (times_s >= from_s) & (times_s <= ends_s)

        def along(track: list[tuple[float, np.ndarray]]) -> np.ndarray:
            at, places = np.array([t for t, _ in track]), np.array([place for _, place in track])
            return np.column_stack([np.interp(times_s[kept], at, places[:, i]) for i in range(3)])

        middle = np.mean([along(track) for track in self.swum.values()], axis=0)
        return np.linalg.norm(middle - along(self.wanted), axis=1)

    def cpu_s(self, node: str) -> float:
        """That its process has had so far."""
        times = psutil.Process(self.h.children[node].process.pid).cpu_times()
        return times.user + times.system

    @property
    def t_s(self) -> float:
        return min((o.stamp_s for o in self.odometry.values()), default=0.0) if len(self.odometry) else 0.0

    def pass_s(self, seconds: float) -> None:
        """Of the fleet's time."""
        end = self.t_s + seconds
        self.h.spin(lambda: self.t_s > end, f"{seconds} s of simulated time", wall_s=240.0 + 6 * seconds)

    def setpoint(self) -> np.ndarray:
        return convert.from_pose(self.setpoints[-1].pose)[0]

    def swim(self) -> None:
        """Until the circle is under way."""
        self.h.spin(lambda: self.setpoints and len(self.odometry) == len(self.names), "the fleet", wall_s=120.0)
        begun = self.setpoint()
        self.h.spin(lambda: np.linalg.norm(self.setpoint() - begun) > 0.5, "the setpoint to move on", wall_s=240.0)

    def pushing(self, vehicle: str) -> bool:
        return any(log.read() and log.sent[-1][1].data for (v, _), log in self.thrust.items() if v == vehicle)

    def kill(self, name: str) -> None:
        child = self.h.children[name]
        child.signal(signal.SIGKILL)
        assert child.wait(20)

    @property
    def state(self) -> StopState:
        return StopState.from_json(self.stop_states[-1].data)


@pytest.fixture
def harness() -> Iterator[Harness]:
    with Harness() as made:
        yield made


@pytest.mark.parametrize("fleet", ["one", "two"])
def test_the_fleet_swims_the_circle_level_and_a_dead_controllers_thrusters_stop(
    harness: Harness, fleet: str, tmp_path: Path
) -> None:
    sea = Sea(harness, fleet, tmp_path)
    sea.swim()
    sea.pass_s(SETTLE_S)
    begun_s, before_s, wall_s = sea.t_s, sea.cpu_s("/thrust_watchdog"), time.monotonic()
    sea.pass_s(SWIM_S)
    error_m = sea.path_error_m(begun_s)
    wall_s, swum_s = time.monotonic() - wall_s, sea.t_s - begun_s
    # It answers commands by the fleet's time and looks by the wall's: at real time its share is between these two.
    used_s = sea.cpu_s("/thrust_watchdog") - before_s
    share, most = used_s / wall_s, used_s / swum_s
    figures = (
        f"{fleet}: path error RMS {np.sqrt(np.mean(error_m**2)):.4f} m, largest {error_m.max():.4f} m; largest "
        f"tilt {sea.tilt_deg} deg at {sea.tilted_s} s of {begun_s:.1f}; watchdog {100 * share:.1f} % of a core of the "
        f"wall's time, {100 * most:.1f} % of the fleet's"
    )
    print(figures)
    assert len(error_m) > 10 * SWIM_S and np.sqrt(np.mean(error_m**2)) <= 0.03, figures
    assert share <= 0.05, figures
    assert all(sea.pushing(name) for name in sea.names)
    assert max(sea.tilt_deg.values()) < 10.0, sea.tilt_deg  # with a believed lag of 0.15 s they roll over
    if sea.recording is not None:
        harness.children["/recorder"].signal(signal.SIGINT)
        assert harness.children["/recorder"].wait(60)
        verdict = max(map(summarise, read_runs(sea.recording)), key=lambda v: v.duration_s)  # not what came after it
        print(f"{fleet}: {verdict.duration_s:.0f} s judged, path error RMS {verdict.value('rmse_m')} m")
        assert not verdict.failed, verdict.failure
        assert verdict.duration_s > 0.95 * load_path("circle").duration_s

    sea.kill("/rov1/mpc")  # it sends no last zeros
    harness.spin(lambda: sea.thrust["rov1", "thruster1"].read() and not sea.pushing("rov1"), "the watchdog")


def test_a_belief_of_lag_and_delay_that_are_not_there_rolls_nobody_over(harness: Harness, tmp_path: Path) -> None:
    """As for real thrusters: the description's 0.15 s and one control period, where Gazebo has neither."""
    sea = Sea(harness, "two", tmp_path, thruster_lag_s=-1.0, actuation_delay_s=0.05)
    sea.swim()
    assert max(sea.tilt_deg.values()) < 20.0, sea.tilt_deg  # until the timing is known
    sea.tilt_deg = dict.fromkeys(sea.names, 0.0)
    sea.pass_s(8.0)
    assert max(sea.tilt_deg.values()) < 10.0, sea.tilt_deg


def test_stop_holds_behind_gazebo_until_it_is_released(harness: Harness, tmp_path: Path) -> None:
    """By a volatile publisher; with controllers and watchdog killed and restarted; against a controller that pushes."""
    sea = Sea(harness, "two", tmp_path)
    sea.swim()
    once = harness.node.create_publisher(Bool, topics.STOP.name, 1)  # as `ros2 topic pub --once`
    holders = ("/rov1/mpc", "/rov2/mpc", "/guidance", "/thrust_watchdog")
    harness.spin(lambda: once.get_subscription_count() == len(holders), "the holders of STOP")
    harness.spin(lambda: all(sea.pushing(name) for name in sea.names), "thrust")
    pressed_ns = time.time_ns()
    once.publish(Bool(data=True))
    sea.pass_s(2.0)
    harness.node.destroy_publisher(once)
    for name, log in sea.thrust.items():
        after = log.after(pressed_ns)
        pushes = [k for k, force in enumerate(after) if force]
        assert len(after) > 20, name
        assert len(pushes) <= PERIODS, (name, after[:30])
        assert not pushes or pushes[-1] < 3 * PERIODS, (name, after[:30])  # controllers' and watchdog's zeros between
    assert sea.state.stopped

    for name in ("/rov1/mpc", "/rov2/mpc", "/thrust_watchdog"):
        sea.kill(name)
    sea.h.start(sea.specs["/thrust_watchdog"])
    lines = harness.children["/thrust_watchdog"].lines
    harness.spin(lambda: any("still stopped" in line for line in lines), "the watchdog to remember", wall_s=120.0)
    pusher = harness.publisher(topics.THRUST, vehicle="rov1", thruster="thruster1")
    log = sea.thrust["rov1", "thruster1"]
    for k in range(10):  # a controller that does not obey
        pusher.publish(Float64(data=5.0 + k))
        harness.spin(
            lambda k=k: any(m.data == 5.0 + k for _, m in log.read()) and log.sent[-1][1].data == 0.0, "its answer"
        )
    harness.node.destroy_publisher(pusher)

    restarted_ns = time.time_ns()
    sea.h.start(sea.specs["/rov1/mpc"], sea.specs["/rov2/mpc"])
    for name in ("/rov1/mpc", "/rov2/mpc"):
        lines = harness.children[name].lines
        harness.spin(lambda found=lines: any("still stopped" in line for line in found), f"{name}", wall_s=120.0)
    sea.pass_s(3.0)
    assert not any(any(log.after(restarted_ns)) for log in sea.thrust.values())

    release = harness.publisher(topics.RELEASE)
    harness.spin(lambda: release.get_subscription_count() >= len(holders), "the holders")
    release.publish(UInt64(data=sea.state.counter))
    harness.spin(lambda: not sea.state.stopped, "the release")
    harness.spin(lambda: all(sea.pushing(name) for name in sea.names), "thrust again")
