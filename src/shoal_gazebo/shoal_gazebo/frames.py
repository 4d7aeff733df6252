"""Tensors, matrices and poses in Gazebo's frames (ENU, FLU), beside the vectors of `shoal.frames`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FRD_TO_FLU: Array = np.diag([1.0, -1.0, -1.0])  # its own inverse
FRD_TO_FLU_6: Array = np.diag([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])  # [linear, angular]: a rotation turns both alike


def flu_inertia(frd: Array) -> Array:
    """A 3×3 tensor."""
    return FRD_TO_FLU @ frd @ FRD_TO_FLU


def flu_matrix(frd: Array) -> Array:
    """A 6×6 matrix that maps [v, ω] to [force, moment]: only the signs of off-diagonal entries change."""
    return FRD_TO_FLU_6 @ frd @ FRD_TO_FLU_6


def enu_yaw_rad(heading_rad: float) -> float:
    """Heading (clockwise from north) to ENU yaw (counter-clockwise from east), within ±π."""
    yaw = np.pi / 2 - heading_rad
    return float(np.arctan2(np.sin(yaw), np.cos(yaw)))


def rpy_along_x(direction: Array) -> tuple[float, float, float]:
    """Roll, pitch, yaw that turn the x axis onto a direction (roll is free: 0)."""
    x, y, z = direction / np.linalg.norm(direction)
    level = np.hypot(x, y)
    yaw = np.arctan2(y, x) if level > 1e-9 else 0.0
    return 0.0, float(np.arctan2(-z, level)), float(yaw)


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll), as SDF means it."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (np.cos, np.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
