"""How much nearer hulls are to each other than their centres: what has to be kept off further in between.

The optimisation keeps centres apart. Of a long vehicle, or of several that are joined, that is not enough: what its
nearest point is nearer than its centre is added to the distance, by both motions as they are planned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import ControlOutput
from shoal.frames import from_yaw, rotation_matrix
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE

Array = NDArray[np.float64]
CENTRE = np.zeros((1, 3))


@dataclass(frozen=True)
class Hulls:
    """Points (P,3) of our own vehicle and of the others, each in its body frame; those not known are at the centre."""

    own_m: Array = field(default_factory=lambda: CENTRE)
    others_m: Mapping[str, Array] = field(default_factory=dict)

    def of(self, name: str) -> Array:
        """Of another one."""
        return self.others_m.get(name, CENTRE)

    @property
    def compact(self) -> bool:
        """Whether everybody's centre is all there is to it."""
        return not self.own_m.any() and not any(points.any() for points in self.others_m.values())


@dataclass(frozen=True)
class HullGaps:
    """Ours and the others' hulls, with our own motion as it is expected: instants (K,) and states (K,13)."""

    hulls: Hulls
    times_s: Array
    states: Array

    def of_plans(self, plans: Sequence[Plan], positions_m: Array, times_s: Array) -> Array:
        """(V,) for neighbours at (V,M,3) at the instants (M,): where the hulls come closest, less between centres."""
        place, turn = self._own(times_s)
        return np.array(
            [self._of_plan(p, there, times_s, place, turn) for p, there in zip(plans, positions_m, strict=True)]
        )

    def of_unknown_attitude(self, names: Sequence[str]) -> Array:
        """(V,) of those of whom only the place is known: as if each turned its farthest point to the other."""
        return np.array([_reach_m(self.hulls.own_m) + _reach_m(self.hulls.of(name)) for name in names])

    def _own(self, times_s: Array) -> tuple[Array, Array]:
        """Positions (M,3) and rotations (M,3,3); of the nearest instant before, which is near enough."""
        index = np.clip(np.searchsorted(self.times_s, times_s, side="right") - 1, 0, len(self.times_s) - 1)
        place = np.stack([np.interp(times_s, self.times_s, self.states[:, i]) for i in range(3)], axis=1)
        return place, rotation_matrix(self.states[index][:, ATTITUDE])

    def _of_plan(self, plan: Plan, there_m: Array, times_s: Array, place_m: Array, turn: Array) -> float:
        points = self.hulls.of(plan.vehicle)
        if not points.any() and not self.hulls.own_m.any():
            return 0.0
        if plan.headings_rad is None and points.any():
            return float(self.of_unknown_attitude([plan.vehicle])[0])
        own = place_m[:, None] + np.einsum("mij,pj->mpi", turn, self.hulls.own_m)  # (M,P,3)
        other = there_m[:, None]
        if plan.headings_rad is not None:
            headings = np.interp(times_s, plan.times_s, plan.headings_rad)
            other = other + np.einsum("mij,qj->mqi", rotation_matrix(from_yaw(headings)), points)
        between = np.linalg.norm(own[:, :, None] - other[:, None], axis=3).min(axis=(1, 2))  # (M,)
        k = int(np.argmin(between))
        return max(0.0, float(np.linalg.norm(place_m[k] - there_m[k]) - between[k]))


def _reach_m(points: Array) -> float:
    return float(np.linalg.norm(points, axis=1).max())


def gaps_along(hulls: Hulls, last: ControlOutput | None, start_s: float, state: Array) -> HullGaps | None:
    """Along the last plan, or at `state` without one; None: distances between centres are all there is to them."""
    if hulls.compact:
        return None
    if last is None or len(last.times_s) < 2:
        return HullGaps(hulls, np.array([start_s]), state[None])
    return HullGaps(hulls, last.times_s, last.states)
