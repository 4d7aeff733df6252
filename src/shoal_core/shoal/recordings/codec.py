"""Core types ↔ the bytes of ROS messages (CDR), without ROS: the one place where NED/FRD meets ENU/FLU.

The simulator's recordings and the nodes use the same functions. Odometry, plans and previews take the quick way of
`recordings.cdr`, and the type store's where that does not apply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from shoal.messages.docking import DockingWord
from shoal.messages.echo import NO_ECHOES, Echo
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, RATE, SIZE, VELOCITY
from shoal.messages.track import NO_TRACKS, SurfaceTrack
from shoal.recordings import cdr, typestore

Array = NDArray[np.float64]
WORLD = cdr.WORLD
ECHO = re.compile(r"heard=([^:]+):(-?\d{1,20}):(-?\d{1,20})")
NUMBER = r"(-?\d{1,12}\.\d{6})"
TRACK = re.compile(rf"track=([^:]+):{NUMBER}:{NUMBER}:{NUMBER}:{NUMBER}:{NUMBER}")
WORD = re.compile(rf"docking=(\d{{1,18}}):(\d{{1,9}}):{NUMBER}(?::{NUMBER}:{NUMBER}:{NUMBER}:{NUMBER})?")
FLEET = "fleet"  # joint name of the common setpoint
ODOMETRY, TRAJECTORY = "nav_msgs/msg/Odometry", "trajectory_msgs/msg/MultiDOFJointTrajectory"

# Both directions are linear, so one matrix product does each; the matrices are made by `shoal.frames`.
_ROTATION_OUT = scalar_last(quaternion_ned_to_enu(np.eye(4)))  # q_message = q_core @ …
_ROTATION_IN = quaternion_enu_to_ned(scalar_first(np.eye(4)))  # q_core = q_message @ …


def body_frame(vehicle: str) -> str:
    """REP-105's base_link, one per vehicle."""
    return f"{vehicle}/base_link"


# -- time ---------------------------------------------------------------------------------------------------------


def nanoseconds(t_s: float) -> int:
    """Seconds as an integer stamp."""
    return round(t_s * 1e9)


def split(t_s: float) -> tuple[int, int]:
    """`sec` and `nanosec` of a builtin_interfaces/Time."""
    sec, nanosec = divmod(round(t_s * 1e9), 1_000_000_000)
    return sec, nanosec


# -- odometry -----------------------------------------------------------------------------------------------------


def odometry_to_bytes(odometry: Odometry, vehicle: str) -> bytes:
    """nav_msgs/Odometry: pose in the world, twist in the vehicle's own frame."""
    state, numbers = odometry.state, np.empty(SIZE)
    numbers[POSITION], numbers[ATTITUDE] = ned_to_enu(state[POSITION]), state[ATTITUDE] @ _ROTATION_OUT
    numbers[VELOCITY], numbers[RATE] = frd_to_flu(state[VELOCITY]), frd_to_flu(state[RATE])
    return cdr.write_odometry(cdr.OdometryMessage(*split(odometry.stamp_s), WORLD, body_frame(vehicle), numbers))


def odometry_from_bytes(data: bytes) -> Odometry:
    """As it is: whether the numbers may be believed is the gate's business."""
    return odometry_in_core(read_odometry(data))


def read_odometry(data: bytes) -> cdr.OdometryMessage:
    """With its frames; ShoalError when it is no odometry."""
    quick = cdr.read_odometry(data)
    if quick is not None:
        return quick
    message = typestore.from_bytes(data, ODOMETRY)
    stamp, pose, twist = message.header.stamp, message.pose.pose, message.twist.twist
    p, q, v, w = pose.position, pose.orientation, twist.linear, twist.angular
    numbers = np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z, w.x, w.y, w.z])
    return cdr.OdometryMessage(stamp.sec, stamp.nanosec, message.header.frame_id, message.child_frame_id, numbers)


def odometry_in_core(message: cdr.OdometryMessage) -> Odometry:
    """In NED and FRD."""
    numbers, state = message.numbers, np.empty(SIZE)
    state[POSITION], state[ATTITUDE] = enu_to_ned(numbers[POSITION]), numbers[ATTITUDE] @ _ROTATION_IN
    state[VELOCITY], state[RATE] = flu_to_frd(numbers[VELOCITY]), flu_to_frd(numbers[RATE])
    return Odometry(message.sec + message.nanosec * 1e-9, state)


