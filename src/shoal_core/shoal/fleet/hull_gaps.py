"""How much nearer hulls are to each other than their centres: what has to be kept off further in between.

The optimisation keeps centres apart. Of a long vehicle, or of several that are joined, that is not enough: what its
nearest point is nearer than its centre is added to the distance, by both motions as they are planned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

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

    @cached_property
    def compact(self) -> bool:
        """Whether everybody's centre is all there is to it."""
        return self.own_compact and not self.wide

    @cached_property
    def own_compact(self) -> bool:
        """Whether our own centre is all there is to us."""
        return not self.own_m.any()

    @cached_property
    def wide(self) -> frozenset[str]:
        """Those of the others that are more than their centre."""
        return frozenset(name for name, points in self.others_m.items() if points.any())


@dataclass(frozen=True)
class HullGaps:
    """Ours and the others' hulls, with our own motion as it is expected: instants (K,) and states (K,13)."""

    hulls: Hulls
    times_s: Array
    states: Array

    def of_plans(self, plans: Sequence[Plan], positions_m: Array, times_s: Array) -> Array:
        """(V,) for neighbours at (V,M,3) at the instants (M,): where the hulls come closest, less between centres."""
        compact, wide = self.hulls.own_compact, self.hulls.wide
        found = np.zeros(len(plans))
        own: tuple[Array, Array] | None = None
        for i, plan in enumerate(plans):
            if compact and plan.vehicle not in wide:  # centres are all there is to both
                continue
            if own is None:
                own = self._own(times_s)
            found[i] = self._of_plan(plan, positions_m[i], times_s, *own)
        return found

    def of_unknown_attitude(self, names: Sequence[str]) -> Array:
        """(V,) of those of whom only the place is known: as if each turned its farthest point to the other."""
        return np.array([_reach_m(self.hulls.own_m) + _reach_m(self.hulls.of(name)) for name in names])

    def _own(self, times_s: Array) -> tuple[Array, Array]:
        """Our centre (M,3) and our points (M,P,3); turned as at the nearest instant before, which is near enough."""
        place = np.stack([np.interp(times_s, self.times_s, self.states[:, i]) for i in range(3)], axis=1)
        if self.hulls.own_compact:
            return place, place[:, None]
        index = np.clip(np.searchsorted(self.times_s, times_s, side="right") - 1, 0, len(self.times_s) - 1)
        turn = rotation_matrix(self.states[index][:, ATTITUDE])
        return place, place[:, None] + np.einsum("mij,pj->mpi", turn, self.hulls.own_m)

    def _of_plan(self, plan: Plan, there_m: Array, times_s: Array, place_m: Array, own_m: Array) -> float:
        points, other = self.hulls.of(plan.vehicle), there_m[:, None]
        if plan.vehicle in self.hulls.wide:
            if plan.headings_rad is None:
                return float(self.of_unknown_attitude([plan.vehicle])[0])
            headings = np.interp(times_s, plan.times_s, plan.headings_rad)
            other = other + np.einsum("mij,qj->mqi", rotation_matrix(from_yaw(headings)), points)
        between = np.linalg.norm(own_m[:, :, None] - other[:, None], axis=3).min(axis=(1, 2))  # (M,)
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
