"""A fiducial's pose ↔ the numbers of a geometry_msgs/PoseWithCovarianceStamped in the observer's `base_link` (FLU).

Two things differ beside the axes: ROS puts the quaternion's scalar last, and its covariance is of small turns about the
axes of the *header's* frame (the observer's), where the core's are about those of the vehicle that is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import flu_to_frd, frd_to_flu, matrix, scalar_first, scalar_last
from shoal.messages.relative_pose import FiducialPose

Array = NDArray[np.float64]

_FLIP = np.diag([1.0, -1.0, -1.0])  # FRD ↔ FLU
_FLIP_TURN = np.array([1.0, 1.0, -1.0, -1.0])  # of a quaternion, scalar first, between two such bodies
UNIT_WITHIN = 1e-3


def to_ros(sighting: FiducialPose) -> tuple[Array, Array, Array]:
    """Place (3,), quaternion x y z w (4,), covariance (36,), row by row."""
    turn = _turn(matrix(sighting.attitude))
    covariance = turn @ sighting.covariance @ turn.T
    return frd_to_flu(sighting.marker_m), scalar_last(sighting.attitude * _FLIP_TURN), covariance.ravel()


def from_ros(stamp_s: float, place: Array, quaternion: Array, covariance: Sequence[float], topic: str) -> FiducialPose:
    """A ShoalError that names `topic` for numbers that no detector may send."""
    found = np.asarray(covariance, dtype=float).reshape(6, 6)
    for key, numbers in (("position", place), ("orientation", quaternion), ("covariance", found)):
        if not np.isfinite(numbers).all():
            raise ShoalError(f"{topic}: {key} = {np.ravel(numbers).tolist()}; expected finite numbers")
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > UNIT_WITHIN:
        raise ShoalError(f"{topic}: orientation = {quaternion.tolist()} has length {length:.4g}, expected 1")
    found = (found + found.T) / 2
    least = float(np.linalg.eigvalsh(found)[0])
    if least <= 0.0:  # all zero is ROS's "unknown", and unknown cannot be weighed against odometry
        raise ShoalError(f"{topic}: covariance has the eigenvalue {least:.3g}; expected positive ones, in m² and rad²")
    attitude = scalar_first(quaternion) * _FLIP_TURN / length
    turn = _turn(matrix(attitude))
    return FiducialPose(stamp_s, flu_to_frd(place), attitude, turn.T @ found @ turn)


def _turn(relative: Array) -> Array:
    """(6,6), orthogonal: place in FRD and turns about the seen body's axes → ROS's. `relative` (3,3): seen to own."""
    result = np.zeros((6, 6))
    result[:3, :3], result[3:, 3:] = _FLIP, _FLIP @ relative
    return result