# -- poses --------------------------------------------------------------------------------------------------------


def pose_to_bytes(t_s: float, position_m: Array, yaw_rad: float = 0.0) -> bytes:
    """geometry_msgs/PoseStamped: a level pose at a NED point."""
    return cdr.write_pose(t_s, np.concatenate([ned_to_enu(position_m), from_yaw(yaw_rad) @ _ROTATION_OUT]))


def path_to_bytes(t_s: float, times_s: Array, positions_m: Array) -> bytes:
    """nav_msgs/Path of NED points (K,3), each with its own stamp, heading north."""
    poses = np.empty((len(times_s), 7))
    poses[:, :3], poses[:, 3:] = ned_to_enu(positions_m), from_yaw(0.0) @ _ROTATION_OUT
    return cdr.write_path(t_s, times_s, poses)


# -- plans and previews -------------------------------------------------------------------------------------------


def plan_to_bytes(plan: Plan) -> bytes:
    """joint_names carries what the message has no field for: vehicle, sequence, committed, echoes, docking."""
    names = (plan.vehicle, f"seq={plan.sequence}", f"committed={int(plan.committed)}", *_echoes_out(plan.heard),
             *_word_out(plan.docking))  # fmt: skip
    return _to_bytes(names, plan.stamp_s, plan.times_s, plan.positions_m, plan.velocities_mps, plan.headings_rad)


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
    committed, heard = fields.get("committed") != "0", _echoes_in(names)
    headings = _headings(trajectory)
    word = _word_in(names)
    return Plan(names[0], int(fields["seq"]), stamp_s, times, positions, velocities, committed, heard, headings, word)


def _word_out(word: DockingWord | None) -> list[str]:
    """docking=counter:turn:view, and what is seen less what was said, if it is seen: east:north:up:yaw."""
    if word is None:
        return []
    numbers = [word.view_pm]
    if word.off_m is not None:
        numbers += [*ned_to_enu(np.array(word.off_m)).tolist(), -word.off_rad]
    return [":".join([f"docking={word.counter}:{word.turn}", *(f"{number:.6f}" for number in numbers)])]


def _word_in(names: tuple[str, ...]) -> DockingWord | None:
    """What is not written so is none: whoever hears no word goes on as ordered."""
    match = next((found for name in names[1:] if (found := WORD.fullmatch(name))), None)
    if match is None:
        return None
    counter, turn, view, *off = match.groups()
    if off[0] is None:
        return DockingWord(int(counter), int(turn), float(view))
    north, east, down = enu_to_ned(np.array([float(number) for number in off[:3]])).tolist()
    return DockingWord(int(counter), int(turn), float(view), (north, east, down), -float(off[3]))


def _echoes_out(heard: Mapping[str, Echo]) -> list[str]:
    """heard=vehicle:stamp:held, both in nanoseconds."""
    return [f"heard={who}:{nanoseconds(e.stamp_s)}:{nanoseconds(e.held_s)}" for who, e in heard.items()]


def _echoes_in(names: tuple[str, ...]) -> Mapping[str, Echo]:
    """What is not written so is not an echo."""
    found = {}
    for name in names[1:]:
        if match := ECHO.fullmatch(name):
            found[match[1]] = Echo(int(match[2]) * 1e-9, int(match[3]) * 1e-9)
    return found or NO_ECHOES


def preview_to_bytes(preview: Preview, stamp_s: float, name: str = FLEET) -> bytes:
    """Without headings the rotations are all zero, which is no rotation at all: 'not given'."""
    headings = preview.headings_rad
    names = (name, *_echoes_out(preview.heard), *_tracks_out(preview.tracks))
    return _to_bytes(names, stamp_s, preview.times_s, preview.positions_m, preview.velocities_mps, headings)


