"""Where a vehicle has been: the last so many metres, in a fixed piece of memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Trail:
    """A point each `step_m`; when it is full, every second of the older half goes, so that old water gets coarser."""

    def __init__(self, step_m: float = 0.1, most: int = 3000) -> None:
        self._step_m = step_m
        self._points = np.empty((most, 3))
        self._count = 0

    def add(self, position_m: Array) -> None:
        """If it is far enough from the last one. A leap (a reset) starts anew."""
        if not np.isfinite(position_m).all():
            return
        if self._count:
            leg_m = float(np.linalg.norm(position_m - self._points[self._count - 1]))
            if leg_m < self._step_m:
                return
            if leg_m > 50 * self._step_m:
                self.clear()
        if self._count == len(self._points):
            half = self._count // 2
            kept = np.concatenate([self._points[:half:2], self._points[half:]])
            self._points[: len(kept)] = kept
            self._count = len(kept)
        self._points[self._count] = position_m
        self._count += 1

    def clear(self) -> None:
        """Forget."""
        self._count = 0

    @property
    def points_m(self) -> Array:
        """(K,3), oldest first."""
        return self._points[: self._count]
