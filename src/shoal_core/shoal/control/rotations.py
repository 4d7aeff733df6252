"""Quaternion helpers in plain numpy: [eta e1 e2 e3], body to NED, many at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def from_yaw(yaw_rad: Array) -> Array:
    """Level attitudes (K,4) with the given headings."""
    q = np.zeros((len(yaw_rad), 4))
    q[:, 0], q[:, 3] = np.cos(yaw_rad / 2), np.sin(yaw_rad / 2)
    return q


def yaw_of(q: Array) -> float:
    """Heading of the bow."""
    return float(np.arctan2(2 * (q[0] * q[3] + q[1] * q[2]), 1 - 2 * (q[2] ** 2 + q[3] ** 2)))


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
    """R(q), body to NED."""
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