def preview_from_bytes(data: bytes) -> Preview:
    """ShoalError when there are no points, or their times do not increase."""
    trajectory = _from_bytes(data)
    if not len(trajectory.after_s):
        raise ShoalError("reference: no points; expected at least one")
    _, times, positions, velocities = _in_core(trajectory)
    if not (times[1:] > times[:-1]).all():
        raise ShoalError("reference: time_from_start does not rise; expected increasing times")
    heard, tracks = _echoes_in(trajectory.names), _tracks_in(trajectory.names)
    return Preview(times, positions, velocities, _headings(trajectory), heard, tracks)


def _tracks_out(tracks: Mapping[str, SurfaceTrack]) -> list[str]:
    """track=vehicle:east:north:yaw:velocity east:north; in metres and radians, yaw from east to north."""
    found = []
    for who, t in tracks.items():
        numbers = t.y_m, t.x_m, np.pi / 2 - t.heading_rad, t.vy_mps, t.vx_mps
        found.append(":".join([f"track={who}", *(f"{number:.6f}" for number in numbers)]))
    return found


def _tracks_in(names: tuple[str, ...]) -> Mapping[str, SurfaceTrack]:
    """ShoalError for a track that cannot be read: whoever it is for must not fall back to the formation."""
    found = {}
    for name in names[1:]:
        if not name.startswith("track="):
            continue
        match = TRACK.fullmatch(name)
        if match is None:
            raise ShoalError(f"reference: '{name[:80]}'; expected track=vehicle:east:north:yaw:velocity east:north")
        east, north, yaw, velocity_east, velocity_north = (float(number) for number in match.groups()[1:])
        found[match[1]] = SurfaceTrack(north, east, np.pi / 2 - yaw, velocity_north, velocity_east)
    return found or NO_TRACKS


def _headings(trajectory: cdr.Trajectory) -> Array | None:
    """(K,) without jumps of 2π; None: not given."""
    rotations = trajectory.transforms[:, 3:]
    if not rotations.any(axis=1).all():
        return None
    headings = yaws_of(rotations @ _ROTATION_IN)
    if (abs(headings[1:] - headings[:-1]) > np.pi).any():  # unwrapping costs as much as all the rest
        headings = np.unwrap(headings)
    return headings


def _to_bytes(
    names: tuple[str, ...], stamp_s: float, times_s: Array, positions_m: Array, velocities_mps: Array, yaw: Array | None
) -> bytes:
    transforms = np.zeros((len(times_s), 7))
    transforms[:, :3] = ned_to_enu(positions_m)
    if yaw is not None:
        transforms[:, 3:] = from_yaw(yaw) @ _ROTATION_OUT
    after_s, velocities = times_s - stamp_s, ned_to_enu(velocities_mps)
    return cdr.write_trajectory(cdr.Trajectory(*split(stamp_s), names, after_s, transforms, velocities), WORLD)


def _from_bytes(data: bytes) -> cdr.Trajectory:
    """The quick way for what our nodes write, the type store's for the rest."""
    quick = cdr.read_trajectory(data)
    if quick is not None:
        return quick
    message = typestore.from_bytes(data, TRAJECTORY)
    table = np.array([_row(point) for point in message.points]).reshape(-1, 11)
    stamp, names = message.header.stamp, tuple(message.joint_names)
    return cdr.Trajectory(stamp.sec, stamp.nanosec, names, table[:, 0], table[:, 1:8], table[:, 8:11])


def _row(point: Any) -> tuple[float, ...]:
    """Time, translation, rotation, velocity."""
    if not len(point.transforms) or not len(point.velocities):
        raise ShoalError("trajectory: a point without transform or velocity; expected one of each")
    t, p, q = point.time_from_start, point.transforms[0].translation, point.transforms[0].rotation
    v = point.velocities[0].linear
    return (t.sec + t.nanosec * 1e-9, p.x, p.y, p.z, q.x, q.y, q.z, q.w, v.x, v.y, v.z)


def _in_core(trajectory: cdr.Trajectory) -> tuple[float, Array, Array, Array]:
    """Stamp, absolute times (K,), positions and velocities (K,3) in NED."""
    stamp_s = trajectory.stamp_s
    positions, velocities = enu_to_ned(trajectory.transforms[:, :3]), enu_to_ned(trajectory.velocities)
    return stamp_s, stamp_s + trajectory.after_s, positions, velocities
