"""Messages ↔ core types. The only place where ROS meets NED/FRD; the mathematics is `shoal.frames`."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Vector3
from nav_msgs.msg import Odometry as OdometryMessage
from nav_msgs.msg import Path as PathMessage
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import MultiDOFJointTrajectory

from shoal.errors import ShoalError
from shoal.frames import (
    enu_to_ned,
    flu_to_frd,
    frd_to_flu,
    from_yaw,
    ned_to_enu,
    quaternion_enu_to_ned,
    quaternion_ned_to_enu,
    scalar_first,
    scalar_last,
    yaws_of,
)
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal_ros.cdr import Trajectory, read_odometry, read_trajectory, write_trajectory

Array = NDArray[np.float64]
WORLD = "map"
FLEET = "fleet"  # joint name of the common setpoint


def body_frame(vehicle: str) -> str:
    """REP-105's base_link, one per vehicle."""
    return f"{vehicle}/base_link"


# -- time -------------------------------------------------------------------------------------------------------


def to_stamp(t_s: float) -> Time:
    """Seconds → builtin_interfaces/Time."""
    seconds, nanoseconds = divmod(round(t_s * 1e9), 1_000_000_000)
    return Time(sec=seconds, nanosec=nanoseconds)


def from_stamp(stamp: Time | Duration) -> float:
    """builtin_interfaces/Time or Duration → seconds."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


# -- odometry ---------------------------------------------------------------------------------------------------


def odometry_to_message(odometry: Odometry, vehicle: str) -> OdometryMessage:
    """Pose in map, twist in the vehicle's own frame, as nav_msgs says."""
    message = OdometryMessage()
    message.header.stamp, message.header.frame_id = to_stamp(odometry.stamp_s), WORLD
    message.child_frame_id = body_frame(vehicle)
    message.pose.pose = to_pose(odometry.position_m, odometry.attitude)
    message.twist.twist.linear = _vector(frd_to_flu(odometry.velocity_mps))
    message.twist.twist.angular = _vector(frd_to_flu(odometry.rate_radps))
    return message


def odometry_from_message(message: OdometryMessage) -> Odometry:
    """As it is: whether the numbers may be believed is the gate's business."""
    pose, twist = message.pose.pose, message.twist.twist
    return Odometry.of_parts(
        from_stamp(message.header.stamp),
        enu_to_ned(_array(pose.position)),
        quaternion_enu_to_ned(_rotation(pose.orientation)),
        flu_to_frd(_array(twist.linear)),
        flu_to_frd(_array(twist.angular)),
    )


def odometry_from_bytes(data: bytes) -> Odometry:
    """The same from a raw subscription."""
    quick = read_odometry(data)
    if quick is None:
        return odometry_from_message(deserialize_message(data, OdometryMessage))
    sec, nanosec, numbers = quick
    return Odometry.of_parts(
        sec + nanosec * 1e-9,
        enu_to_ned(numbers[POSITION]),
        quaternion_enu_to_ned(scalar_first(numbers[ATTITUDE])),
        flu_to_frd(numbers[VELOCITY]),
        flu_to_frd(numbers[RATE]),
    )


def to_pose(position_m: Array, quaternion: Array) -> Pose:
    """NED position and attitude → geometry_msgs/Pose."""
    east, north, up = ned_to_enu(position_m).tolist()
    x, y, z, w = scalar_last(quaternion_ned_to_enu(quaternion)).tolist()
    return Pose(position=Point(x=east, y=north, z=up), orientation=Quaternion(x=x, y=y, z=z, w=w))


def from_pose(pose: Pose) -> tuple[Array, Array]:
    """geometry_msgs/Pose → NED position, attitude."""
    return enu_to_ned(_array(pose.position)), quaternion_enu_to_ned(_rotation(pose.orientation))


def to_pose_stamped(t_s: float, position_m: Array, yaw_rad: float = 0.0) -> PoseStamped:
    """A level pose at a NED point."""
    message = PoseStamped(pose=to_pose(position_m, from_yaw(yaw_rad)))
    message.header.stamp, message.header.frame_id = to_stamp(t_s), WORLD
    return message


def to_path(t_s: float, times_s: Array, positions_m: Array) -> PathMessage:
    """NED points (K,3) for display, each with its own stamp."""
    message = PathMessage()
    message.header.stamp, message.header.frame_id = to_stamp(t_s), WORLD
    message.poses = [to_pose_stamped(float(t), p) for t, p in zip(times_s, positions_m, strict=True)]
    return message


# -- trajectories: bytes for the control loop, messages for everybody else -----------------------------------------


def plan_to_bytes(plan: Plan) -> bytes:
    """joint_names carries what the message has no field for: vehicle, sequence, committed."""
    names = (plan.vehicle, f"seq={plan.sequence}", f"committed={int(plan.committed)}")
    return _to_bytes(names, plan.stamp_s, plan.times_s, plan.positions_m, plan.velocities_mps, None)


