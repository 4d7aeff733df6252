"""The relay as a process: what is sent, what is received, and when. The test owns the clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rosgraph_msgs.msg import Clock

from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal_ros import convert
from shoal_ros.harness import Harness
from shoal_ros.node_list import NodeSpec

pytestmark = pytest.mark.ros
A, B = "rov1", "rov2"
PERFECT = {"loss": 0.0, "delay_s": 0.0, "jitter_s": 0.0, "line_of_sight": False}


class Channel:
    """From A to B, and time."""

    def __init__(self, harness: Harness) -> None:
        self.h = harness
        self.clock = harness.publisher(topics.CLOCK)
        self.plan = harness.publisher(topics.PLAN, vehicle=A)
        self.odometry = {n: harness.publisher(topics.ODOMETRY, vehicle=n) for n in (A, B)}
        self.received = harness.listen(topics.HEARD, raw=True, vehicle=B, other=A)
        self.t_s, self.sequence = 0.0, 0
        harness.start(NodeSpec("shoal_ros", "relay", "relay", parameters={"fleet": "two", "use_sim_time": True}))
        harness.spin(lambda: self.plan.get_subscription_count() and self.clock.get_subscription_count(), "the relay")
        harness.spin(lambda: harness.node.count_publishers(topics.HEARD.of(vehicle=B, other=A)), "its own topic")
        self.run(0.5)

    def run(self, seconds: float) -> None:
        """Time goes on; slowly enough for the relay to look at each tick."""
        for _ in range(round(seconds / 0.05)):
            self.t_s = round(self.t_s + 0.05, 6)
            self.clock.publish(Clock(clock=convert.to_stamp(self.t_s)))
            self.h.linger(0.01)

    def send(self, sequence: int | None = None) -> None:
        self.sequence += 1
        number = self.sequence if sequence is None else sequence
        point = np.array([[number, 0.0, 5.0]])
        self.plan.publish(convert.plan_to_bytes(Plan(A, number, self.t_s, np.array([self.t_s]), point, 0 * point)))
        self.h.linger(0.02)

    def numbers(self) -> list[int]:
        return [convert.plan_from_bytes(data).sequence for data in self.received]

    def set(self, **values: object) -> bool:
        return bool(self.h.set_parameters("/relay", {**PERFECT, **values}).successful)


@pytest.fixture(scope="module")
def channel() -> Iterator[Channel]:
    with Harness() as harness:
        yield Channel(harness)


@pytest.fixture(autouse=True)
def perfect(channel: Channel) -> None:
    assert channel.set()
    channel.run(0.2)
    channel.received.clear()


def test_a_perfect_link_passes_everything_at_once_and_unchanged(channel: Channel) -> None:
    for _ in range(5):
        channel.send()
        channel.run(0.05)
    channel.h.spin(lambda: len(channel.received) == 5, "all five")
    got = convert.plan_from_bytes(channel.received[-1])
    assert (got.vehicle, got.sequence) == (A, channel.sequence)


def test_a_controller_started_again_is_received_at_once(channel: Channel) -> None:
    channel.send(sequence=900)
    channel.run(0.05)
    channel.send(sequence=1)
    channel.h.spin(lambda: channel.numbers() == [900, 1], "both")


def test_delay_is_of_simulated_time(channel: Channel) -> None:
    assert channel.set(delay_s=1.0)
    channel.send()
    channel.run(0.8)
    assert channel.received == []
    channel.run(0.4)
    channel.h.spin(lambda: len(channel.received) == 1, "it")


def test_a_plan_that_was_overtaken_on_its_way_is_dropped(channel: Channel) -> None:
    """The topic keeps one message: the older plan must not replace the newer one."""
    assert channel.set(delay_s=1.0)
    channel.send()
    channel.run(0.1)
    assert channel.set(delay_s=0.1)
    channel.send()
    channel.run(0.3)
    channel.h.spin(lambda: channel.numbers() == [channel.sequence], "the newer one")
    channel.run(1.5)
    assert channel.numbers() == [channel.sequence]


def test_what_arrived_is_delivered_once(channel: Channel) -> None:
    assert channel.set(delay_s=0.2)
    for _ in range(3):
        channel.send()
        channel.run(0.05)
    channel.run(1.0)
    channel.h.spin(lambda: len(channel.received) >= 3, "all three")
    channel.run(0.5)
    first = channel.sequence - 2
    assert channel.numbers() == [first, first + 1, first + 2]


def test_everything_lost(channel: Channel) -> None:
    assert channel.set(loss=1.0)
    for _ in range(5):
        channel.send()
        channel.run(0.05)
    channel.run(0.3)
    assert channel.received == []


def test_dropouts(channel: Channel) -> None:
    begin = channel.t_s
    assert channel.set(dropouts=[begin, begin + 0.5])
    channel.send()
    channel.run(0.6)
    assert channel.received == []
    channel.send()
    channel.h.spin(lambda: len(channel.received) == 1, "the one after")


def test_line_of_sight(channel: Channel) -> None:
    assert channel.set(line_of_sight=True, range_m=10.0)
    publishers = channel.odometry.values()
    channel.h.spin(lambda: all(p.get_subscription_count() for p in publishers), "the relay to look")

    def stand(away_m: float) -> None:
        for name, y, heading in ((A, 0.0, np.pi / 2), (B, away_m, -np.pi / 2)):
            q = np.array([np.cos(heading / 2), 0, 0, np.sin(heading / 2)])
            odometry = Odometry.of_parts(channel.t_s, np.array([0, y, 5.0]), q, np.zeros(3), np.zeros(3))
            channel.odometry[name].publish(convert.odometry_to_message(odometry, name))
        channel.h.linger(0.2)

    stand(3.0)
    channel.send()
    channel.h.spin(lambda: len(channel.received) == 1, "face to face")
    stand(30.0)
    channel.send()
    channel.run(0.3)
    assert len(channel.received) == 1
    assert channel.set()
    channel.h.spin(lambda: not any(p.get_subscription_count() for p in publishers), "the relay to look away")


def test_what_was_under_way_when_the_clock_went_back_never_arrives(channel: Channel) -> None:
    assert channel.set(delay_s=1.0)
    channel.send()
    channel.t_s = 0.0
    channel.run(2.0)
    assert channel.received == []
    assert channel.set()
    channel.send()
    channel.h.spin(lambda: len(channel.received) == 1, "what is new")


def test_a_radio_that_is_silent_by_condition_sends_nothing(channel: Channel, tmp_path: Path) -> None:
    condition = tmp_path / "quiet.yaml"
    condition.write_text("faults:\n  - {vehicle: 0, kind: radio_silent, from_s: 3.0, to_s: 5.0}\n")
    relay = channel.h.children["/relay"]
    relay.end()
    parameters = {"fleet": "two", "use_sim_time": True, "condition": str(condition)}
    channel.h.start(NodeSpec("shoal_ros", "relay", "relay", parameters=parameters))
    channel.h.spin(lambda: channel.plan.get_subscription_count(), "the new relay")
    channel.t_s = 0.0
    for begin_s, count in ((1.0, 1), (3.5, 0), (5.5, 1)):
        channel.run(begin_s - channel.t_s)
        channel.h.linger(0.3)
        channel.received.clear()
        channel.send()
        channel.h.linger(0.3)
        assert len(channel.received) == count


def test_refuses_what_makes_no_sense(channel: Channel) -> None:
    result = channel.h.set_parameters("/relay", {"dropouts": [5.0, 1.0]})
    assert not result.successful and "from_s < to_s" in result.reason
    assert "out of range" in channel.h.set_parameters("/relay", {"loss": -0.1}).reason
