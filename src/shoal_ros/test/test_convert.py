"""Messages and core types: there and back again, and a few values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("rclpy")

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path as PathMessage
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import MultiDOFJointTrajectory

from shoal.errors import ShoalError
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal_ros import convert

pytestmark = pytest.mark.ros
RNG = np.random.default_rng(5)


def some_odometry() -> Odometry:
    q = RNG.standard_normal(4)
    return Odometry.of_parts(
        12.345678901, RNG.normal(size=3), q / np.linalg.norm(q), RNG.normal(size=3), RNG.normal(size=3)
    )


def some_plan(points: int = 17) -> Plan:
    times = 3.2 + np.cumsum(RNG.uniform(0.05, 0.2, points))
    return Plan("rov1", 41, 3.1, times, RNG.normal(size=(points, 3)), RNG.normal(size=(points, 3)), False)


def through_dds(message: object) -> object:
    return deserialize_message(serialize_message(message), type(message))


@pytest.mark.parametrize("_", range(5))
def test_odometry_there_and_back(_: int) -> None:
    before = some_odometry()
    after = convert.odometry_from_message(through_dds(convert.odometry_to_message(before, "rov1")))
    assert after.stamp_s == pytest.approx(before.stamp_s, abs=1e-9)
    np.testing.assert_allclose(after.state, before.state, atol=1e-14)


def test_odometry_by_hand() -> None:
    """Heading east, 2 m north, 3 m east, 5 m deep, moving ahead and to starboard, turning to starboard."""
    half = math.radians(90) / 2
    state = np.array([2, 3, 5, math.cos(half), 0, 0, math.sin(half), 0.4, 0.1, 0.2, 0, 0, 0.3])
    message = convert.odometry_to_message(Odometry(1.5, state), "rov1")
    p, q = message.pose.pose.position, message.pose.pose.orientation
    assert (p.x, p.y, p.z) == (3, 2, -5)
    assert (q.x, q.y, q.z, abs(q.w)) == pytest.approx((0, 0, 0, 1))  # x along east: no rotation in ENU
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    assert (linear.x, linear.y, linear.z) == (0.4, -0.1, -0.2)
    assert angular.z == -0.3
    assert (message.header.frame_id, message.child_frame_id) == ("map", "rov1/base_link")
    assert message.header.stamp == Time(sec=1, nanosec=500_000_000)


@pytest.mark.parametrize("points", [1, 17])
def test_plan_there_and_back(points: int) -> None:
    before = some_plan(points)
    after = convert.plan_from_message(deserialize_message(convert.plan_to_bytes(before), MultiDOFJointTrajectory))
    assert (after.vehicle, after.sequence, after.committed) == ("rov1", 41, False)
    assert after.stamp_s == pytest.approx(before.stamp_s, abs=1e-9)
    np.testing.assert_allclose(after.times_s, before.times_s, atol=2e-9)
    np.testing.assert_allclose(after.positions_m, before.positions_m, atol=1e-14)
    np.testing.assert_allclose(after.velocities_mps, before.velocities_mps, atol=1e-14)


@pytest.mark.parametrize("headings", [None, np.linspace(-4.0, 9.0, 30)])
def test_preview_there_and_back(headings: np.ndarray | None) -> None:
    times = 7.0 + 0.1 * np.arange(30)
    before = Preview(times, RNG.normal(size=(30, 3)), RNG.normal(size=(30, 3)), headings)
    after = convert.preview_from_message(
        deserialize_message(convert.preview_to_bytes(before, 7.0), MultiDOFJointTrajectory)
    )
    np.testing.assert_allclose(after.times_s, times, atol=2e-9)
    np.testing.assert_allclose(after.positions_m, before.positions_m, atol=1e-14)
    np.testing.assert_allclose(after.velocities_mps, before.velocities_mps, atol=1e-14)
    if headings is None:
        assert after.headings_rad is None
    else:
        assert after.headings_rad is not None
        turns = (after.headings_rad - headings) / (2 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns[0]), atol=1e-12)  # whole turns, the same at every point


def test_what_is_no_plan_is_refused() -> None:
    for names in ([], ["rov1"], ["rov1", "seq=x"], ["rov1", "seq=3"]):
        with pytest.raises(ShoalError, match="plan"):
            convert.plan_from_message(MultiDOFJointTrajectory(joint_names=names))


def test_reference_needs_rising_times() -> None:
    swapped = Preview(np.array([1.0, 0.5]), np.zeros((2, 3)), np.zeros((2, 3)))
    message = deserialize_message(convert.preview_to_bytes(swapped, 0.0), MultiDOFJointTrajectory)
    with pytest.raises(ShoalError, match="rise"):
        convert.preview_from_message(message)
    with pytest.raises(ShoalError, match="no points"):
        convert.preview_from_message(MultiDOFJointTrajectory())


@pytest.mark.parametrize("t_s", [0.0, 0.1, 1e-9, 12345.678901234, 0.9999999999])
def test_stamps(t_s: float) -> None:
    assert convert.from_stamp(convert.to_stamp(t_s)) == pytest.approx(t_s, abs=1e-9)


def test_poses_and_paths_for_display() -> None:
    """3 m north, 4 m east, 5 m deep, heading east: no rotation in ENU."""
    data = convert.pose_to_bytes(2.25, np.array([3.0, 4.0, 5.0]), math.radians(90))
    pose = deserialize_message(data, PoseStamped)
    p, q = pose.pose.position, pose.pose.orientation
    assert (p.x, p.y, p.z) == (4.0, 3.0, -5.0) and (q.x, q.y, q.z, abs(q.w)) == pytest.approx((0, 0, 0, 1))
    assert (convert.from_stamp(pose.header.stamp), pose.header.frame_id) == (2.25, "map")
    position, attitude = convert.from_pose(convert.to_pose(np.array([3.0, 4.0, 5.0]), some_odometry().attitude))
    np.testing.assert_allclose(position, [3.0, 4.0, 5.0])
    assert np.linalg.norm(attitude) == pytest.approx(1.0)
    data = convert.path_to_bytes(1.0, np.array([1.0, 1.5]), np.array([[0.0, 0, 0], [3, 4, 5]]))
    path = deserialize_message(data, PathMessage)
    assert [convert.from_stamp(item.header.stamp) for item in path.poses] == [1.0, 1.5]
    assert (path.poses[1].pose.position.x, path.poses[1].pose.orientation.w) == pytest.approx((4.0, math.sqrt(0.5)))
