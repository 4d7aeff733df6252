"""What a vehicle publishes to the others: where it intends to be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.messages.trajectory import Trajectory, along, is_valid

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

    @staticmethod
    def along(vehicle: str, sequence: int, stamp_s: float, times_s: Array, positions_m: Array) -> Plan:
        """From point to point, more than one of them; on with the last velocity."""
        velocities, trajectory = along(times_s, positions_m)
        plan = Plan(vehicle, sequence, stamp_s, times_s, positions_m, velocities)
        plan.__dict__["trajectory"] = trajectory  # which the property need not make again
        return plan

    @cached_property
    def is_valid(self) -> bool:
        """Whether it can be computed with: finite numbers, times in order. Looked at once, however many receive it."""
        return is_valid(self.times_s, self.positions_m, self.velocities_mps)

    @property
    def end_s(self) -> float:
        """The last of its times."""
        return self.trajectory.end_s

    def at(self, times_s: Array) -> Array:
        """Positions (M,3) at `times_s`: straight between the points, beyond them the end velocities go on."""
        return self.trajectory.at(times_s)

    @cached_property
    def trajectory(self) -> Trajectory:
        """Of the positions, so that many plans can be read at once."""
        return Trajectory(self.times_s, self.positions_m, self.velocities_mps[0], self.velocities_mps[-1])
