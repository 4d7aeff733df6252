"""Start poses: near their places, by Fosso 2023's ready rule (closer than 2 m, sight angle below 15°)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import from_yaw
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.simulation.conditions import Start
from shoal.vehicles.description import Vehicle

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
    two would not fit into it: they are drawn from balls around their own places that do not overlap, and see whom they
    must see no further than `angle_deg` beyond the angle of the formation itself (see `guidance.ready`).
    """
    count = len(places_m)
    if start.radius_m == 0:
        return _states(places_m, headings_rad)
    at_places = _states(places_m, _facing(places_m, headings_rad, must_see))
    standing = fov_angles_deg(at_places[None], must_see)[0] if must_see and count > 2 else np.zeros(len(must_see))
    allowed_deg = standing + start.angle_deg  # (P,)
    for _ in range(TRIES):
        if count <= 2:
            positions = center_m + start.radius_m * _in_ball(count, rng)
        else:
            gap = _smallest_gap(places_m)
            positions = places_m + min(start.radius_m, 0.25 * gap) * _in_ball(count, rng)
        turn = np.deg2rad(start.angle_deg) * rng.uniform(-1, 1, count)
        if count > 1 and _smallest_gap(positions) < start.min_distance_m:
            continue
        facing = _facing(positions, headings_rad, must_see)
        states = _states(positions, facing + turn)
        if count > 2:  # never would all of them turn little enough at once: who turns too far does not turn
            turn[[must_see[i][0] for i in _too_wide(states, must_see, allowed_deg)]] = 0.0
            states = _states(positions, facing + turn)
        if not len(_too_wide(states, must_see, allowed_deg)):
            return states
    raise ShoalError(
        f"start: no poses found in {TRIES} tries with radius_m = {start.radius_m}, angle_deg = {start.angle_deg}, "
        f"min_distance_m = {start.min_distance_m}; expected room for {count} vehicles"
    )


def _too_wide(states: Array, must_see: tuple[tuple[int, int], ...], allowed_deg: Array) -> NDArray[np.int64]:
    """Which of the pairs."""
    if not must_see:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(fov_angles_deg(states[None], must_see)[0] >= allowed_deg)


def afloat(starts: Mapping[str, State], vehicles: Mapping[str, Vehicle]) -> dict[str, State]:
    """The same places, but vessels at the surface, where they float."""
    found = dict(starts)
    for name, vehicle in vehicles.items():
        if vehicle.waterplane is not None:
            array = starts[name].array.copy()
            array[2] = vehicle.floating_depth_m
            found[name] = State(array)
    return found


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
