"""Who takes which slot, so that the sum of squared distances to go is least."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

TURNS = 36  # start angles tried; each is then polished to the exact best angle for its assignment


def assign_slots(points_m: Array, slots_m: Array) -> Array:
    """The slots (V,3) in the order of the points (V,3)."""
    cost = np.sum((points_m[:, None] - slots_m[None]) ** 2, axis=2)
    chosen: Array = slots_m[scipy.optimize.linear_sum_assignment(cost)[1]]
    return chosen


def assign_corners(points_m: Array) -> Array:
    """Directions (V,3) to the corners of a regular polygon around the origin, turned and shared out the best way.

    For slots on a circle least travel is most of sum(p · s); with p, s as complex numbers and a fixed assignment the
    best turn is the angle of sum(p · conj(s)), whatever the radius and wherever the middle.
    """
    p: Complex = points_m[:, 0] + 1j * points_m[:, 1]
    count = len(p)
    corners: Complex = np.exp(2j * np.pi * np.arange(count) / count)
    best, best_gain = corners, -1.0
    for turn in np.exp(2j * np.pi * np.arange(TURNS) / (TURNS * count)):  # the polygon repeats after 1/count of a turn
        chosen = corners[scipy.optimize.linear_sum_assignment(-np.real(p[:, None] * np.conj(turn * corners)))[1]]
        total = np.sum(p * np.conj(chosen))
        if abs(total) > best_gain + 1e-9:  # ties keep the first, so that rounding decides nothing
            best, best_gain = chosen * np.exp(1j * np.angle(total)), abs(total)
    return np.stack([best.real, best.imag, np.zeros(count)], axis=1)
