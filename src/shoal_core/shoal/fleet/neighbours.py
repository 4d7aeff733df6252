"""From what was last heard of the others to where they will be, and how far to keep off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from shoal.control.nmpc.nmpc import Others
from shoal.control.settings import Limits
from shoal.messages import trajectory
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview

Array = NDArray[np.float64]
FRESH_S = 0.3


class NeighbourSettings(BaseModel):
    """How old news is treated."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    acceleration_mps2: float = Field(default=0.1, ge=0, description="how hard a neighbour may leave its plan")
    speed_mps: float = Field(default=0.15, ge=0, description="how fast a neighbour may leave its plan")
    max_margin_m: float = Field(default=0.8, ge=0, description="largest extra distance for old news")
    forget_s: float = Field(default=60.0, gt=0, description="after this a silent neighbour is thought gone")
    settle_s: float = Field(default=4.0, gt=0, description="how fast a neighbour is thought to go back to its place")
    uncommitted_m: float = Field(default=0.1, ge=0, description="extra distance from a plan not yet committed")


@dataclass(frozen=True)
class Neighbours:
    """Those known about, over the horizon; one array for all, so that ten cost hardly more than one."""

    names: tuple[str, ...]
    ages_s: Array  # (V,) of the news
    positions_m: Array  # (V,M,3)
    margins_m: Array  # (V,)

    def first(self, count: int) -> Neighbours:
        """The first of them."""
        return Neighbours(self.names[:count], self.ages_s[:count], self.positions_m[:count], self.margins_m[:count])


def forecast(
    plans: Sequence[Plan], t_s: float, times_s: Array, places: Mapping[str, Preview], settings: NeighbourSettings
) -> Neighbours:
    """Along their plans while those last; then back to their places in the formation, or on with the last velocity."""
    names = tuple(p.vehicle for p in plans)
    if not plans:
        return Neighbours(names, np.zeros(0), np.zeros((0, len(times_s), 3)), np.zeros(0))
    positions = trajectory.read(np.array([p.pick(times_s) for p in plans]), times_s)
    last_s = times_s[-1] - FRESH_S  # up to there a plan's last velocity is good enough
    stale = [i for i, p in enumerate(plans) if p.times_s[-1] < last_s]
    if stale:
        positions[stale] = _beyond(positions[stale], [plans[i] for i in stale], times_s, places, settings)
    ages = np.array([max(0.0, t_s - p.stamp_s) for p in plans])
    margins = np.minimum(0.5 * settings.acceleration_mps2 * ages**2, settings.speed_mps * ages)
    margins = np.minimum(margins, settings.max_margin_m)
    margins += [0.0 if p.committed else settings.uncommitted_m for p in plans]
    return Neighbours(names, ages, positions, margins)


def _beyond(
    along: Array, plans: Sequence[Plan], times_s: Array, places: Mapping[str, Preview], settings: NeighbourSettings
) -> Array:
    """`along` their plans (V,M,3), and where they will be after those have run out."""
    ends_s, ends_m = np.array([p.times_s[-1] for p in plans]), np.array([p.positions_m[-1] for p in plans])
    beyond = times_s - ends_s[:, None]
    left = np.exp(-np.maximum(beyond, 0.0) / settings.settle_s)[:, :, None]
    # Without a place: it will not run away for ever, the last velocity fades.
    velocities = np.array([p.velocities_mps[-1] for p in plans])
    then = ends_m[:, None] + settings.settle_s * (1 - left) * velocities[:, None]
    if homing := [i for i, p in enumerate(plans) if p.vehicle in places]:
        asked = np.array([[e, *times_s] for e in ends_s[homing]])
        picked = np.array([places[plans[i].vehicle].pick(t) for i, t in zip(homing, asked, strict=True)])
        there = trajectory.read(picked, asked)
        then[homing] = there[:, 1:] + left[homing] * (ends_m[homing, None] - there[:, :1])
    return np.where(beyond[:, :, None] > 0, then, along)


def choose(known: Neighbours, own_m: Array, must_see: frozenset[str], places: int) -> Neighbours:
    """The ones that get a place: first those that must be seen, then the nearest over the horizon."""
    if len(known.names) < 2:
        return known
    gap = known.positions_m - own_m
    nearest = np.einsum("vmi,vmi->vm", gap, gap).min(axis=1).tolist()
    ranks = [(name not in must_see, distance) for name, distance in zip(known.names, nearest, strict=True)]
    best = sorted(range(len(ranks)), key=ranks.__getitem__)[:places]
    names = tuple(known.names[i] for i in best)
    return Neighbours(names, known.ages_s[best], known.positions_m[best], known.margins_m[best])


def arrange(chosen: Neighbours, must_see: frozenset[str], places: int, points: int, limits: Limits) -> Others:
    """The arrays of the optimisation, unused places parked far away."""
    others = Others.none(places, points)
    count = len(chosen.names)
    others.positions_m[:count] = chosen.positions_m
    others.soft_m[:count] = (limits.distance_soft_m + chosen.margins_m)[:, None]
    others.hard_m[:count] = (limits.distance_hard_m + chosen.margins_m)[:, None]
    others.seen[:count] = [name in must_see for name in chosen.names]
    return others
