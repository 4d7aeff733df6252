"""Odometry, trajectories and poses, read from and written to DDS's own bytes (CDR) with numpy.

rclpy turns a trajectory of forty points into four hundred Python objects, which takes longer than solving the
optimisation. A raw subscription hands over the bytes instead, and a publisher takes them. What does not look exactly as
our own nodes write it (one transform and one velocity a point, little endian) gives None: it needs the type store.
Poses are written only. Everything else goes through `recordings.typestore`, which takes a tenth of a second to load:
nothing that a control loop may wait for.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HEADER = b"\x00\x01\x00\x00"  # plain CDR, little endian
START = len(HEADER)  # alignment counts from behind it

# A point of a trajectory that begins 4 bytes off an 8-byte boundary, as all but the first can; 128 bytes each.
POINT = np.dtype(
    {
        "names": ["transforms", "transform", "velocities", "velocity", "accelerations", "sec", "nanosec"],
        "formats": ["<u4", ("<f8", 7), "<u4", ("<f8", 6), "<u4", "<i4", "<u4"],
        "offsets": [0, 4, 60, 68, 116, 120, 124],
        "itemsize": 128,
    }
)


WORLD = "map"
_FRAME = WORLD.encode() + b"\0"
_HEADER_SIZE = 16  # std_msgs/Header in that frame
_STAMPED_POSE = np.dtype(  # geometry_msgs/PoseStamped in that frame
    {
        "names": ["sec", "nanosec", "length", "frame", "pose"],
        "formats": ["<i4", "<u4", "<u4", f"S{len(_FRAME)}", ("<f8", 7)],
        "offsets": [0, 4, 8, 12, _HEADER_SIZE],
        "itemsize": 72,
    }
)
_POSE, _TWIST = slice(0, 7), slice(43, 49)  # of an Odometry's numbers; behind each are 36 of covariance
_NUMBERS = 7 + 36 + 6 + 36


@dataclass(frozen=True)
class OdometryMessage:
    """nav_msgs/Odometry without covariances. As on the wire: ENU, FLU, quaternions scalar last."""

    sec: int
    nanosec: int
    frame: str
    child_frame: str
    numbers: Array  # (13,) position, rotation, linear, angular velocity


@dataclass(frozen=True)
class Trajectory:
    """trajectory_msgs/MultiDOFJointTrajectory with one joint. As on the wire: ENU, quaternions scalar last."""

    sec: int
    nanosec: int
    names: tuple[str, ...]
    after_s: Array  # (K,) time_from_start
    transforms: Array  # (K,7) translation, rotation
    velocities: Array  # (K,3) linear

    @property
    def stamp_s(self) -> float:
        return self.sec + self.nanosec * 1e-9


class _Reader:
    """Walks through the bytes that are not all alike."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, START

    def unsigned(self) -> int:
        self.align(4)
        (value,) = struct.unpack_from("<I", self.data, self.at)
        self.at += 4
        return int(value)

    def stamp(self) -> tuple[int, int]:
        sec, nanosec = struct.unpack_from("<iI", self.data, self.at)
        self.at += 8
        return sec, nanosec

    def string(self) -> str:
        length = self.unsigned()
        text = self.data[self.at : self.at + length - 1]  # without the closing zero
        self.at += length
        return text.decode()

    def align(self, size: int) -> None:
        self.at = START + -(-(self.at - START) // size) * size


def read_trajectory(data: bytes) -> Trajectory | None:
    """None: not as expected, or cut short."""
    if data[:START] != HEADER:
        return None
    try:
        reader = _Reader(data)
        (sec, nanosec), _ = reader.stamp(), reader.string()
        names = tuple(reader.string() for _ in range(reader.unsigned()))
        count = reader.unsigned()
        return _read_points(data, reader.at, count, sec, nanosec, names)
    except (struct.error, UnicodeDecodeError, ValueError):
        return None


def _read_points(data: bytes, at: int, count: int, sec: int, nanosec: int, names: tuple[str, ...]) -> Trajectory | None:
    if count == 0:
        return None
    if (at - START) % 8 == 0:  # the first point has four bytes of padding behind its first number
        data = data[:at] + data[at + 4 : at + 8] + data[at : at + 4] + data[at + 8 :]
        at += 4
    points = np.frombuffer(data, POINT, count, at)
    plain = (points["transforms"] == 1) & (points["velocities"] == 1) & (points["accelerations"] == 0)
    if not plain.all():
        return None
    after_s = points["sec"] + points["nanosec"] * 1e-9
    return Trajectory(sec, nanosec, names, after_s, points["transform"], points["velocity"][:, :3])


def write_trajectory(trajectory: Trajectory, frame: str) -> bytes:
    """The message, ready to publish."""
    head = bytearray(HEADER + struct.pack("<iI", trajectory.sec, trajectory.nanosec))
    _put_string(head, frame)
    _put_unsigned(head, len(trajectory.names))
    for name in trajectory.names:
        _put_string(head, name)
    _put_unsigned(head, len(trajectory.after_s))
    points = np.zeros(len(trajectory.after_s), POINT)
    points["transforms"] = points["velocities"] = 1
    points["transform"], points["velocity"][:, :3] = trajectory.transforms, trajectory.velocities
    nanoseconds = np.rint(trajectory.after_s * 1e9).astype(np.int64)
    points["sec"], points["nanosec"] = nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000
    body = points.tobytes()
    if (len(head) - START) % 8 == 0 and body:
        body = body[:4] + b"\0\0\0\0" + body[4:]
    return bytes(head) + body


def read_odometry(data: bytes) -> OdometryMessage | None:
    """None: not as expected, or cut short."""
    if data[:START] != HEADER:
        return None
    try:
        reader = _Reader(data)
        sec, nanosec = reader.stamp()
        frame, child = reader.string(), reader.string()
        reader.align(8)
        numbers = np.frombuffer(data, "<f8", _NUMBERS, reader.at)
    except (struct.error, UnicodeDecodeError, ValueError):
        return None
    return OdometryMessage(sec, nanosec, frame, child, np.concatenate([numbers[_POSE], numbers[_TWIST]]))


def write_odometry(odometry: OdometryMessage) -> bytes:
    """The message, ready to publish; covariances are zero."""
    head = bytearray(HEADER + struct.pack("<iI", odometry.sec, odometry.nanosec))
    _put_string(head, odometry.frame)
    _put_string(head, odometry.child_frame)
    head.extend(b"\0" * (-(len(head) - START) % 8))
    numbers = np.zeros(_NUMBERS, "<f8")
    numbers[_POSE], numbers[_TWIST] = odometry.numbers[:7], odometry.numbers[7:]
    return bytes(head) + numbers.tobytes()


def write_pose(stamp_s: float, pose: Array) -> bytes:
    """geometry_msgs/PoseStamped in the world's frame; pose (7,) position, rotation (scalar last)."""
    return HEADER + _stamped(np.array([stamp_s]), pose[None]).tobytes()


def write_path(stamp_s: float, times_s: Array, poses: Array) -> bytes:
    """nav_msgs/Path in the world's frame, of stamped poses (K,7)."""
    head = _stamped(np.array([stamp_s]), np.zeros((1, 7))).tobytes()[:_HEADER_SIZE]
    body = _stamped(times_s, poses).tobytes()
    # The first pose begins 4 bytes off an 8-byte boundary, so that padding precedes its first number.
    padded = body[:_HEADER_SIZE] + b"\0\0\0\0" + body[_HEADER_SIZE:] if body else b""
    return HEADER + head + struct.pack("<I", len(times_s)) + padded


def _stamped(times_s: Array, poses: Array) -> NDArray[np.void]:
    rows = np.zeros(len(times_s), _STAMPED_POSE)
    nanoseconds = np.rint(times_s * 1e9).astype(np.int64)
    rows["sec"], rows["nanosec"] = nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000
    rows["length"], rows["frame"], rows["pose"] = len(_FRAME), _FRAME, poses
    return rows


def _put_unsigned(data: bytearray, value: int) -> None:
    data.extend(b"\0" * (-(len(data) - START) % 4))
    data.extend(struct.pack("<I", value))


def _put_string(data: bytearray, text: str) -> None:
    raw = text.encode() + b"\0"
    _put_unsigned(data, len(raw))
    data.extend(raw)
