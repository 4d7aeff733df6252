"""Where a point will be over the controller's horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Preview:
    """A sampled piece of path in NED with absolute times."""

    times_s: Array  # (K,) increasing
    positions_m: Array  # (K,3)
    velocities_mps: Array  # (K,3)
    headings_rad: Array | None = None  # (K,) wanted heading without jumps of 2π; None: the controller chooses

    def at(self, times_s: Array) -> Preview:
        """Resampled at `times_s`: straight between the samples, constant velocity outside them.

        Straight lines are off by at most a·h²/8: 0.1 mm for samples 0.1 s apart on a path of 0.1 m/s².
        """
        t, own = np.asarray(times_s, dtype=float), self.times_s
        if len(own) == 1:
            ahead = (t - own[0])[:, None]
            velocity = np.repeat(self.velocities_mps, len(t), axis=0)
            heading = None if self.headings_rad is None else np.full(len(t), self.headings_rad[0])
            return Preview(t, self.positions_m + ahead * velocity, velocity, heading)
        k = np.minimum(np.maximum(own.searchsorted(t, side="right") - 1, 0), len(own) - 2)
        start, end = own[k], own[k + 1]
        inside = np.minimum(np.maximum(t, own[0]), own[-1])
        share = ((inside - start) / (end - start))[:, None]
        position = self.positions_m[k] * (1 - share) + self.positions_m[k + 1] * share
        velocity = self.velocities_mps[k] * (1 - share) + self.velocities_mps[k + 1] * share
        if t[0] < own[0] or t[-1] > own[-1]:
            position += (t - inside)[:, None] * velocity
        heading = None if self.headings_rad is None else np.interp(t, own, self.headings_rad)
        return Preview(t, position, velocity, heading)
