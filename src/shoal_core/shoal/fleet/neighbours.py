"""From what was last received of the others to where they will be, and how far to keep off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Neighbours
from shoal.fleet.hazards import Hazard
from shoal.fleet.hull_gaps import HullGaps
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.trajectory import closest_m2, read_all

Array = NDArray[np.float64]
FRESH_S = 0.3


class NeighbourSettings(FileModel):
    """How much a plan is trusted as it ages."""

    acceleration_mps2: float = Field(default=0.1, ge=0, description="how hard a neighbour may leave its plan")
    speed_mps: float = Field(default=0.15, ge=0, description="how fast a neighbour may leave its plan")
    max_margin_m: float = Field(default=0.8, ge=0, description="largest extra distance for an old plan")
    forget_s: float = Field(
        default=60.0, gt=0, description="after this a silent neighbour is no longer expected at its place"
    )
    hazard_growth_mps: float = Field(
        default=0.05, ge=0, description="how fast the place grows where a silent neighbour was last seen"
    )
    hazard_max_m: float = Field(default=1.0, ge=0, description="by how much that place grows at most")
    hazard_rise_mps: float = Field(
        default=0.25, ge=0, description="how fast a silent neighbour may float up; the water above it is kept clear"
    )
    settle_s: float = Field(default=4.0, gt=0, description="how fast a neighbour is assumed to return to its place")
    uncommitted_m: float = Field(default=0.1, ge=0, description="extra distance from a plan not yet committed")


def usable_plans(own: str, plans: Mapping[str, Plan], t_s: float, settings: NeighbourSettings) -> Sequence[Plan]:
    """Those of others that are in order and not yet forgotten."""
    return [
        plan for name, plan in plans.items() if name != own and t_s - plan.stamp_s < settings.forget_s and plan.is_valid
    ]


def forecast(
    plans: Sequence[Plan], t_s: float, times_s: Array, setpoints: Mapping[str, Preview], settings: NeighbourSettings
) -> Neighbours:
    """Along their plans while those last; then back to their places in the formation, or on with the last velocity."""
    names = tuple([p.vehicle for p in plans])
    if not plans:
        return Neighbours(names, np.zeros(0), np.zeros((0, len(times_s), 3)), np.zeros(0))
    positions = read_all([p.trajectory for p in plans], times_s)
    last_s = float(times_s[-1]) - FRESH_S  # up to there a plan's last velocity is good enough
    stale = [i for i, p in enumerate(plans) if p.end_s < last_s]
    if stale:
        positions[stale] = _beyond(positions[stale], [plans[i] for i in stale], times_s, setpoints, settings)
    ages = [max(0.0, t_s - p.stamp_s) for p in plans]
    margins = [_margin_m(p, age, settings) for p, age in zip(plans, ages, strict=True)]
    return Neighbours(names, np.array(ages), positions, np.array(margins))


def _margin_m(plan: Plan, age_s: float, settings: NeighbourSettings) -> float:
    """What to keep off further than usual."""
    if age_s == 0.0 and plan.committed:
        return plan.margin_m
    strayed_m = min(0.5 * settings.acceleration_mps2 * age_s**2, settings.speed_mps * age_s, settings.max_margin_m)
    strayed_m += plan.margin_m
    return strayed_m if plan.committed else strayed_m + settings.uncommitted_m


def _beyond(
    along: Array, plans: Sequence[Plan], times_s: Array, setpoints: Mapping[str, Preview], settings: NeighbourSettings
) -> Array:
    """`along` their plans (V,M,3), and where they will be after those have run out."""
    ends_s, ends_m = np.array([p.times_s[-1] for p in plans]), np.array([p.positions_m[-1] for p in plans])
    beyond = times_s - ends_s[:, None]
    left = np.exp(-np.maximum(beyond, 0.0) / settings.settle_s)[:, :, None]
    # Without a place: it will not run away for ever, the last velocity fades.
    velocities = np.array([p.velocities_mps[-1] for p in plans])
    then = ends_m[:, None] + settings.settle_s * (1 - left) * velocities[:, None]
    if homing := [i for i, p in enumerate(plans) if p.vehicle in setpoints]:
        asked = [np.array([e, *times_s]) for e in ends_s[homing]]
        there = np.array([setpoints[plans[i].vehicle].trajectory.at(t) for i, t in zip(homing, asked, strict=True)])
        then[homing] = there[:, 1:] + left[homing] * (ends_m[homing, None] - there[:, :1])
    return np.where(beyond[:, :, None] > 0, then, along)


def with_hazards(
    known: Neighbours, hazards: Sequence[Hazard], own_m: Array, t_s: float, settings: NeighbourSettings
) -> Neighbours:
    """The same and the places of the silent, which stay where they are or float up to our depth."""
    points = known.positions_m.shape[1]
    growth = settings.hazard_growth_mps, settings.hazard_max_m
    places_m = [h.nearest_m(own_m, t_s, settings.hazard_rise_mps) for h in hazards]
    still_m = np.repeat(np.array(places_m)[:, None], points, axis=1)
    return Neighbours(
        known.names + tuple(h.name for h in hazards),
        np.concatenate([known.ages_s, [t_s - h.since_s for h in hazards]]),
        np.concatenate([known.positions_m, still_m]),
        np.concatenate([known.margins_m, [h.margin_m(t_s, *growth) for h in hazards]]),
    )


class PlanForecast:
    """The neighbours' plans read at any instants; see `shoal.control.base.NeighbourForecast`."""

    def __init__(
        self,
        plans: Sequence[Plan],
        t_s: float,
        setpoints: Mapping[str, Preview],
        settings: NeighbourSettings,
        hazards: Sequence[Hazard] = (),
        own_m: Array | None = None,
        gaps: HullGaps | None = None,
    ) -> None:
        """`own_m`: where we are, by which hazards are placed; needed with them. `gaps`: unless all are compact."""
        self._hazards, self._own_m, self._gaps = hazards, own_m, gaps
        self.plans, self._t_s, self._setpoints, self._settings = plans, t_s, setpoints, settings
        self._times_s: Array | None = None
        self._found: Neighbours | None = None

    def at(self, times_s: Array) -> Neighbours:
        """Along their plans while those last; then back to their places in the formation."""
        if self._found is None or times_s is not self._times_s:  # controller and agent ask about the same instants
            self._times_s = times_s
            self._found = forecast(self.plans, self._t_s, times_s, self._setpoints, self._settings)
            if self._hazards:
                assert self._own_m is not None
                self._found = with_hazards(self._found, self._hazards, self._own_m, self._t_s, self._settings)
            if self._gaps is not None:
                nearer_m = self._nearer_m(self._gaps, self._found.positions_m, times_s)
                self._found = replace(self._found, margins_m=self._found.margins_m + nearer_m)
        return self._found

    def _nearer_m(self, gaps: HullGaps, positions_m: Array, times_s: Array) -> Array:
        """(V,) how much nearer their hulls come to ours than their centres."""
        hazards = gaps.of_unknown_attitude([h.vehicle for h in self._hazards])
        return np.concatenate([gaps.of_plans(self.plans, positions_m[: len(self.plans)], times_s), hazards])

    def closest_m(self, plan: Plan) -> float:
        """Smallest distance from our own plan, between hulls; without what is kept off further."""
        positions_m = self.at(plan.times_s).positions_m
        if self._gaps is None:
            return math.sqrt(closest_m2(positions_m, plan.positions_m))
        centres_m = np.linalg.norm(positions_m - plan.positions_m, axis=2).min(axis=1)
        return float((centres_m - self._nearer_m(self._gaps, positions_m, plan.times_s)).min(initial=math.inf))
