"""What a vehicle tells the others: where it intends to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A predicted trajectory in NED with absolute times, so that the receiver needs no clock of the sender's."""

    vehicle: str
    sequence: int
    stamp_s: float  # when it was made
    times_s: Array  # (K,) absolute, increasing
    positions_m: Array  # (K,3) NED
    velocities_mps: Array  # (K,3) NED
    committed: bool = True

    def at(self, times_s: Array) -> tuple[Array, Array]:
        """Positions and velocities (M,3) at `times_s`; beyond the ends the end velocity goes on."""
        own = self.times_s
        if len(own) == 1:
            velocity = np.repeat(self.velocities_mps, len(times_s), axis=0)
            return self.positions_m + (times_s - own[0])[:, None] * velocity, velocity
        k = np.minimum(np.maximum(own.searchsorted(times_s, side="right") - 1, 0), len(own) - 2)
        inside = np.minimum(np.maximum(times_s, own[0]), own[-1])
        share = ((inside - own[k]) / (own[k + 1] - own[k]))[:, None]
        velocity = (1 - share) * self.velocities_mps[k] + share * self.velocities_mps[k + 1]
        position = (1 - share) * self.positions_m[k] + share * self.positions_m[k + 1]
        return position + (times_s - inside)[:, None] * velocity, velocity
