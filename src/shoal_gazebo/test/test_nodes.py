"""The two nodes as real processes over real DDS, kept to this machine and to a domain of their own."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from diagnostic_msgs.msg import DiagnosticStatus
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool, Float64, UInt64

from shoal.fleet.stop import StopState
from shoal.messages import topics
from shoal_ros import convert
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec, Value

pytestmark = pytest.mark.ros
PUSHED = ("rov1", "thruster3")


class Fixture:
    """A thruster, its controller, the clock and the watchdog."""

    def __init__(self, harness: Harness) -> None:
        self.h = harness
        self.received = harness.listen(topics.THRUST, vehicle=PUSHED[0], thruster=PUSHED[1])
        self.diagnostics, self.stop_states = harness.listen(topics.DIAGNOSTICS), harness.listen(topics.STOP_STATE)
        self.controller = harness.publisher(topics.THRUST, vehicle=PUSHED[0], thruster=PUSHED[1])
        self.clock = harness.publisher(topics.CLOCK)
        self.t_s = 0.0

    def start(self, **parameters: Value) -> None:
        given: dict[str, Value] = {"fleet": "one", "use_sim_time": True, "wall_timeout_s": 60.0, **parameters}
        self.h.start(NodeSpec("shoal_gazebo", "thrust_watchdog", "thrust_watchdog", parameters=given))
        self.h.spin(
            lambda: self.controller.get_subscription_count() >= 2 and self.clock.get_subscription_count(),
            "the watchdog",
        )
        self.h.spin(lambda: self.diagnostics, "its diagnostics")
        self.tick(0.1)

    def tick(self, seconds: float, period_s: float = 0.05) -> None:
        """Simulation time goes on; slowly enough for the watchdog to look at each tick."""
        for _ in range(round(seconds / period_s)):
            self.t_s += period_s
            self.clock.publish(Clock(clock=convert.to_stamp(self.t_s)))
            self.h.linger(0.06)

    def push(self, thrust_N: float) -> None:
        self.controller.publish(Float64(data=thrust_N))

    @property
    def forces(self) -> list[float]:
        return [message.data for message in self.received]

    @property
    def state(self) -> StopState:
        return StopState.from_json(self.stop_states[-1].data)

    @property
    def levels(self) -> list[Any]:
        return [max(s.level for s in array.status) for array in self.diagnostics]


@pytest.fixture
def f() -> Iterator[Fixture]:
    with Harness() as harness:
        yield Fixture(harness)


def test_a_silent_controllers_thrusters_are_stopped(f: Fixture) -> None:
    f.start(timeout_s=0.6)
    for _ in range(20):  # a living controller is left alone
        f.push(4.0)
        f.tick(0.05)
    assert set(f.forces) == {4.0}
    f.tick(0.5)
    assert set(f.forces) == {4.0}  # not yet
    f.tick(0.2)
    f.h.spin(lambda: f.forces[-1] == 0.0, "the zero")
    f.h.spin(lambda: DiagnosticStatus.ERROR in f.levels, "the error")
    f.h.spin(lambda: f.levels[-1] == DiagnosticStatus.OK, "its own zero to be received")
    zeros = f.forces.count(0.0)
    f.tick(0.7)
    assert f.forces.count(0.0) == zeros, "the watchdog's own zeros must not keep it going"

    f.push(2.0)  # it is back, and the watchdog's end leaves nothing running
    f.h.spin(lambda: f.forces[-1] == 2.0, "the controller")
    f.h.linger(0.2)
    watchdog = f.h.children["/thrust_watchdog"]
    watchdog.signal(signal.SIGINT)
    f.h.spin(lambda: f.forces[-1] == 0.0, "the last zero")
    assert watchdog.wait(20) and watchdog.code == 0


def test_a_clock_that_stops_does_not_stop_the_watchdog(f: Fixture) -> None:
    f.start(timeout_s=0.3, wall_timeout_s=8.0)
    f.push(-3.0)
    f.h.spin(lambda: f.forces == [-3.0], "the command")
    f.h.linger(1.0)
    assert f.forces == [-3.0], "by the stopped simulation clock nothing is late"
    f.h.spin(lambda: f.forces[-1] == 0.0, "the zero")


def test_stop_zeroes_every_thruster_whatever_the_controllers_send(f: Fixture) -> None:
    others = [f.h.listen(topics.THRUST, vehicle="rov1", thruster=f"thruster{i}") for i in (1, 8)]
    f.start()
    f.push(4.0)
    f.h.spin(lambda: f.forces == [4.0], "the command")
    once = f.h.node.create_publisher(Bool, topics.STOP.name, 1)  # volatile, as `ros2 topic pub --once`
    f.h.spin(lambda: once.get_subscription_count(), "the watchdog's subscription")
    once.publish(Bool(data=True))
    f.h.spin(lambda: f.forces[-1] == 0.0 and all(other for other in others), "zeros on all thrusters")
    f.h.node.destroy_publisher(once)
    for k in range(20):  # a controller that does not obey
        f.push(5.0 + k)
        f.h.spin(lambda k=k: 5.0 + k in f.forces and f.forces[-1] == 0.0, "the answer to each command")
    f.h.spin(lambda: f.state.stopped, "the state")
    count = len(f.received)
    f.h.spin(lambda: len(f.received) > count + 3, "zeros without any command")
    assert not any(f.forces[count:])
    f.h.spin(lambda: "STOP 1: zero thrust" in f.diagnostics[-1].status[0].message, "the diagnostics")


def test_a_stop_outlives_the_watchdog_until_it_is_released(f: Fixture) -> None:
    f.start()
    stop, release = f.h.publisher(topics.STOP), f.h.publisher(topics.RELEASE)
    f.h.spin(lambda: stop.get_subscription_count() and release.get_subscription_count(), "the holder")
    stop.publish(Bool(data=True))
    f.h.spin(lambda: f.stop_states and f.state == StopState(1, True, topics.STOP.name), "the stop")
    watchdog = f.h.children["/thrust_watchdog"]
    watchdog.signal(signal.SIGKILL)
    assert watchdog.wait(20)
    f.stop_states.clear()
    f.received.clear()
    f.diagnostics.clear()
    f.start()
    f.h.spin(lambda: f.stop_states and f.state == StopState(1, True, topics.STOP.name), "its memory")
    f.push(7.0)
    f.h.spin(lambda: 7.0 in f.forces and f.forces[-1] == 0.0, "the zero after the restart")
    release.publish(UInt64(data=5))  # of a STOP that is not this one
    f.h.linger(0.5)
    assert f.state.stopped

    def released() -> bool:
        release.publish(UInt64(data=1))  # again and again: the dead watchdog's subscription is still listed
        return not f.state.stopped

    f.h.spin(released, "the release")
    f.push(6.0)
    f.h.spin(lambda: f.forces[-1] == 6.0, "the command")
    f.tick(0.2)
    assert f.forces[-1] == 6.0  # nothing is zeroed any more


def test_the_relay_hands_on_the_newest_ticks_at_its_own_rate() -> None:
    with Harness() as h:
        h.start(NodeSpec("shoal_gazebo", "clock_relay", "clock_relay", parameters={"max_rate_hz": 50.0}))
        received: list[float] = []
        h.node.create_subscription(Clock, "/clock", lambda m: received.append(convert.from_stamp(m.clock)), 50)
        source = h.node.create_publisher(Clock, "/gazebo/clock", 10)
        h.spin(lambda: source.get_subscription_count() == 1 and h.node.count_publishers("/clock") == 1, "the relay")
        h.linger(0.2)
        began = time.monotonic()
        sent = [round(3.0 + k * 0.001, 3) for k in range(500)]
        for t_s in sent:
            source.publish(Clock(clock=convert.to_stamp(t_s)))
            h.linger(0.001)
        took_s = time.monotonic() - began
        h.spin(lambda: received and round(received[-1], 3) == sent[-1], "the last tick")
        assert {round(t, 3) for t in received} <= set(sent)
        assert received == sorted(received)
        assert 2 <= len(received) <= 50 * took_s + 2  # it may be starved, but never hurries
