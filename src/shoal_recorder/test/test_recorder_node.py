"""The recorder as a real process: every message once, at its time, however the process ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: its wheels exist for x86-64 Linux only")
from mcap.reader import make_reader
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_bench import Bench, bench
from rosbags.highlevel import AnyReader
from std_msgs.msg import Float64, String

from shoal.messages import topics
from shoal.messages.odometry import Odometry
from shoal.recordings.bag_metadata import read_notes
from shoal.recordings.bag_repair import is_left_behind, repair
from shoal_ros import convert, endpoints

pytestmark = pytest.mark.ros
RELIABLE, BEST_EFFORT = QoSProfile(depth=100), QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def b() -> Iterator[Bench]:
    with bench() as made:
        yield made


def heard_by_recorder(b: Bench, *publishers: Any) -> None:
    b.until(lambda: all(p.get_subscription_count() for p in publishers), "the recorder's subscriptions")


def read(folder: Path) -> dict[str, list[tuple[int, Any]]]:
    """By topic: log time and message, with rosbags; counts checked against the mcap library's."""
    found: dict[str, list[tuple[int, Any]]] = {}
    with AnyReader([folder]) as reader:
        for connection, log_ns, raw in reader.messages():
            found.setdefault(connection.topic, []).append((log_ns, reader.deserialize(raw, connection.msgtype)))
    with next(folder.glob("*.mcap")).open("rb") as stream:
        count: dict[str, int] = {}
        for _, channel, _ in make_reader(stream).iter_messages():
            count[channel.topic] = count.get(channel.topic, 0) + 1
    assert count == {topic: len(messages) for topic, messages in found.items()}
    return found


def test_records_every_message_once_and_is_named_by_parameter(b: Bench, tmp_path: Path) -> None:
    """In wall time; started and stopped twice by service; QoS of all kinds, a latched message from before included."""
    numbers = b.node.create_publisher(Float64, "/numbers", RELIABLE)
    sensor = b.node.create_publisher(Float64, "/sensor", BEST_EFFORT)
    latched = b.node.create_publisher(String, "/latched", LATCHED)
    secret = b.node.create_publisher(String, "/secret", RELIABLE)
    latched.publish(String(data="sent before"))
    child = b.run(
        "shoal_recorder",
        "recorder",
        folder=str(tmp_path),
        exclude="^/(secret|rosout)",
        fleet="two",
        condition="ideal",
        controller="pid",
        seed=3,
    )
    assert b.refusal("/recorder", name="../elsewhere") and not b.refusal("/recorder", name="first")
    assert not b.trigger("/recorder/stop").success
    began = b.trigger("/recorder/start")
    assert began.success and Path(began.message) == tmp_path / "first"
    assert not b.trigger("/recorder/start").success
    heard_by_recorder(b, numbers, sensor, latched)
    for i in range(500):
        numbers.publish(Float64(data=float(i)))
        if i % 10 == 0:
            sensor.publish(Float64(data=-float(i)))
            b.linger(0.001)
    late = b.node.create_publisher(Float64, "/late", RELIABLE)  # a topic that did not exist when it started
    heard_by_recorder(b, late)
    late.publish(Float64(data=7.0))
    secret.publish(String(data="not for the record"))
    ended = b.trigger("/recorder/stop")
    assert ended.success, ended.message
    found = read(tmp_path / "first")
    assert [m.data for _, m in found["/numbers"]] == [float(i) for i in range(500)]
    assert [m.data for _, m in found["/late"]] == [7.0]
    assert [m.data for _, m in found["/latched"]] == ["sent before"]
    assert 1 <= len(found["/sensor"]) <= 50 and "/secret" not in found  # best effort may lose some, not gain any
    notes = read_notes(tmp_path / "first")
    assert (notes["fleet"], notes["condition"], notes["seed"], notes["controller"]) == ("two", "ideal", "3", "pid")
    assert "task" not in notes and notes["code_version"]
    stamps = [t for t, _ in found["/numbers"]]
    assert stamps == sorted(stamps)
    with next((tmp_path / "first").glob("*.mcap")).open("rb") as stream:
        for _, _, message in make_reader(stream).iter_messages():
            assert message.publish_time <= message.log_time
    with AnyReader([tmp_path / "first"]) as reader:
        qos = {c.topic: c.ext.offered_qos_profiles for c in reader.connections}  # type: ignore[union-attr]
    assert (
        qos["/sensor"][0].reliability.name == "BEST_EFFORT" and qos["/latched"][0].durability.name == "TRANSIENT_LOCAL"
    )

    again = b.trigger("/recorder/start")  # the same name once more: nothing is written over
    assert Path(again.message) == tmp_path / "first_2"
    heard_by_recorder(b, numbers)
    numbers.publish(Float64(data=1.0))
    numbers.wait_for_all_acked()
    child.end()  # SIGINT while recording
    assert child.code == 0, child.lines
    assert [m.data for _, m in read(tmp_path / "first_2")["/numbers"]] == [1.0]


