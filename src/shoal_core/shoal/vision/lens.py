"""A camera's image: pinhole and distortion as OpenCV and sensor_msgs/CameraInfo (plumb_bob) have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError

Array = NDArray[np.float64]
COEFFICIENTS = (0, 4, 5, 8)  # how many a distortion may have


@dataclass(frozen=True)
class Lens:
    """Pixels."""

    width: int
    height: int
    matrix: Array  # (3,3)
    distortion: Array  # k1, k2, p1, p2, k3

    @staticmethod
    def of(width: int, height: int, matrix: Array, distortion: Array, topic: str = "camera") -> Lens:
        """A ShoalError where it is not calibrated."""
        k = np.asarray(matrix, dtype=float).reshape(3, 3)
        if not np.isfinite(k).all() or k[0, 0] <= 0 or k[1, 1] <= 0 or k[2, 2] != 1:
            raise ShoalError(f"{topic}: K = {k.tolist()}; expected the matrix of a calibrated camera")
        if len(distortion) not in COEFFICIENTS or not np.isfinite(distortion).all():
            raise ShoalError(f"{topic}: D = {list(distortion)}; expected 0, 4, 5 or 8 finite numbers (plumb_bob)")
        return Lens(width, height, k, np.asarray(distortion, dtype=float))

    def same(self, other: Lens) -> bool:
        """Whether a calibration says nothing new."""
        size = (self.width, self.height) == (other.width, other.height)
        return size and np.array_equal(self.matrix, other.matrix) and np.array_equal(self.distortion, other.distortion)


# 80° across, behind a flat port that leaves some barrel distortion: an assumption, not a product.
LENS = Lens(
    1280, 720, np.array([[763.0, 0, 642.0], [0, 761.0, 356.0], [0, 0, 1]]), np.array([-0.21, 0.06, 0.001, -0.0007, 0.0])
)


def optical_axes(axis: Array) -> Array:
    """(3,3) camera (x right, y down, z ahead) to body FRD, of a camera that looks along `axis` and is not rolled."""
    ahead = axis / np.linalg.norm(axis)
    reference = np.array([0.0, 0.0, 1.0]) if abs(ahead[2]) < 0.99 else np.array([-1.0, 0.0, 0.0])
    down = reference - (reference @ ahead) * ahead
    down /= np.linalg.norm(down)
    return np.column_stack([np.cross(down, ahead), down, ahead])


def tag_axes(normal: Array) -> Array:
    """(3,3) tag (x right and y up as it is read, z towards the reader) to the carrier's body FRD."""
    out = normal / np.linalg.norm(normal)
    reference = np.array([0.0, 0.0, -1.0]) if abs(out[2]) < 0.99 else np.array([1.0, 0.0, 0.0])
    up = reference - (reference @ out) * out
    up /= np.linalg.norm(up)
    return np.column_stack([np.cross(up, out), up, out])
