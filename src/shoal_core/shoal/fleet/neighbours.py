"""From what was last heard of the others to where they will be, and how far to keep off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from shoal.control.nmpc import Others
from shoal.control.settings import Limits
from shoal.fleet.plan import Plan
from shoal.guidance.preview import Preview

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
class Neighbour:
    """One neighbour over the horizon."""

    name: str
    age_s: float
    positions_m: Array  # (M,3)
    margin_m: float


def predict(plan: Plan, t_s: float, times_s: Array, place: Preview | None, settings: NeighbourSettings) -> Neighbour:
    """Along its plan while that lasts; then back to its place in the formation, or on with its last velocity."""
    age = max(0.0, t_s - plan.stamp_s)
    positions, _ = plan.at(times_s)
    if times_s[-1] - plan.times_s[-1] > FRESH_S:  # up to there its last velocity is good enough
        late = times_s > plan.times_s[-1]
        if place is not None:
            end = plan.times_s[-1:]
            there = place.at(np.concatenate([end, times_s[late]])).positions_m
            fade = np.exp((end - times_s[late]) / settings.settle_s)[:, None]
            positions[late] = there[1:] + fade * (plan.positions_m[-1] - there[0])
        else:  # it will not run away for ever: the last velocity fades
            beyond = times_s[late] - plan.times_s[-1]
            travelled = settings.settle_s * (1 - np.exp(-beyond / settings.settle_s))
            positions[late] = plan.positions_m[-1] + travelled[:, None] * plan.velocities_mps[-1]
    margin = min(0.5 * settings.acceleration_mps2 * age**2, settings.speed_mps * age, settings.max_margin_m)
    if not plan.committed:
        margin += settings.uncommitted_m
    return Neighbour(plan.vehicle, age, positions, margin)


def choose(known: Sequence[Neighbour], own_m: Array, must_see: frozenset[str], places: int) -> list[Neighbour]:
    """The ones that get a place: all that must be seen, then the nearest over the horizon."""

    def rank(n: Neighbour) -> tuple[bool, float]:
        gap = n.positions_m - own_m
        return n.name not in must_see, float(np.einsum("ij,ij->i", gap, gap).min())

    return sorted(known, key=rank)[:places]


def arrange(chosen: Sequence[Neighbour], must_see: frozenset[str], places: int, points: int, limits: Limits) -> Others:
    """The arrays of the optimisation, unused places parked far away."""
    others = Others.none(places, points)
    for j, neighbour in enumerate(chosen):
        others.positions_m[j] = neighbour.positions_m
        others.soft_m[j] = limits.distance_soft_m + neighbour.margin_m
        others.hard_m[j] = limits.distance_hard_m + neighbour.margin_m
        others.seen[j] = float(neighbour.name in must_see)
    return others
