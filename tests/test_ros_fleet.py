"""A fleet over real DDS: plant and controllers as processes; the test takes guidance's part and watches the truth."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rclpy")

from geometry_msgs.msg import Vector3
from std_msgs.msg import Bool, String, UInt64
from std_srvs.srv import Trigger

from shoal.fleet.file import load_fleet
from shoal.fleet.placement import assign
from shoal.fleet.stop import StopState
from shoal.guidance.path_file import load_path
from shoal.guidance.paths import preview
from shoal.messages import topics
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.recordings.placement_json import formation_to_json
from shoal.simulation.conditions import load_condition
from shoal.tasks.base import TaskContext
from shoal.tasks.run import RunSpec, make_task, simulate
from shoal_ros import convert
from shoal_ros.harness import Harness, statuses
from shoal_ros.node_list import NodeSpec, fleet_nodes

pytestmark = [pytest.mark.ros, pytest.mark.slow]
Array = NDArray[np.float64]
A, B = "rov1", "rov2"
SEES = ((0, 1), (1, 0))


class Show:
    """Two vehicles on the circle from the first second on, without guidance's ready rule: the simulator's run."""

    def __init__(self, harness: Harness, seed: int, **options: Any) -> None:
        self.h = harness
        fleet, self.path = load_fleet("two"), load_path("circle")
        condition = load_condition(options.get("condition", "default"))
        starts = make_task("follow_path", TaskContext(fleet, condition, {}, "circle", seed)).start()
        self.nodes = {n.full_name: n for n in fleet_nodes("two", path="circle", seed=seed, lockstep=True,
                      guidance=False, display=False, **options)}  # fmt: skip
        self.nodes["/dynamics"] = self.nodes["/dynamics"].changed(paused=True)
        self.truth = {name: harness.listen(topics.TRUTH, raw=True, vehicle=name) for name in (A, B)}
        self.diagnostics = harness.listen(topics.DIAGNOSTICS)
        self._reference = harness.publisher(topics.REFERENCE)
        self._formation = harness.publisher(topics.FORMATION)
        self._said_s = -1.0
        harness.follow_clock()
        harness.on_clock.append(self._guide)
        there = {name: state.position_m for name, state in starts.items()}
        placement = assign(fleet, fleet.formation, there, np.asarray(self.path.position(0.0)))
        self._formation.publish(String(data=formation_to_json(placement)))
        harness.start(*self.nodes.values())
        # However slowly processes find each other: at the first instant both have formation and reference.
        harness.spin(lambda: all(self.now_says(f"{n} controller", "following") for n in (A, B)), "both to be ready")
        assert harness.t_s == 0.0
        assert harness.set_parameters("/dynamics", {"paused": False}).successful

    def _guide(self, t_s: float) -> None:
        if not 0 <= t_s - self._said_s < 0.2 or t_s == 0.0:
            self._said_s = t_s
            ahead = preview(self.path, t_s, np.arange(0, 6.05, 0.1))
            self._reference.publish(convert.preview_to_bytes(ahead, t_s))

    def run_to(self, t_s: float) -> None:
        self.h.spin(lambda: self.h.t_s >= t_s, f"{t_s} s", wall_s=120.0)

    def says(self, who: str, words: str, since: int = 0) -> bool:
        return any(words in status.message for status in statuses(self.diagnostics[since:], who))

    def now_says(self, who: str, words: str) -> bool:
        found = statuses(self.diagnostics, who)
        return bool(found) and words in found[-1].message

    def states(self) -> tuple[Array, Array]:
        """Times (T,) and states (T,2,13) at which both are known."""
        received = [[convert.odometry_from_bytes(data) for data in self.truth[name]] for name in (A, B)]
        by_time = [{o.stamp_s: o.state for o in each} for each in received]
        times = sorted(set(by_time[0]) & set(by_time[1]))
        rows = [[table[t] for table in by_time] for t in times]
        return np.array(times), np.array(rows)

    def path_error_m(self, times_s: Array, states: Array, from_s: float, to_s: float) -> float:
        """RMS distance of the vehicles' mean from the path."""
        part = (times_s >= from_s - 1e-6) & (times_s <= to_s + 1e-6)
        off = states[part][:, :, :3].mean(axis=1) - self.path.position(times_s[part])
        return float(np.sqrt((off**2).sum(axis=1).mean()))


def assert_safe(states: Array) -> None:
    """Neither lost sight nor came too close, at any recorded instant."""
    assert distances_m(states).min() > 0.75
    assert fov_angles_deg(states, SEES).max() < 60.0


def test_thirty_seconds_of_the_circle_as_in_the_simulator() -> None:
    with Harness() as harness:
        show = Show(harness, seed=3, rate=0.0, duration_s=30.0)
        plant = harness.children["/dynamics"]
        harness.spin(lambda: not plant.running, "the end of the run", wall_s=180.0)
        assert plant.code == 0, harness.output()
        times, states = show.states()
        assert len(times) > 550 and times[-1] >= 29.9
        assert_safe(states)
        record = simulate(RunSpec("circle", "two", seed=3, duration_s=30.0))
        for begin_s in (0.0, 10.0):  # with the approach, and settled
            ours = show.path_error_m(times, states, begin_s, 30.0)
            simulated = show.path_error_m(record.times_s, record.states, begin_s, 30.0)
            # A millimetre or two once settled is the noise of another run.
            assert ours == pytest.approx(simulated, rel=0.2, abs=0.002), f"from {begin_s} s on"
        for who in (A, B):
            assert show.now_says(f"{who} controller", "following")


