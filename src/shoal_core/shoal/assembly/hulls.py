"""Whether two hulls, taken as boxes around their body frames, lie in each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.joints import Pose
from shoal.frames import matrix

Array = NDArray[np.float64]


def overlap_m(a: Pose, size_a_m: tuple[float, float, float], b: Pose, size_b_m: tuple[float, float, float]) -> float:
    """How deep two boxes lie in each other; negative: at least so far apart (separating-axis theorem)."""
    r_a, r_b = matrix(a.attitude), matrix(b.attitude)
    edges = np.array([np.cross(x, y) for x in r_a.T for y in r_b.T])
    lengths = np.linalg.norm(edges, axis=1)
    axes = np.vstack([r_a.T, r_b.T, edges[lengths > 1e-9] / lengths[lengths > 1e-9, None]])
    reach = np.abs(axes @ r_a) @ (np.array(size_a_m) / 2) + np.abs(axes @ r_b) @ (np.array(size_b_m) / 2)
    return float(np.min(reach - np.abs(axes @ (b.position_m - a.position_m))))
