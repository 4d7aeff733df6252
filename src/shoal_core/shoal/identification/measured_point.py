"""Predicted against measured motion, where the odometry is of some point of the hull and not of its origin.

A tracker, a camera or a log's own convention may sit 0.1 m ahead of the centre: at 1 rad/s of yaw that is 0.1 m/s of
sway which no force has made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.identification.free_run import body_turns
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY

Array = NDArray[np.float64]
POINT = ("odometry's point ahead", "odometry's point to starboard", "odometry's point below")


def seen_from(states: Array, point_m: Array) -> Array:
    """States (…,13) of the origin as those of a point (3,) of the body: p + R o, v + ω × o."""
    found = states.copy()
    found[..., POSITION] += _rotated(states[..., ATTITUDE], point_m)
    found[..., VELOCITY] += np.cross(states[..., RATE], point_m)
    return found


def compare(states: Array, measured: Array, point_m: Array) -> tuple[Array, Array, Array]:
    """Residual (…,12) of predicted, seen from the point, against measured states (…,13); its derivatives by the
    predicted states (…,12,13) and by the point (…,12,3)."""
    residual, slope = np.zeros((*states.shape[:-1], 12)), np.zeros((*states.shape[:-1], 12, 13))
    by_point = np.zeros((*states.shape[:-1], 12, 3))
    gap = seen_from(states, point_m) - measured
    residual[..., 0:3], residual[..., 6:12] = gap[..., 0:3], gap[..., 7:13]
    slope[..., 0:3, 0:3], slope[..., 6:12, 7:13] = np.eye(3), np.eye(6)
    # Small turn from the measured to the predicted attitude, seen in the measured frame: 2 (q_m* ⊗ q_p)_vec.
    q_m, q_p = measured[..., ATTITUDE], states[..., ATTITUDE]
    same = np.sign(np.sum(q_m * q_p, axis=-1))[..., None]
    slope[..., 3:6, 3:7] = turns = 2 * np.swapaxes(body_turns(same * q_m), -1, -2)  # (…,3,4)
    residual[..., 3:6] = np.einsum("...ij,...j->...i", turns, q_p)
    slope[..., 6:9, 10:13] = -_cross(point_m)
    w, v = q_p[..., :1], q_p[..., 1:]
    across = np.cross(v, point_m)  # R o = o + 2 w v×o + 2 v×(v×o)
    slope[..., 0:3, 3] = 2 * across
    slope[..., 0:3, 4:7] = -2 * (w[..., None] * _cross(point_m) + _cross(across) + _cross(v) @ _cross(point_m))
    for i, axis in enumerate(np.eye(3)):
        by_point[..., 0:3, i] = _rotated(q_p, axis)
        by_point[..., 6:9, i] = np.cross(states[..., RATE], axis)
    return residual, slope, by_point


def _rotated(q: Array, v: Array) -> Array:
    """R(q) v for q (…,4), v (3,)."""
    across = np.cross(q[..., 1:], v)
    return np.asarray(v + 2 * (q[..., :1] * across + np.cross(q[..., 1:], across)))


def _cross(v: Array) -> Array:
    """(…,3,3): the matrix of v ×."""
    x, y, z = np.moveaxis(v, -1, 0)
    none = np.zeros_like(x)
    return np.stack([np.stack(r, axis=-1) for r in ([none, -z, y], [z, none, -x], [-y, x, none])], axis=-2)
