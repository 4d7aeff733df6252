"""Between the core's frames (world NED, body FRD) and those on ROS topics (world ENU, body FLU: REP-103).

Each conversion is its own inverse, so one function serves both directions; the names say which way a caller means.
Quaternions are [eta e1 e2 e3] (scalar first), body to world; ROS messages want the scalar last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_HALF_SQRT = float(np.sqrt(0.5))


def ned_to_enu(vector: Array) -> Array:
    """World vector (..., 3): east = NED y, north = NED x, up = -down."""
    v = np.asarray(vector, dtype=float)
    return np.stack([v[..., 1], v[..., 0], -v[..., 2]], axis=-1)


def frd_to_flu(vector: Array) -> Array:
    """Body vector (..., 3): forward stays, left = -starboard, up = -down."""
    return np.asarray(vector * np.array([1.0, -1.0, -1.0]), dtype=float)


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
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
