"""How much a measured position scatters, found without knowing where the vehicle is."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WINDOW = 41  # measurements
LEAST = 5  # fewer may be an outlier, which is off twice: there and back
# The difference of two measurements has √2 of the scatter of one, and half of all |normal| lie below 0.6745 sigma.
MEDIAN_TO_SIGMA = 1.0 / (0.6745 * math.sqrt(2.0))


class PositionNoiseMonitor:
    """Fed with the steps of the measured position that the motion does not explain.

    Of these the median counts, per axis: a single jump, as of an acoustic fix, is not scatter, and a lasting offset
    makes one step only.
    """

    def __init__(self, limit_m: float) -> None:
        self._limit_m = limit_m
        self._loud_m = limit_m / MEDIAN_TO_SIGMA
        self.clear()

    def clear(self) -> None:
        """Nothing is known."""
        self._steps: deque[tuple[float, ...]] = deque(maxlen=WINDOW)
        self._loud: deque[bool] = deque(maxlen=WINDOW)
        self._loud_count = 0

    def sigma_m(self, step_m: Array) -> Array | None:
        """One sigma of a measurement (3,) after one more step (3,), zero where below the limit; None: below on all."""
        step = tuple(map(abs, step_m.tolist()))
        self._steps.append(step)
        loud = max(step) > self._loud_m
        self._loud_count += loud - (self._loud[0] if len(self._loud) == WINDOW else 0)
        self._loud.append(loud)
        if 2 * self._loud_count <= len(self._loud) or len(self._loud) < LEAST:  # then no axis' median can be loud
            return None
        sigma = self.scatter_m()
        return np.where(sigma > self._limit_m, sigma, 0.0)

    def scatter_m(self) -> Array:
        """One sigma of a measurement (3,), however small; nought before the first."""
        if not self._steps:
            return np.zeros(3)
        middle = (len(self._steps) - 1) // 2  # the lower one: of two steps, one jump must not decide
        return MEDIAN_TO_SIGMA * np.array([sorted(axis)[middle] for axis in zip(*self._steps, strict=True)])