def plan_from_bytes(data: bytes) -> Plan:
    """ShoalError when it is no plan; whether its numbers are finite is the gate's business."""
    trajectory = _from_bytes(data)
    names = trajectory.names
    fields = dict(name.split("=", 1) for name in names[1:] if "=" in name)
    if not names or not fields.get("seq", "").isdigit() or not len(trajectory.after_s):
        raise ShoalError(
            f"plan: joint_names = {list(names)}; expected [vehicle, seq=N, committed=0|1] and at least one point"
        )
    stamp_s, times, positions, velocities = _in_core(trajectory)
    return Plan(names[0], int(fields["seq"]), stamp_s, times, positions, velocities, fields.get("committed") != "0")


def preview_to_bytes(preview: Preview, stamp_s: float, name: str = FLEET) -> bytes:
    """Without headings the rotations are all zero, which is no rotation at all: 'not given'."""
    headings = preview.headings_rad
    return _to_bytes((name,), stamp_s, preview.times_s, preview.positions_m, preview.velocities_mps, headings)


def preview_from_bytes(data: bytes) -> Preview:
    """ShoalError when there are no points, or their times do not rise."""
    trajectory = _from_bytes(data)
    if not len(trajectory.after_s):
        raise ShoalError("reference: no points; expected at least one")
    _, times, positions, velocities = _in_core(trajectory)
    if not (times[1:] > times[:-1]).all():
        raise ShoalError("reference: time_from_start does not rise; expected increasing times")
    rotations = trajectory.transforms[:, 3:]
    headings = None
    if np.abs(rotations).sum(axis=1).all():
        headings = np.unwrap(yaws_of(quaternion_enu_to_ned(scalar_first(rotations))))
    return Preview(times, positions, velocities, headings)


def plan_to_message(plan: Plan) -> MultiDOFJointTrajectory:
    """As plan_to_bytes."""
    return deserialize_message(plan_to_bytes(plan), MultiDOFJointTrajectory)


def plan_from_message(message: MultiDOFJointTrajectory) -> Plan:
    """As plan_from_bytes."""
    return plan_from_bytes(serialize_message(message))


def preview_to_message(preview: Preview, stamp_s: float, name: str = FLEET) -> MultiDOFJointTrajectory:
    """As preview_to_bytes."""
    return deserialize_message(preview_to_bytes(preview, stamp_s, name), MultiDOFJointTrajectory)


def preview_from_message(message: MultiDOFJointTrajectory) -> Preview:
    """As preview_from_bytes."""
    return preview_from_bytes(serialize_message(message))


def _to_bytes(
    names: tuple[str, ...], stamp_s: float, times_s: Array, positions_m: Array, velocities_mps: Array, yaw: Array | None
) -> bytes:
    stamp = to_stamp(stamp_s)
    transforms = np.zeros((len(times_s), 7))
    transforms[:, :3] = ned_to_enu(positions_m)
    if yaw is not None:
        transforms[:, 3:] = scalar_last(quaternion_ned_to_enu(from_yaw(yaw)))
    after_s, velocities = times_s - stamp_s, ned_to_enu(velocities_mps)
    return write_trajectory(Trajectory(stamp.sec, stamp.nanosec, names, after_s, transforms, velocities), WORLD)


def _from_bytes(data: bytes) -> Trajectory:
    """The quick way for what our nodes write, rclpy's for the rest."""
    quick = read_trajectory(data)
    if quick is not None:
        return quick
    message = deserialize_message(data, MultiDOFJointTrajectory)
    rows = []
    for point in message.points:
        if not point.transforms or not point.velocities:
            raise ShoalError("trajectory: a point without transform or velocity; expected one of each")
        p, q = point.transforms[0].translation, point.transforms[0].rotation
        v = point.velocities[0].linear
        rows.append((from_stamp(point.time_from_start), p.x, p.y, p.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z))
    table = np.array(rows).reshape(-1, 11)
    stamp, names = message.header.stamp, tuple(message.joint_names)
    return Trajectory(stamp.sec, stamp.nanosec, names, table[:, 0], table[:, 1:8], table[:, 8:11])


def _in_core(trajectory: Trajectory) -> tuple[float, Array, Array, Array]:
    """Stamp, absolute times (K,), positions and velocities (K,3) in NED."""
    stamp_s = trajectory.stamp_s
    positions, velocities = enu_to_ned(trajectory.transforms[:, :3]), enu_to_ned(trajectory.velocities)
    return stamp_s, stamp_s + trajectory.after_s, positions, velocities


# -- small change -----------------------------------------------------------------------------------------------


def _array(v: Any) -> Array:
    return np.array([v.x, v.y, v.z])


def _rotation(q: Quaternion) -> Array:
    return scalar_first(np.array([q.x, q.y, q.z, q.w]))


def _vector(v: Array) -> Vector3:
    x, y, z = v.tolist()
    return Vector3(x=x, y=y, z=z)
