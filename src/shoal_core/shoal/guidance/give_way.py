"""Where to go and where to look: the give-way rule that breaks symmetric standoffs, and the heading to see others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


class GiveWayRule(FileModel):
    """Everybody gives way to starboard; whoever is close and ahead turns the way to go by up to `turn_deg`.

    What counts is the way relative to the other: one that swims along with us is not in the way.
    """

    turn_deg: float = Field(default=75.0, ge=0, le=90, description="largest turn of the way to go, to starboard")
    range_m: float = Field(default=2.5, gt=0, description="beyond the soft distance, where it begins")
    least_way_m: float = Field(default=1.0, gt=0, description="no rule for those almost where they want to be")


def give_way(goal_m: Array, own_m: Array, near_m: Array, soft_m: float, rule: GiveWayRule) -> Array:
    """The goal positions (M,3), turned to starboard around `own_m` while one at `near_m` (V,M,3) is in the way."""
    north, east, _ = (goal_m[-1] - own_m).tolist()
    length = math.hypot(north, east)
    if length < rule.least_way_m:
        return goal_m
    turn = 0.0
    moves = (near_m[:, -1] - near_m[:, 0]).tolist()  # (V,3) over the horizon
    for (to_north, to_east, to_down), (n, e, _) in zip((near_m[:, 0] - own_m).tolist(), moves, strict=True):
        distance = math.hypot(to_north, to_east, to_down)
        ahead = north * to_north + east * to_east
        if ahead <= 0.0 or distance - soft_m > min(rule.range_m, length):
            continue
        if math.hypot(north - n, east - e) < rule.least_way_m:  # it goes our way
            continue
        facing = ahead / length / max(distance, 1e-6)
        closing = min(1.0, 1.0 - (n * to_north + e * to_east) / ahead)  # 1: it stands, or comes towards us
        turn = max(turn, facing * closing * min(1.0, 1.0 - (distance - soft_m) / rule.range_m))
    if turn == 0.0:
        return goal_m
    angle = math.radians(rule.turn_deg) * turn
    c, s = math.cos(angle), math.sin(angle)
    offset = goal_m - own_m
    turned = goal_m.copy()
    turned[:, 0] = own_m[0] + c * offset[:, 0] - s * offset[:, 1]  # NED: a positive turn is to starboard
    turned[:, 1] = own_m[1] + s * offset[:, 0] + c * offset[:, 1]
    return turned


def headings(own_m: Array, seen_m: Array, reference: Preview, yaw_rad: float) -> Array:
    """Headings (M,): towards those that must be seen (V,M,3), else as the reference wants, else as it is."""
    if len(seen_m):
        to = (seen_m - own_m)[:, :, :2]
        if len(seen_m) > 1:  # several: the mean of the directions
            to = (to / np.maximum(np.sqrt(np.einsum("vmi,vmi->vm", to, to)), 1e-3)[:, :, None]).sum(axis=0)
            blurred = 1e-2  # two that stand on opposite sides give no direction: keep the heading there
        else:
            to, blurred = to[0], 1e-5
        east, north = to[:, 1], to[:, 0]
        return np.where(north * north + east * east > blurred**2, np.arctan2(east, north), yaw_rad)
    if reference.headings_rad is not None:
        return reference.headings_rad
    return np.full(len(reference.times_s), yaw_rad)
