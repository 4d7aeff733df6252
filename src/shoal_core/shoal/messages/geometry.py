"""Sight and distance between vehicles, from their states."""

from __future__ import annotations

import math
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


def distances_m(states: Array) -> Array:
    """(T, V(V-1)/2) distances in the order of `all_pairs`; states (T,V,13)."""
    pairs = all_pairs(states.shape[1])
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    return np.asarray(np.linalg.norm(states[:, first, POSITION] - states[:, second, POSITION], axis=2))
