"""Where to go and where to look: the goal over the horizon, with the side rule that breaks symmetric standoffs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from shoal.fleet.neighbours import Neighbour
from shoal.guidance.preview import Preview

Array = NDArray[np.float64]


class SideRule(BaseModel):
    """Everybody gives way to starboard; whoever is close and ahead turns the way to go by up to `turn_deg`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    turn_deg: float = Field(default=75.0, ge=0, le=90)
    range_m: float = Field(default=2.5, gt=0, description="beyond the soft distance, where it begins")
    least_way_m: float = Field(default=1.0, gt=0, description="no rule for those almost where they want to be")


def detour(goal_m: Array, own_m: Array, near: Sequence[Neighbour], soft_m: float, rule: SideRule) -> Array:
    """The goal positions (M,3), turned to starboard around `own_m` while someone is in the way."""
    way = goal_m[-1] - own_m
    length = float(np.hypot(way[0], way[1]))
    if length < rule.least_way_m or not near:
        return goal_m
    ahead = way[:2] / length
    turn = 0.0
    for neighbour in near:
        to = neighbour.positions_m[0] - own_m
        distance = float(np.linalg.norm(to))
        facing = float(ahead @ to[:2]) / max(distance, 1e-6)
        if facing <= 0.0 or distance - soft_m > min(rule.range_m, length):
            continue
        closeness = min(1.0, 1.0 - (distance - soft_m) / rule.range_m)
        turn = max(turn, closeness * facing)
    angle = np.deg2rad(rule.turn_deg) * turn
    c, s = np.cos(angle), np.sin(angle)
    offset = goal_m - own_m
    turned = goal_m.copy()
    turned[:, 0] = own_m[0] + c * offset[:, 0] - s * offset[:, 1]  # NED: a positive turn is to starboard
    turned[:, 1] = own_m[1] + s * offset[:, 0] + c * offset[:, 1]
    return turned


def headings(own_m: Array, seen: Sequence[Neighbour], reference: Preview, yaw_rad: float) -> Array:
    """Headings (M,): towards those that must be seen, else as the reference wants, else as it is."""
    if seen:
        total = np.zeros((len(own_m), 2))
        for neighbour in seen:
            to = (neighbour.positions_m - own_m)[:, :2]
            total += to / np.maximum(np.linalg.norm(to, axis=1, keepdims=True), 1e-3)
        angle = np.arctan2(total[:, 1], total[:, 0])
        # Two that stand on opposite sides give no direction: keep the heading there.
        return np.where(np.hypot(total[:, 0], total[:, 1]) > 1e-2, angle, yaw_rad)
    if reference.headings_rad is not None:
        return reference.headings_rad
    return np.full(len(own_m), yaw_rad)