def test_seventy_percent_loss_through_the_relay() -> None:
    with Harness() as harness:
        sent = harness.listen(topics.PLAN, raw=True, vehicle=B)
        received = harness.listen(topics.HEARD, raw=True, vehicle=A, other=B)
        show = Show(harness, seed=5, rate=0.0, condition="loss_70")
        show.run_to(15.0)
        assert_safe(show.states()[1])
        share = len(received) / len(sent)
        assert 0.2 < share < 0.4, f"{len(received)} of {len(sent)}"
        assert show.now_says(f"{A} controller", "following")
        # And at run time: all of them.
        assert not harness.set_parameters("/relay", {"loss": 1.5}).successful
        assert harness.set_parameters("/relay", {"loss": 0.0}).successful
        before = len(sent), len(received)
        show.run_to(harness.t_s + 3.0)
        assert (len(received) - before[1]) / (len(sent) - before[0]) > 0.9


@pytest.fixture(scope="module")
def show() -> Iterator[Show]:
    with Harness() as harness:
        yield Show(harness, seed=7, rate=2.0)


def test_killed_controller_is_missed_avoided_and_rejoins(show: Show) -> None:
    h = show.h
    show.run_to(6.0)
    since, killed_s = len(show.diagnostics), h.t_s
    h.children[f"/{B}/mpc"].signal(signal.SIGKILL)
    h.spin(lambda: show.says("dynamics", f"zero thrust for {B}", since), "the plant's word")
    array = next(a for a in show.diagnostics[since:] if "zero thrust" in a.status[0].message)
    assert convert.from_stamp(array.header.stamp) - killed_s < 1.0  # 0.5 s after the last command
    h.spin(lambda: show.says(f"{A} controller", f"lost contact with {B}", since), "the neighbour's word")
    show.run_to(h.t_s + 3.0)
    since = len(show.diagnostics)
    h.start(show.nodes[f"/{B}/mpc"])
    h.spin(lambda: show.says(f"{B} controller", "following", since), "the new one")
    h.spin(lambda: show.now_says(f"{A} controller", "following"), "the neighbour to see it")
    h.spin(lambda: show.now_says("dynamics", "running"), "the plant")
    back_s = h.t_s
    show.run_to(back_s + 12.0)
    times, states = show.states()
    assert distances_m(states).min() > 0.75
    assert show.path_error_m(times, states, back_s + 10.0, back_s + 12.0) < 0.2  # in formation again


def test_a_current_is_felt_and_fought(show: Show) -> None:
    h = show.h
    current = h.publisher(topics.OCEAN_CURRENT)
    h.spin(current.get_subscription_count, "the plant")
    current.publish(Vector3(x=0.5, y=0.0, z=0.0))
    begin_s = h.t_s
    show.run_to(begin_s + 8.0)
    times, states = show.states()
    before_m = show.path_error_m(times, states, begin_s - 2.0, begin_s)
    assert show.path_error_m(times, states, begin_s, begin_s + 2.0) > 2 * before_m
    assert show.path_error_m(times, states, begin_s + 6.0, begin_s + 8.0) < 0.1


def test_stop_stops_everybody_and_releases(show: Show) -> None:
    h = show.h
    stop = h.publisher(topics.STOP)
    thrust = {name: h.listen(topics.THRUST, vehicle=name, thruster="thruster3") for name in (A, B)}
    h.spin(lambda: all(thrust.values()), "thrust")
    known = h.listen(topics.STOP_STATE)
    stop.publish(Bool(data=True))
    h.spin(lambda: show.now_says("dynamics", "stopped"), "the plant")
    h.spin(lambda: all(show.now_says(f"{n} controller", "stopped by the operator") for n in (A, B)), "both controllers")
    assert all(received[-1].data == 0.0 for received in thrust.values())

    def counter() -> int:  # holders tell what they knew before, too
        return max((StopState.from_json(state.data).counter for state in known), default=0)

    h.spin(lambda: counter() > 0, "the STOP's counter")
    release = h.publisher(topics.RELEASE)
    h.spin(lambda: release.get_subscription_count() >= 3, "all holders")
    release.publish(UInt64(data=counter()))
    h.spin(lambda: all(show.now_says(f"{n} controller", "following") for n in (A, B)), "both to go on")
    h.spin(lambda: show.now_says("dynamics", "running"), "the plant")


def test_reset_begins_anew_for_everybody(show: Show) -> None:
    h = show.h
    assert h.call(Trigger, "/dynamics/reset", Trigger.Request()).success
    h.spin(lambda: h.t_s < 3.0, "the clock to go back")
    for received in show.truth.values():
        received.clear()
    since = len(show.diagnostics)
    show.run_to(4.0)
    for who in (A, B):
        assert show.says(f"{who} controller", "following", since), h.output()
    assert_safe(show.states()[1])


def test_nothing_is_left_behind(show: Show) -> None:
    """All end within their time when asked, with code 0."""
    for name, child in show.h.children.items():
        child.signal(signal.SIGINT)
        show.h.spin(lambda child=child: not child.running, f"the end of {name}")
        assert child.code == 0, f"{name}\n{show.h.output()}"


def test_bad_input_is_one_sentence_and_code_2() -> None:
    with Harness() as harness:
        harness.start(
            NodeSpec("shoal_mpc", "mpc", "mpc", "/nemo", {"fleet": "two"}),
            NodeSpec("shoal_dynamics", "dynamics", "dynamics", parameters={"rate": -1.0}),
        )
        mpc, dynamics = harness.children["/nemo/mpc"], harness.children["/dynamics"]
        harness.spin(lambda: not mpc.running and not dynamics.running, "both to give up")
        harness.linger(0.2)
        assert mpc.code == dynamics.code == 2
        assert any("'nemo': not in fleet" in line for line in mpc.lines)
        assert any("out of range" in line for line in dynamics.lines)
        assert not any("Traceback" in line for line in mpc.lines + dynamics.lines)
