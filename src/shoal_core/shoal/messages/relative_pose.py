"""What a camera makes of a fiducial on another vehicle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FiducialPose:
    """Of one exposure, in the observer's body frame (FRD): the camera's mounting is taken out already."""

    stamp_s: float  # of the exposure
    marker_m: Array  # (3,) the fiducial's place
    attitude: Array  # (4,) the other vehicle's body to the observer's body; the fiducial's mounting is taken out
    covariance: Array  # (6,6) place, then small angles in the other's body frame
