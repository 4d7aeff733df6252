"""Start poses: near their places, by Fosso 2023's ready rule (closer than 2 m, sight angle below 15°)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import from_yaw
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.simulation.conditions import Start

Array = NDArray[np.float64]
TRIES = 10_000


def draw_start(
    places_m: Array,
    headings_rad: Array,
    center_m: Array,
    must_see: tuple[tuple[int, int], ...],
    start: Start,
    rng: np.random.Generator,
) -> Array:
    """States (V,13) at rest and level. `radius_m` = 0: exactly on the places.

    One or two vehicles are drawn uniformly from the ball around the common start point, as the rule allows. More than
    two would not fit into it: they are drawn from balls around their own places that do not overlap.
    """
    count = len(places_m)
    if start.radius_m == 0:
        return _states(places_m, headings_rad)
    for _ in range(TRIES):
        if count <= 2:
            positions = center_m + start.radius_m * _in_ball(count, rng)
        else:
            gap = _smallest_gap(places_m)
            positions = places_m + min(start.radius_m, 0.25 * gap) * _in_ball(count, rng)
        turn = np.deg2rad(start.angle_deg) * rng.uniform(-1, 1, count)
        if count > 1 and _smallest_gap(positions) < start.min_distance_m:
            continue
        states = _states(positions, _facing(positions, headings_rad, must_see) + turn)
        if count > 2 or not must_see or fov_angles_deg(states[None], must_see).max() < start.angle_deg:
            return states
    raise ShoalError(
        f"start: no poses found in {TRIES} tries with radius_m = {start.radius_m}, angle_deg = {start.angle_deg}, "
        f"min_distance_m = {start.min_distance_m}; expected room for {count} vehicles"
    )


def _in_ball(count: int, rng: np.random.Generator) -> Array:
    """Uniform points in the unit ball."""
    direction = rng.standard_normal((count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return np.asarray(direction * np.cbrt(rng.uniform(0, 1, (count, 1))))


def _smallest_gap(positions_m: Array) -> float:
    gaps = np.linalg.norm(positions_m[:, None] - positions_m[None], axis=2)
    return float(gaps[~np.eye(len(gaps), dtype=bool)].min()) if len(gaps) > 1 else np.inf


def _facing(positions_m: Array, headings_rad: Array, must_see: tuple[tuple[int, int], ...]) -> Array:
    """Headings towards the mean direction of those to be seen; the wanted ones for who need see nobody."""
    facing = headings_rad.copy()
    for i in range(len(positions_m)):
        seen = [j for a, j in must_see if a == i]
        if seen:
            to = positions_m[seen] - positions_m[i]
            total = (to / np.linalg.norm(to, axis=1, keepdims=True)).sum(axis=0)
            facing[i] = np.arctan2(total[1], total[0])
    return facing


def _states(positions_m: Array, headings_rad: Array) -> Array:
    states = np.zeros((len(positions_m), 13))
    states[:, POSITION], states[:, ATTITUDE] = positions_m, from_yaw(headings_rad)
    return states
