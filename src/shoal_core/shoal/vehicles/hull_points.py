"""Points between which distances are kept: of a compact vehicle its centre, of a long or joined one several."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
COMPACT_M = 1.0  # up to this length the centre stands for the whole hull: limits of distance allow for its size


def hull_points_m(vehicle: Vehicle) -> Array:
    """(P,3) FRD from CO: each module's centre; of a long hull, points along it that are at most its width apart."""
    if vehicle.hulls:
        return np.array([hull.position_m for hull in vehicle.hulls])
    size_m = np.array(vehicle.size_m)
    along = int(np.argmax(size_m))
    length_m, width_m = float(size_m[along]), float(np.median(size_m))
    if length_m <= COMPACT_M:
        return np.zeros((1, 3))
    half_m = 0.5 * (length_m - width_m)  # the ends are as round as the hull is wide
    count = max(1, 1 + int(np.ceil(2 * half_m / width_m)))
    return np.linspace(-half_m, half_m, count)[:, None] * np.eye(3)[along]