def test_log_times_are_simulated_time(b: Bench, tmp_path: Path) -> None:
    statuses = b.listen(topics.DIAGNOSTICS)
    publisher = endpoints.publisher(b.node, topics.ODOMETRY, vehicle="rov1")
    child = b.run(
        "shoal_recorder", "recorder", folder=str(tmp_path), name="sim", autostart=True, use_sim_time=True,
        include="odometry",
    )  # fmt: skip

    def stamp_s() -> float:
        return convert.from_stamp(statuses[-1].header.stamp) if statuses else -1.0

    for t_s in (0.0, 3.0, 5.0, 8.0):
        if t_s:
            b.until(lambda: stamp_s() == t_s, f"{t_s} s at the recorder", lambda: b.tick(t_s))  # noqa: B023
        heard_by_recorder(b, publisher)
        state = np.array([t_s, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])
        publisher.publish(convert.odometry_to_message(Odometry(t_s, state), "rov1"))
        for _ in range(20):  # twenty rounds of ours are many of the recorder's
            b.linger(0.01)
    child.signal(signal.SIGTERM)
    assert child.wait(20) and child.code == 0, child.lines
    logged = [(log_ns * 1e-9, m.pose.pose.position.y) for log_ns, m in read(tmp_path / "sim")["/rov1/odometry"]]
    assert [t for _, t in logged] == [0.0, 3.0, 5.0, 8.0]  # nothing lost, nothing twice
    assert logged[0][0] == pytest.approx(3.0)  # what came before time did gets the first there is
    for log_s, t_s in logged[1:]:
        assert log_s == pytest.approx(t_s)


def test_kill_9_leaves_a_recording_that_can_be_read(b: Bench, tmp_path: Path) -> None:
    publisher = b.node.create_publisher(Float64, "/numbers", RELIABLE)
    statuses = b.listen(topics.DIAGNOSTICS)
    options = {"folder": str(tmp_path), "flush_s": 0.05, "include": "numbers"}
    child = b.run("shoal_recorder", "recorder", name="torn", autostart=True, **options)
    heard_by_recorder(b, publisher)
    for i in range(300):
        publisher.publish(Float64(data=float(i)))
    file = tmp_path / "torn" / "torn_0.mcap"

    def written() -> bool:
        values = {v.key: v.value for v in statuses[-1].status[0].values} if statuses else {}
        return values.get("messages") == "300"

    b.until(written, "300 messages at the recorder")
    size = -1
    while size != file.stat().st_size:  # until flushing has come to rest
        size = file.stat().st_size
        for _ in range(30):
            b.linger(0.01)
    child.signal(signal.SIGKILL)
    assert child.wait(20) and is_left_behind(tmp_path / "torn")
    fresh = b.run("shoal_recorder", "recorder", **options)  # the next one that starts finishes it
    b.until(lambda: any("was left behind, finished with 300 messages" in line for line in fresh.lines), "the repair")
    fresh.end()
    assert [m.data for _, m in read(tmp_path / "torn")["/numbers"]] == [float(i) for i in range(300)]
    assert repair(tmp_path / "torn").was_whole
