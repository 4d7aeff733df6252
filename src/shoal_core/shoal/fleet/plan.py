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
        inside = np.clip(times_s, self.times_s[0], self.times_s[-1])
        beyond = (np.asarray(times_s) - inside)[:, None]
        position = np.stack([np.interp(inside, self.times_s, self.positions_m[:, i]) for i in range(3)], axis=1)
        velocity = np.stack([np.interp(inside, self.times_s, self.velocities_mps[:, i]) for i in range(3)], axis=1)
        return position + beyond * velocity, velocity
