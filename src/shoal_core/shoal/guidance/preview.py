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
        """Resampled at `times_s`: cubic Hermite inside (position and velocity agree), constant velocity outside."""
        t, own = np.asarray(times_s, dtype=float), self.times_s
        if len(own) == 1:
            ahead = (t - own[0])[:, None]
            velocity = np.repeat(self.velocities_mps, len(t), axis=0)
            heading = None if self.headings_rad is None else np.full(len(t), self.headings_rad[0])
            return Preview(t, self.positions_m + ahead * velocity, velocity, heading)
        k = np.minimum(np.maximum(own.searchsorted(t, side="right") - 1, 0), len(own) - 2)
        start = own[k]
        step = own[k + 1] - start
        inside = np.minimum(np.maximum(t, own[0]), own[-1])
        s = (inside - start) / step
        s2 = s * s
        bend = s2 * (s - 1.0)  # s³ − s²
        p0, v0, v1 = self.positions_m[k], self.velocities_mps[k], self.velocities_mps[k + 1]
        way = self.positions_m[k + 1] - p0
        position = p0 + (s2 - 2 * bend)[:, None] * way
        position += (step * (bend - s2 + s))[:, None] * v0 + (step * bend)[:, None] * v1
        velocity = (6.0 * (s - s2) / step)[:, None] * way
        velocity += (3 * s2 - 4 * s + 1)[:, None] * v0 + (3 * s2 - 2 * s)[:, None] * v1
        if t[0] < own[0] or t[-1] > own[-1]:
            position += (t - inside)[:, None] * velocity
        heading = None if self.headings_rad is None else np.interp(t, own, self.headings_rad)
        return Preview(t, position, velocity, heading)
