"""A path that stays at one point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.guidance.splines import SplinePath, from_derivatives
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


def still_path(point_m: Array, duration_s: float) -> SplinePath:
    """As a path like any other."""

    def derivative(times_s: Array, order: int) -> Array:
        return np.repeat((point_m if order == 0 else np.zeros(3))[None], len(times_s), axis=0)

    return from_derivatives(np.array([0.0, duration_s]), derivative)


def still_preview(point_m: Array, times_s: Array, heading_rad: float | None = None) -> Preview:
    """Its preview."""
    headings = None if heading_rad is None else np.full(len(times_s), heading_rad)
    return Preview(times_s, np.repeat(point_m[None], len(times_s), axis=0), np.zeros((len(times_s), 3)), headings)
