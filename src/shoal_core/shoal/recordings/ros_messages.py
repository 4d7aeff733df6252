"""Standard ROS 2 messages built from core values, without ROS: the types come from `rosbags`' Jazzy store.

World NED → ENU (`map`), body FRD → FLU (`<vehicle>/base_link`), as REP-103 wants them on topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.typesys import Stores, get_typestore

from shoal.frames import frd_to_flu, ned_to_enu, quaternion_ned_to_enu, scalar_last
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY

Array = NDArray[np.float64]

STORE = get_typestore(Stores.ROS2_JAZZY)
WORLD_FRAME = "map"


def nanoseconds(t_s: float) -> int:
    """Simulation seconds as a stamp."""
    return round(t_s * 1e9)


def header(t_s: float, frame: str = WORLD_FRAME) -> Any:
    """std_msgs/Header."""
    sec, nanosec = divmod(nanoseconds(t_s), 1_000_000_000)
    stamp = _new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
    return _new("std_msgs/msg/Header", stamp=stamp, frame_id=frame)


def float64(value: float) -> Any:
    """std_msgs/Float64."""
    return _new("std_msgs/msg/Float64", data=float(value))


def odometry(t_s: float, vehicle: str, state: Array) -> Any:
    """nav_msgs/Odometry of a 13-state: pose in the world, twist in the body frame."""
    no_covariance = np.zeros(36)
    pose = _new(
        "geometry_msgs/msg/PoseWithCovariance", pose=_pose(state[POSITION], state[ATTITUDE]), covariance=no_covariance
    )
    twist = _new("geometry_msgs/msg/Twist", linear=_vector(frd_to_flu(state[VELOCITY])),
                 angular=_vector(frd_to_flu(state[RATE])))  # fmt: skip
    return _new(
        "nav_msgs/msg/Odometry",
        header=header(t_s),
        child_frame_id=f"{vehicle}/base_link",
        pose=pose,
        twist=_new("geometry_msgs/msg/TwistWithCovariance", twist=twist, covariance=no_covariance),
    )


def pose_stamped(t_s: float, position_m: Array, heading_rad: float = 0.0) -> Any:
    """geometry_msgs/PoseStamped of a NED point."""
    quaternion = np.array([np.cos(heading_rad / 2), 0.0, 0.0, np.sin(heading_rad / 2)])
    return _new("geometry_msgs/msg/PoseStamped", header=header(t_s), pose=_pose(position_m, quaternion))


def path(t_s: float, times_s: Array, positions_m: Array) -> Any:
    """nav_msgs/Path of NED points (K,3), each with its own stamp."""
    poses = [pose_stamped(float(t), p) for t, p in zip(times_s, positions_m, strict=True)]
    return _new("nav_msgs/msg/Path", header=header(t_s), poses=poses)


def trajectory(names: Sequence[str], t_s: float, times_s: Array, positions_m: Array, velocities_mps: Array) -> Any:
    """trajectory_msgs/MultiDOFJointTrajectory of NED points (K,3), as the nodes send plans and references.

    Rotations are all zero, which is no rotation at all: "not given".
    """
    places, speeds = ned_to_enu(positions_m), ned_to_enu(velocities_mps)
    points = [_trajectory_point(*row) for row in zip(times_s - t_s, places, speeds, strict=True)]
    return _new(
        "trajectory_msgs/msg/MultiDOFJointTrajectory", header=header(t_s), joint_names=list(names), points=points
    )


def transforms(t_s: float, names: Sequence[str], states: Array) -> Any:
    """tf2_msgs/TFMessage from the world to every vehicle; states (V,13)."""
    return _new(
        "tf2_msgs/msg/TFMessage", transforms=[_transform(t_s, n, s) for n, s in zip(names, states, strict=True)]
    )


def diagnostics(t_s: float, statuses: Sequence[Any]) -> Any:
    """diagnostic_msgs/DiagnosticArray."""
    return _new("diagnostic_msgs/msg/DiagnosticArray", header=header(t_s), status=list(statuses))


def status(vehicle: str, level: int, message: str, values: Mapping[str, object]) -> Any:
    """diagnostic_msgs/DiagnosticStatus of a vehicle's controller."""
    pairs = [_new("diagnostic_msgs/msg/KeyValue", key=key, value=str(value)) for key, value in values.items()]
    return _new("diagnostic_msgs/msg/DiagnosticStatus", level=level, name=f"shoal: {vehicle} controller",
                message=message, hardware_id=vehicle, values=pairs)  # fmt: skip


def _new(kind: str, **fields: Any) -> Any:
    return STORE.types[kind](**fields)


def _vector(v: Array) -> Any:
    return _new("geometry_msgs/msg/Vector3", x=float(v[0]), y=float(v[1]), z=float(v[2]))


def _rotation(quaternion: Array) -> Any:
    x, y, z, w = scalar_last(quaternion_ned_to_enu(quaternion))
    return _new("geometry_msgs/msg/Quaternion", x=float(x), y=float(y), z=float(z), w=float(w))


def _pose(position_m: Array, quaternion: Array) -> Any:
    p = ned_to_enu(position_m)
    point = _new("geometry_msgs/msg/Point", x=float(p[0]), y=float(p[1]), z=float(p[2]))
    return _new("geometry_msgs/msg/Pose", position=point, orientation=_rotation(quaternion))


def _trajectory_point(after_s: float, place: Array, speed: Array) -> Any:
    nowhere = _new("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=0.0)
    sec, nanosec = divmod(nanoseconds(float(after_s)), 1_000_000_000)
    return _new(
        "trajectory_msgs/msg/MultiDOFJointTrajectoryPoint",
        transforms=[_new("geometry_msgs/msg/Transform", translation=_vector(place), rotation=nowhere)],
        velocities=[_new("geometry_msgs/msg/Twist", linear=_vector(speed), angular=_vector(np.zeros(3)))],
        accelerations=[],
        time_from_start=_new("builtin_interfaces/msg/Duration", sec=sec, nanosec=nanosec),
    )


def _transform(t_s: float, vehicle: str, state: Array) -> Any:
    move = _new("geometry_msgs/msg/Transform", translation=_vector(ned_to_enu(state[POSITION])),
                rotation=_rotation(state[ATTITUDE]))  # fmt: skip
    return _new("geometry_msgs/msg/TransformStamped", header=header(t_s), child_frame_id=f"{vehicle}/base_link",
                transform=move)  # fmt: skip
