"""Our reading and writing of DDS's bytes against rclpy's own, for every alignment that names of vehicles can make."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import Transform, Twist
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from shoal.errors import ShoalError
from shoal.messages.state import ATTITUDE, RATE, VELOCITY
from shoal.recordings import cdr
from shoal_ros import convert

pytestmark = pytest.mark.ros
RNG = np.random.default_rng(8)


def some_trajectory(names: tuple[str, ...], points: int) -> cdr.Trajectory:
    after = np.cumsum(RNG.uniform(0.01, 0.7, points)) - 0.3  # the first may lie before the stamp
    return cdr.Trajectory(12, 345, names, after, RNG.normal(size=(points, 7)), RNG.normal(size=(points, 3)))


def by_rclpy(message: MultiDOFJointTrajectory) -> cdr.Trajectory:
    rows = [(p.transforms[0].translation, p.transforms[0].rotation, p.velocities[0].linear) for p in message.points]
    transforms = np.array([[t.x, t.y, t.z, q.x, q.y, q.z, q.w] for t, q, _ in rows]).reshape(-1, 7)
    velocities = np.array([[v.x, v.y, v.z] for _, _, v in rows]).reshape(-1, 3)
    after = np.array([convert.from_stamp(p.time_from_start) for p in message.points])
    stamp = message.header.stamp
    return cdr.Trajectory(stamp.sec, stamp.nanosec, tuple(message.joint_names), after, transforms, velocities)


def assert_same(a: cdr.Trajectory, b: cdr.Trajectory) -> None:
    assert (a.sec, a.nanosec, a.names) == (b.sec, b.nanosec, b.names)
    np.testing.assert_allclose(a.after_s, b.after_s, atol=1e-9)
    np.testing.assert_array_equal(a.transforms, b.transforms)
    np.testing.assert_array_equal(a.velocities, b.velocities)


@pytest.mark.parametrize("points", [1, 2, 17])
@pytest.mark.parametrize("length", range(1, 10))
def test_trajectory_as_rclpy_reads_and_writes_it(length: int, points: int) -> None:
    before = some_trajectory(("v" * length, "seq=7"), points)
    frame = "map" + "x" * (length % 3)
    data = cdr.write_trajectory(before, frame)
    message = deserialize_message(data, MultiDOFJointTrajectory)
    assert message.header.frame_id == frame
    assert_same(by_rclpy(message), before)
    again = serialize_message(message)
    assert len(again) == len(data)
    read = cdr.read_trajectory(again)
    assert read is not None
    assert_same(read, before)


def test_no_points_and_no_names() -> None:
    data = cdr.write_trajectory(some_trajectory((), 0), "map")
    assert len(deserialize_message(data, MultiDOFJointTrajectory).points) == 0
    assert cdr.read_trajectory(data) is None  # for the type store to look at


def test_what_others_may_write_is_read_the_slow_way() -> None:
    point = MultiDOFJointTrajectoryPoint(transforms=[Transform()], velocities=[Twist()], accelerations=[Twist()])
    point.transforms[0].translation.x = 3.0
    message = MultiDOFJointTrajectory(joint_names=["v", "seq=1"], points=[point])
    data = serialize_message(message)
    assert cdr.read_trajectory(data) is None
    assert convert.plan_from_bytes(data).positions_m[0].tolist() == [0.0, 3.0, 0.0]
    message.points[0].velocities = []
    with pytest.raises(ShoalError, match="without transform or velocity"):
        convert.plan_from_bytes(serialize_message(message))


def test_cut_short_is_not_read() -> None:
    data = cdr.write_trajectory(some_trajectory(("v", "seq=7"), 5), "map")
    for length in (0, 3, 10, 20, 60, len(data) - 1):
        assert cdr.read_trajectory(data[:length]) is None
    assert cdr.read_trajectory(b"\0\0" + data[2:]) is None  # big endian


@pytest.mark.parametrize("length", range(1, 10))
def test_odometry_as_rclpy_writes_it(length: int) -> None:
    message = OdometryMessage(child_frame_id="c" * length)
    message.header.frame_id = "f" * (length // 2)
    message.header.stamp = convert.to_stamp(3.25)
    pose, twist = message.pose.pose, message.twist.twist
    values = RNG.normal(size=13)
    pose.position.x, pose.position.y, pose.position.z = values[:3].tolist()
    q = pose.orientation
    q.x, q.y, q.z, q.w = values[ATTITUDE].tolist()
    for vector, numbers in ((twist.linear, values[VELOCITY]), (twist.angular, values[RATE])):
        vector.x, vector.y, vector.z = numbers.tolist()
    message.pose.covariance = RNG.normal(size=36)
    data = serialize_message(message)
    read = cdr.read_odometry(data)
    assert read is not None
    assert (read.sec, read.nanosec) == (3, 250_000_000)
    assert (read.frame, read.child_frame) == ("f" * (length // 2), "c" * length)
    np.testing.assert_array_equal(read.numbers, values)
    assert cdr.read_odometry(data[:50]) is None
    message.pose.covariance = np.zeros(36)
    assert deserialize_message(cdr.write_odometry(read), OdometryMessage) == message
