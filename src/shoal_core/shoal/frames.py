"""All rotations, and the way between the core's frames (world NED, body FRD) and ROS's (world ENU, body FLU: REP-103).

Quaternions are [eta e1 e2 e3] (scalar first), body to world; ROS messages want the scalar last. Functions named for
one rotation work on plain floats, which is many times faster than arrays of four; those for many take (…, 4). Each
NED/ENU conversion is its own inverse, so one function serves both directions; the names say which way a caller means.
The symbolic twins are in `vehicles/dynamics.py`; a test holds both against transforms3d.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_HALF_SQRT = float(np.sqrt(0.5))
_EAST_NORTH, _UP = np.array([1, 0, 2]), np.array([1.0, 1.0, -1.0])
_LEFT_UP = np.array([1.0, -1.0, -1.0])


def ned_to_enu(vector: Array) -> Array:
    """World vector (..., 3): east = NED y, north = NED x, up = -down."""
    return np.asarray(vector, dtype=float).take(_EAST_NORTH, axis=-1) * _UP


def frd_to_flu(vector: Array) -> Array:
    """Body vector (..., 3): forward stays, left = -starboard, up = -down."""
    return np.asarray(vector, dtype=float) * _LEFT_UP


def quaternion_ned_to_enu(quaternion: Array) -> Array:
    """Attitude (..., 4) FRD→NED as FLU→ENU.

    q_enu = q(NED→ENU) ⊗ q ⊗ q(FLU→FRD) written out; both factors are half turns, which makes it its own inverse.
    """
    q = np.asarray(quaternion, dtype=float)
    eta, e1, e2, e3 = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    return _HALF_SQRT * np.stack([eta + e3, e1 + e2, e1 - e2, eta - e3], axis=-1)


enu_to_ned = ned_to_enu
flu_to_frd = frd_to_flu
quaternion_enu_to_ned = quaternion_ned_to_enu


def scalar_last(quaternion: Array) -> Array:
    """[eta e1 e2 e3] → [x y z w] as in geometry_msgs/Quaternion."""
    return np.roll(np.asarray(quaternion, dtype=float), -1, axis=-1)


def scalar_first(quaternion: Array) -> Array:
    """[x y z w] → [eta e1 e2 e3]."""
    return np.roll(np.asarray(quaternion, dtype=float), 1, axis=-1)


def rotation_matrix(quaternion: Array) -> Array:
    """R (..., 3, 3) of a quaternion (..., 4), scalar first: v_world = R v_body. The quaternion is normalised first."""
    q = np.asarray(quaternion, dtype=float)
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    found = np.empty((*q.shape[:-1], 3, 3))
    found[..., 0, 0] = 1 - 2 * (y * y + z * z)
    found[..., 0, 1] = 2 * (x * y - w * z)
    found[..., 0, 2] = 2 * (x * z + w * y)
    found[..., 1, 0] = 2 * (x * y + w * z)
    found[..., 1, 1] = 1 - 2 * (x * x + z * z)
    found[..., 1, 2] = 2 * (y * z - w * x)
    found[..., 2, 0] = 2 * (x * z - w * y)
    found[..., 2, 1] = 2 * (y * z + w * x)
    found[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return found


def from_yaw(yaw_rad: Array | float) -> Array:
    """Level attitudes (…, 4) with the given headings (…)."""
    half = np.asarray(yaw_rad, dtype=float) / 2
    q = np.zeros((*half.shape, 4))
    q[..., 0], q[..., 3] = np.cos(half), np.sin(half)
    return q


def from_euler(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Array:
    """Attitude (4,) of roll, pitch and yaw: turned about z, then the new y, then the new x."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a / 2), math.sin(a / 2)) for a in (roll_rad, pitch_rad, yaw_rad))
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


def yaw_of(q: Array) -> float:
    """Heading of the bow, of one attitude (4,)."""
    w, x, y, z = q.tolist()
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def yaws_of(quaternions: Array) -> Array:
    """Headings (…) of many attitudes (…, 4)."""
    w, x, y, z = np.moveaxis(np.asarray(quaternions, dtype=float), -1, 0)
    return np.asarray(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def tilt_rad(q: Array) -> float:
    """Angle between the vehicle's down axis and the world's, of one attitude (4,)."""
    _, x, y, _ = q.tolist()
    return math.acos(max(-1.0, min(1.0, 1 - 2 * (x * x + y * y))))


def skew(v: Array) -> Array:
    """[v]× (3,3): skew(v) @ w = v × w."""
    x, y, z = np.asarray(v, dtype=float).tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def multiply(a: Array, b: Array) -> Array:
    """a ⊗ b."""
    (aw, ax, ay, az), (bw, bx, by, bz) = a.tolist(), b.tolist()  # plain floats: many times faster than arrays of four
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + bw * ax + ay * bz - az * by,
            aw * by + bw * ay + az * bx - ax * bz,
            aw * bz + bw * az + ax * by - ay * bx,
        ]
    )


def matrix(q: Array) -> Array:
    """R(q) (3,3) of one unit quaternion, body to NED."""
    w, x, y, z = q.tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotate(q: Array, v: Array) -> Array:
    """R(q) v for many pairs (K,4), (K,3)."""
    w, x, y, z = q.T
    a, b, c = v.T
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return np.stack([a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx], axis=1)


def turn_towards(start: Array, goals: Array, allowed_rad: Array) -> Array:
    """From one attitude towards each goal (K,4), by at most the allowed angle (K,): slerp cut short."""
    dots = goals @ start
    if dots.min() < 0:
        goals = np.where(dots[:, None] < 0, -goals, goals)
        dots = np.abs(dots)
    half = np.arccos(np.minimum(dots, 1.0))  # half the angle between them
    if (2 * half <= allowed_rad).all():
        return goals
    share = np.minimum(1.0, allowed_rad / np.maximum(2 * half, 1e-9))
    sine = np.sin(half)
    near = sine < 1e-6
    safe = np.where(near, 1.0, sine)
    a = np.where(near, 1 - share, np.sin((1 - share) * half) / safe)
    b = np.where(near, share, np.sin(share * half) / safe)
    q = a[:, None] * start + b[:, None] * goals
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))
