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
    headings_rad: Array | None = None  # (K,) wanted heading, None: the controller chooses

    def at(self, times_s: Array) -> Preview:
        """Resampled at `times_s`: cubic Hermite inside (position and velocity agree), constant velocity outside."""
        t = np.asarray(times_s, dtype=float)
        if len(self.times_s) == 1:
            ahead = (t - self.times_s[0])[:, None]
            velocity = np.repeat(self.velocities_mps, len(t), axis=0)
            heading = None if self.headings_rad is None else np.full(len(t), self.headings_rad[0])
            return Preview(t, self.positions_m + ahead * velocity, velocity, heading)
        k = np.clip(np.searchsorted(self.times_s, t, side="right") - 1, 0, len(self.times_s) - 2)
        step = (self.times_s[k + 1] - self.times_s[k])[:, None]
        inside = np.clip(t, self.times_s[0], self.times_s[-1])
        s = (inside - self.times_s[k])[:, None] / step
        p0, p1 = self.positions_m[k], self.positions_m[k + 1]
        m0, m1 = self.velocities_mps[k] * step, self.velocities_mps[k + 1] * step
        position = (2 * s**3 - 3 * s**2 + 1) * p0 + (s**3 - 2 * s**2 + s) * m0 + (3 * s**2 - 2 * s**3) * p1 + (s**3 - s**2) * m1
        velocity = ((6 * s**2 - 6 * s) * (p0 - p1) + (3 * s**2 - 4 * s + 1) * m0 + (3 * s**2 - 2 * s) * m1) / step
        position = position + (t - inside)[:, None] * velocity
        heading = None if self.headings_rad is None else np.interp(t, self.times_s, np.unwrap(self.headings_rad))
        return Preview(t, position, velocity, heading)
