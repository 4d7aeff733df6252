"""Sight and distance between vehicles, from their states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix, rotation_matrix
from shoal.messages.state import ATTITUDE, POSITION

Array = NDArray[np.float64]
Pairs = tuple[tuple[int, int], ...]


def fov_angles_deg(states: Array, must_see: Pairs) -> Array:
    """(T,P) angle between each seer's body x axis and the vector to the one it must see; states (T,V,13).

    In three dimensions: pitching away loses sight as much as yawing away. Two vehicles at one point see nothing (180°).
    Not-a-number states give not-a-number angles.
    """
    angles = np.empty((len(states), len(must_see)))
    for column, (seer, seen) in enumerate(must_see):
        with np.errstate(invalid="ignore"):
            forward = rotation_matrix(states[:, seer, ATTITUDE])[:, :, 0]
        away = states[:, seen, POSITION] - states[:, seer, POSITION]
        across = np.linalg.norm(np.cross(forward, away), axis=1)
        angles[:, column] = np.degrees(np.arctan2(across, np.einsum("ti,ti->t", forward, away)))
        angles[np.linalg.norm(away, axis=1) == 0.0, column] = 180.0
    return angles


def sight_angle_deg(state: Array, other_m: Array) -> float:
    """Angle between the bow of one vehicle (13,) and the direction to a point (3,); 180° for the point it is at."""
    away = np.asarray(other_m) - state[POSITION]
    if not away.any():
        return 180.0
    forward = matrix(state[ATTITUDE] / np.linalg.norm(state[ATTITUDE]))[:, 0]
    across = math.sqrt(float(np.sum(np.cross(forward, away) ** 2)))
    return math.degrees(math.atan2(across, float(forward @ away)))


def all_pairs(vehicles: int) -> Pairs:
    """Every two vehicles once, lower index first."""
    return tuple(combinations(range(vehicles), 2))


def distances_m(states: Array, hulls_m: Sequence[Array] = ()) -> Array:
    """(T, V(V-1)/2) distances in the order of `all_pairs`; states (T,V,13).

    `hulls_m`: each vehicle's points (P,3) in its body frame, the nearest two of which count; without them its centre.
    """
    pairs = all_pairs(states.shape[1])
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = np.asarray(np.linalg.norm(states[:, first, POSITION] - states[:, second, POSITION], axis=2))
    for column, (a, b) in enumerate(pairs):
        if len(hulls_m) and (hulls_m[a].any() or hulls_m[b].any()):
            found[:, column] = _nearest_m(_points(states[:, a], hulls_m[a]), _points(states[:, b], hulls_m[b]))
    return found


def _points(states: Array, hull_m: Array) -> Array:
    """(T,P,3) in the world, of states (T,13)."""
    with np.errstate(invalid="ignore"):
        turn = rotation_matrix(states[:, ATTITUDE])
    return np.asarray(states[:, None, POSITION] + np.einsum("tij,pj->tpi", turn, hull_m))


def _nearest_m(first: Array, second: Array) -> Array:
    """(T,) of points (T,P,3) and (T,Q,3); one of the first at a time, to spare memory."""
    gaps = [np.linalg.norm(second - first[:, i, None], axis=2).min(axis=1) for i in range(first.shape[1])]
    return np.asarray(np.min(gaps, axis=0))
