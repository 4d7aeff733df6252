"""STOP over real processes: received from anybody, remembered by everybody, over kills of each node and of all."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool, Float64, UInt64

from shoal.fleet.stop import StopState
from shoal.messages import topics
from shoal.messages.state import VELOCITY
from shoal_ros import convert
from shoal_ros.harness import Harness, statuses
from shoal_ros.node_list import fleet_nodes

pytestmark = [pytest.mark.ros, pytest.mark.slow]
NAMES = ("rov1", "rov2")
VOLATILE = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
SOON_S = 0.2  # simulated: from STOP to zero thrust


class Fleet:
    """Plant, two controllers and guidance on the circle. The clock waits for the controllers on a busy machine."""

    def __init__(self, harness: Harness) -> None:
        self.h = harness
        specs = fleet_nodes("two", path="circle", ready_s=0.0, rate=1.0, lockstep=True, display=False)
        self.specs = {spec.full_name: spec for spec in specs}
        self.thrust: list[tuple[float, str, float]] = []  # when, whose, how much
        for name in NAMES:
            for i in (1, 3, 5):
                self._listen(topics.THRUST.of(vehicle=name, thruster=f"thruster{i}"), name)
        self.truth = {name: harness.listen(topics.TRUTH, raw=True, vehicle=name) for name in NAMES}
        self.diagnostics = harness.listen(topics.DIAGNOSTICS)
        self.states = harness.listen(topics.STOP_STATE)
        self.modes = harness.listen(topics.MODE)
        # As `ros2 topic pub --once /fleet/stop std_msgs/msg/Bool "{data: true}"` makes it.
        self.stop = harness.node.create_publisher(Bool, topics.STOP.name, VOLATILE)
        self.release = harness.publisher(topics.RELEASE)
        harness.follow_clock()
        harness.start(*specs)
        harness.spin(lambda: self.all_say("following") and harness.t_s > 1.0, "a fleet that swims", wall_s=120.0)

    def _listen(self, topic: str, who: str) -> None:
        self.h.node.create_subscription(
            Float64, topic, lambda m: self.thrust.append((self.h.t_s, who, float(m.data))), 50
        )

    def all_say(self, words: str) -> bool:
        last = [statuses(self.diagnostics, f"{name} controller")[-1:] for name in NAMES]
        return all(found and words in found[0].message for found in last)

    def known(self) -> StopState:
        merged = StopState()
        for message in self.states:
            merged = merged.merged(StopState.from_json(message.data))
        return merged

    def stop_and_wait(self) -> None:
        self.h.spin(lambda: self.stop.get_subscription_count() >= 4, "all holders")
        self.stop.publish(Bool(data=True))
        self.h.spin(lambda: self.all_say("stopped"), "both controllers to say so")

    def release_and_wait(self) -> None:
        self.h.spin(lambda: self.release.get_subscription_count() >= 4, "all holders")
        self.release.publish(UInt64(data=self.known().counter))
        self.h.spin(lambda: self.all_say("following"), "both to follow again", wall_s=120.0)

    def kill(self, *names: str) -> None:
        for name in names:
            self.h.children[name].signal(signal.SIGKILL)
        for name in names:
            self.h.spin(lambda name=name: not self.h.children[name].running, f"the end of {name}")

    def pushes(self, seconds: float) -> float:
        """The largest thrust commanded over the next seconds of simulated time."""
        self.thrust.clear()
        begin_s = self.h.t_s
        self.h.spin(lambda: self.h.t_s >= begin_s + seconds or self.h.t_s < begin_s, f"{seconds} s", wall_s=120.0)
        return max((abs(force) for _, _, force in self.thrust), default=0.0)

    def speeds_mps(self) -> list[float]:
        last = [convert.odometry_from_bytes(self.truth[name][-1]) for name in NAMES]
        return [float(np.linalg.norm(o.state[VELOCITY])) for o in last]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with Harness() as harness:
        yield Fleet(harness)


def test_a_volatile_publisher_is_heard_and_thrust_is_zero_at_once(fleet: Fleet) -> None:
    h = fleet.h
    h.spin(lambda: fleet.stop.get_subscription_count() >= 4, "all holders")
    assert fleet.pushes(0.5) > 0.1
    fleet.thrust.clear()
    asked_s = h.t_s
    fleet.stop.publish(Bool(data=True))
    h.spin(lambda: h.t_s >= asked_s + 1.5, "one and a half seconds")
    late = [(t, who, force) for t, who, force in fleet.thrust if t > asked_s + SOON_S and force != 0.0]
    assert late == [], f"asked at {asked_s}"
    assert {who for t, who, _ in fleet.thrust if t > asked_s + SOON_S} == set(NAMES)  # zeros go out, not silence
    assert fleet.known().stopped and fleet.known().owner == topics.STOP.name
    fleet.release_and_wait()
    assert fleet.pushes(1.0) > 0.1


@pytest.mark.parametrize("victim", ["/rov1/mpc", "/guidance", "/dynamics"])
def test_a_node_that_is_killed_comes_back_stopped(fleet: Fleet, victim: str) -> None:
    fleet.stop_and_wait()
    fleet.kill(victim)
    fleet.h.linger(0.5)
    fleet.diagnostics.clear()
    fleet.h.start(fleet.specs[victim])
    fleet.h.spin(lambda: fleet.all_say("stopped"), "both to be stopped", wall_s=120.0)
    assert fleet.pushes(3.0) == 0.0
    if victim == "/guidance":
        fleet.h.spin(lambda: fleet.modes and fleet.modes[-1].data == "hold", "guidance in hold")
    fleet.release_and_wait()


def test_all_killed_at_once_come_back_stopped(fleet: Fleet) -> None:
    fleet.stop_and_wait()
    counter = fleet.known().counter
    fleet.kill(*fleet.specs)
    fleet.states.clear()
    fleet.diagnostics.clear()
    fleet.thrust.clear()
    fleet.h.start(*fleet.specs.values())
    fleet.h.spin(lambda: fleet.all_say("stopped"), "both to be stopped", wall_s=120.0)
    assert fleet.pushes(3.0) == 0.0
    assert fleet.known().stopped and fleet.known().counter == counter
    fleet.release_and_wait()
    assert fleet.modes[-1].data == "hold"  # released, but nobody has asked for the test again
    fleet.pushes(8.0)
    assert max(fleet.speeds_mps()) < 0.05, "a released fleet holds until somebody asks for motion"
