"""Messages of rclpy ↔ core types: bytes for raw publishers and subscriptions, message objects where a node needs them.

What a message looks like is decided in `shoal.recordings.codec`; this only puts rclpy's classes around it.
"""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, PoseWithCovariance, PoseWithCovarianceStamped, Quaternion
from nav_msgs.msg import Odometry as OdometryMessage
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Header
from trajectory_msgs.msg import MultiDOFJointTrajectory

from shoal.frames import enu_to_ned, ned_to_enu, quaternion_enu_to_ned, quaternion_ned_to_enu, scalar_first, scalar_last
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.relative_pose import FiducialPose
from shoal.recordings import fiducial_pose
from shoal.recordings.codec import (
    FLEET,
    WORLD,
    body_frame,
    odometry_from_bytes,
    odometry_to_bytes,
    path_to_bytes,
    plan_from_bytes,
    plan_to_bytes,
    pose_to_bytes,
    preview_from_bytes,
    preview_to_bytes,
    split,
)

__all__ = [
    "FLEET", "WORLD", "body_frame", "fiducial_from_message", "fiducial_to_message",
    "from_pose", "from_stamp", "odometry_from_bytes", "odometry_from_message",
    "odometry_to_bytes", "odometry_to_message", "path_to_bytes", "plan_from_bytes", "plan_from_message",
    "plan_to_bytes", "pose_to_bytes", "preview_from_bytes", "preview_from_message",
    "preview_to_bytes", "to_pose", "to_stamp",
]  # fmt: skip

Array = NDArray[np.float64]


def to_stamp(t_s: float) -> Time:
    """Seconds → builtin_interfaces/Time."""
    sec, nanosec = split(t_s)
    return Time(sec=sec, nanosec=nanosec)


def from_stamp(stamp: Time | Duration) -> float:
    """builtin_interfaces/Time or Duration → seconds."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def to_pose(position_m: Array, quaternion: Array) -> Pose:
    """NED position and attitude → geometry_msgs/Pose."""
    east, north, up = ned_to_enu(position_m).tolist()
    x, y, z, w = scalar_last(quaternion_ned_to_enu(quaternion)).tolist()
    return Pose(position=Point(x=east, y=north, z=up), orientation=Quaternion(x=x, y=y, z=z, w=w))


def from_pose(pose: Pose) -> tuple[Array, Array]:
    """geometry_msgs/Pose → NED position, attitude."""
    p, q = pose.position, pose.orientation
    rotation = scalar_first(np.array([q.x, q.y, q.z, q.w]))
    return enu_to_ned(np.array([p.x, p.y, p.z])), quaternion_enu_to_ned(rotation)


def odometry_to_message(odometry: Odometry, vehicle: str) -> OdometryMessage:
    """As odometry_to_bytes."""
    return deserialize_message(odometry_to_bytes(odometry, vehicle), OdometryMessage)


def odometry_from_message(message: OdometryMessage) -> Odometry:
    """As odometry_from_bytes."""
    return odometry_from_bytes(serialize_message(message))


def plan_from_message(message: MultiDOFJointTrajectory) -> Plan:
    """As plan_from_bytes."""
    return plan_from_bytes(serialize_message(message))


def preview_from_message(message: MultiDOFJointTrajectory) -> Preview:
    """As preview_from_bytes."""
    return preview_from_bytes(serialize_message(message))


def fiducial_to_message(sighting: FiducialPose, observer: str) -> PoseWithCovarianceStamped:
    """In the observer's base_link; see `shoal.recordings.fiducial_pose`."""
    (x, y, z), (qx, qy, qz, qw), covariance = (numbers.tolist() for numbers in fiducial_pose.to_ros(sighting))
    pose = Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))
    header = Header(stamp=to_stamp(sighting.stamp_s), frame_id=body_frame(observer))
    return PoseWithCovarianceStamped(header=header, pose=PoseWithCovariance(pose=pose, covariance=covariance))


def fiducial_from_message(message: PoseWithCovarianceStamped, topic: str) -> FiducialPose:
    """A ShoalError that names the topic where it cannot be believed."""
    p, q = message.pose.pose.position, message.pose.pose.orientation
    place, turn = np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w])
    return fiducial_pose.from_ros(from_stamp(message.header.stamp), place, turn, message.pose.covariance, topic)
