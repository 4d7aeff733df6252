"""What a vehicle publishes to the others: where it intends to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.messages.docking import DockingWord
from shoal.messages.echo import NO_ECHOES, Echo
from shoal.messages.trajectory import Trajectory, along, is_valid

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A predicted trajectory in NED with absolute times: of the sender's clock, until the receiver translates them."""

    vehicle: str
    sequence: int
    stamp_s: float  # when it was made
    times_s: Array  # (K,) absolute, increasing
    positions_m: Array  # (K,3) NED
    velocities_mps: Array  # (K,3) NED
    committed: bool = True
    heard: Mapping[str, Echo] = field(default_factory=lambda: NO_ECHOES)  # answers to the others' plans, by name
    headings_rad: Array | None = None  # (K,) without jumps of 2π; None: not sent
    docking: DockingWord | None = None  # to the one we dock with
    margin_m: float = 0.0  # the receiver's own: how far off it may be beyond what its age explains; never sent

    @staticmethod
    def along(
        vehicle: str,
        sequence: int,
        stamp_s: float,
        times_s: Array,
        positions_m: Array,
        headings_rad: Array | None = None,
    ) -> Plan:
        """From point to point, more than one of them; on with the last velocity."""
        velocities, trajectory = along(times_s, positions_m)
        plan = Plan(vehicle, sequence, stamp_s, times_s, positions_m, velocities, headings_rad=headings_rad)
        plan.__dict__["trajectory"] = trajectory  # which the property need not make again
        return plan

    @cached_property
    def is_valid(self) -> bool:
        """Whether it can be computed with: finite numbers, times in order. Looked at once, however many receive it."""
        return is_valid(self.times_s, self.positions_m, self.velocities_mps)

    @property
    def payload_bits(self) -> int:
        """Of its points as 32-bit numbers: a place each, and a heading if there is one. The grid of times is agreed."""
        points = 32 * len(self.times_s) * (3 if self.headings_rad is None else 4)
        return points + (0 if self.docking is None else self.docking.payload_bits)

    def shifted(self, by_s: float, by_m: Array | None = None, margin_m: float = 0.0) -> Plan:
        """The same in another clock, or seen from another navigation; `by_m` (3,)."""
        positions_m = self.positions_m if by_m is None else self.positions_m + by_m
        times_s, stamp_s = self.times_s + by_s, self.stamp_s + by_s
        return replace(self, stamp_s=stamp_s, times_s=times_s, positions_m=positions_m, margin_m=margin_m)

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
