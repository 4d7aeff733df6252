"""Vessels that touch and latch: boxes in the plane with penalty force and friction, a magnet amid each side.

The vessel-platform thesis gives no numbers of its connector but the 10 N that it holds; these are argued from its
timeline (docs/platform.md): hulls that meet misaligned slide along each other against friction until the magnets are
within their area of acceptance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.frames import yaw_of
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.simulation.plant import Plant

Array = NDArray[np.float64]
BOUNCE_S = 0.5  # after a hard touch, in which nothing is caught
APART_M = 0.03  # between magnets that have been let go of: from here on they may catch again
ALONGSIDE = 3.0  # times the area of acceptance, for sides that others hold together
SOON_M, NOW_M = 0.10, 0.02  # between two circles around hulls: may touch within a control period, within a substep
CLEAR_M = 0.001  # between two hulls: no corner is pressed in
PULLED_M = 0.03  # between two magnets, from where on none pulls
OUTWARDS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


@dataclass(frozen=True)
class Connector:
    """What two sides feel like, and when their magnets hold."""

    stiffness_Npm: float = 400.0  # of each corner that is pressed in
    damping_spm: float = 4.0  # Hunt and Crossley
    friction: float = 0.2
    creep_mps: float = 0.002  # below this friction grows with the sliding
    chamfer_m: float = 0.015
    pull_N: float = 0.08  # at a gap of nothing
    reach_m: float = 0.003  # where half of the pull is left
    accept_m: float = 0.004  # along the side: the area of acceptance
    gap_m: float = 0.0015
    angle_rad: float = 0.04
    # 10 N over the last 0.2 mm take 2 mJ out of two vessels of 4.7 kg: what slides or bounces faster is not caught.
    catch_mps: float = 0.04


@dataclass(frozen=True)
class Body:
    """A vessel in the plane, now."""

    position_m: Array  # (2,)
    turn: Array  # (2,2) body to world
    velocity_mps: Array  # (2,) world
    rate_radps: float
    half_m: Array  # (2,) of its length and width

    def corners_m(self, chamfer_m: float) -> Array:
        """(8,2) world."""
        x, y = self.half_m
        c = chamfer_m
        shape = [(x - c, y), (x, y - c), (x, c - y), (x - c, -y), (c - x, -y), (-x, c - y), (-x, y - c), (c - x, y)]
        return np.asarray(self.position_m + np.array(shape) @ self.turn.T)

    @property
    def magnets_m(self) -> Array:
        """(4,2) amid each side, world."""
        return np.asarray(self.position_m + (OUTWARDS * self.half_m) @ self.turn.T)

    def velocity_at(self, point_m: Array) -> Array:
        """(2,) of a material point."""
        arm = point_m - self.position_m
        return np.asarray(self.velocity_mps + self.rate_radps * np.array([-arm[1], arm[0]]))


class Connectors:
    """Between all vessels of a plant; joined ones are pushed as one body."""

    def __init__(self, plant: Plant, names: tuple[str, ...], connector: Connector | None = None) -> None:
        self._plant, self._names, self.connector = plant, names, connector or Connector()
        self._half_m = [np.array(v.vehicle.size_m[:2]) / 2 for v in plant.vehicles]
        self._reach_m = np.array([float(np.hypot(*half)) for half in self._half_m])
        self._index = {name: i for i, name in enumerate(names)}
        self._soon: list[tuple[int, int]] = []  # pairs that may touch within this control period
        self.armed: set[frozenset[str]] = set()  # pairs whose magnets are on
        self.impacts: list[tuple[float, str, str, float]] = []  # t_s, both, closing speed of a first touch
        self._touching: set[tuple[int, int]] = set()
        self._hard_s: dict[tuple[int, int], float] = {}  # when two have hit each other too fast
        self.released: set[frozenset[str]] = set()  # let go of, and not apart yet: their magnets stay off

    def arm(self, groups: Iterable[Iterable[str]]) -> None:
        """Magnets are on between the members of each group, and off elsewhere."""
        self.armed = {frozenset(pair) for group in groups for pair in combinations(tuple(group), 2)}

    def near(self, joined: Iterable[Iterable[str]]) -> bool:
        """Whether any two that are not joined might touch soon; to be asked before the substeps of a period."""
        self._soon = self._close(SOON_M, joined)
        return bool(self._soon)

    def act(self, h: float, joined: Iterable[Iterable[str]]) -> list[tuple[str, str]]:
        """Forces of one substep; returns pairs whose magnets have caught each other."""
        group = {name: number for number, members in enumerate(joined) for name in members}
        places = self._plant.states[:, :2].tolist()
        caught = []
        for i, j in self._soon:
            (xi, yi), (xj, yj) = places[i], places[j]
            if math.hypot(xj - xi, yj - yi) - self._reach_m[i] - self._reach_m[j] >= NOW_M:
                continue
            a, b = self._names[i], self._names[j]
            if a in group and group[a] == group.get(b):  # joined within this period
                continue
            if self._pair(i, j, h):
                caught.append((a, b))
        return caught

    def let_go(self, pair: frozenset[str]) -> None:
        """Unlatch: its magnets stay off until the two have come apart, or they would catch at once."""
        self.released.add(pair)

    def side_by_side(self, members: Iterable[str]) -> list[tuple[str, str]]:
        """Pairs of one body whose magnets lie against each other: they hold, too, though a third has caught first."""
        c, found = self.connector, []
        for a, b in combinations(members, 2):
            one, two = self._body(self._index[a]), self._body(self._index[b])
            if _nearest_m(one, two) <= ALONGSIDE * c.accept_m:
                found.append((a, b))
        return found

    def _close(self, within_m: float, joined: Iterable[Iterable[str]]) -> list[tuple[int, int]]:
        """Pairs whose circles are nearer than that, without those that are joined."""
        group = np.arange(-1, -1 - len(self._names), -1)  # by default, one's own
        for number, members in enumerate(joined):
            for name in members:
                group[self._index[name]] = number
        at = self._plant.states[:, :2]
        gaps = np.linalg.norm(at[:, None] - at[None], axis=2) - self._reach_m[:, None] - self._reach_m[None]
        chosen = np.triu((gaps < within_m) & (group[:, None] != group[None]), 1)
        return [(int(i), int(j)) for i, j in np.argwhere(chosen)]

    def _gap_m(self, i: int, j: int) -> float:
        """Two boxes are at least so far apart: by the axes of both, along one of which they are if they are at all."""
        (xi, yi, *_), (xj, yj, *_) = self._plant.states[[i, j], :2].tolist()
        yaw_i, yaw_j = (yaw_of(self._plant.states[k, ATTITUDE]) for k in (i, j))
        (li, wi), (lj, wj) = self._half_m[i].tolist(), self._half_m[j].tolist()
        dx, dy = xj - xi, yj - yi
        c, s = abs(math.cos(yaw_j - yaw_i)), abs(math.sin(yaw_j - yaw_i))
        ci, si, cj, sj = math.cos(yaw_i), math.sin(yaw_i), math.cos(yaw_j), math.sin(yaw_j)
        return max(
            abs(ci * dx + si * dy) - li - (c * lj + s * wj),
            abs(ci * dy - si * dx) - wi - (s * lj + c * wj),
            abs(cj * dx + sj * dy) - lj - (c * li + s * wi),
            abs(cj * dy - sj * dx) - wj - (s * li + c * wi),
        )

    def _pair(self, i: int, j: int, h: float) -> bool:
        gap_m, pair = self._gap_m(i, j), frozenset((self._names[i], self._names[j]))
        clear = gap_m > CLEAR_M
        if clear and pair not in self.released and (gap_m > PULLED_M + CLEAR_M or pair not in self.armed):
            self._touching.discard((i, j))
            return False
        one, two = self._body(i), self._body(j)
        impulse, touched, closing = np.zeros(3), False, 0.0  # on the second, world, about its own origin
        lever = np.zeros(3)  # the same force on the first, opposite
        for inner, outer, sign in () if clear else ((one, two, -1.0), (two, one, 1.0)):
            for point, force, speed in self._pressed(inner, outer):
                touched, closing = True, max(closing, speed)
                impulse += h * _about(two, point, sign * force)
                lever += h * _about(one, point, -sign * force)
        if touched and (i, j) not in self._touching:
            self.impacts.append((self._plant.t_s, self._names[i], self._names[j], closing))
            if closing > self.connector.catch_mps:  # comes to rest for a moment while pressed in: no latch catches that
                self._hard_s[i, j] = self._plant.t_s
        (self._touching.add if touched else self._touching.discard)((i, j))
        latch = False
        if pair in self.released and _nearest_m(one, two) > APART_M:
            self.released.remove(pair)
        if pair in self.armed - self.released:
            place, pull, latch = self._magnets(one, two)
            impulse += h * _about(two, place, -pull)
            lever += h * _about(one, place, pull)
        for index, body, given in ((i, one, lever), (j, two, impulse)):
            if given.any():
                wrench = np.zeros(6)
                wrench[:2], wrench[5] = body.turn.T @ given[:2], given[2]
                self._plant.push(index, wrench)
        return latch and self._plant.t_s - self._hard_s.get((i, j), -np.inf) > BOUNCE_S

    def _pressed(self, inner: Body, outer: Body) -> list[tuple[Array, Array, float]]:
        """Corners of `inner` inside of `outer`: place, force on `inner`, closing speed."""
        c, found = self.connector, []
        corners = inner.corners_m(c.chamfer_m)
        own = (corners - outer.position_m) @ outer.turn
        room = outer.half_m - np.abs(own)  # (8,2)
        for k in np.flatnonzero((room > 0).all(axis=1)).tolist():
            axis = int(np.argmin(room[k]))
            normal = outer.turn[:, axis] * np.sign(own[k, axis])
            sliding = inner.velocity_at(corners[k]) - outer.velocity_at(corners[k])
            closing = -float(sliding @ normal)
            push = c.stiffness_Npm * room[k, axis] * max(0.0, 1 + c.damping_spm * closing)
            along = sliding + closing * normal
            friction = -c.friction * push * along / max(float(np.linalg.norm(along)), c.creep_mps)
            found.append((corners[k], push * normal + friction, closing))
        return found

    def _magnets(self, one: Body, two: Body) -> tuple[Array, Array, bool]:
        """Of the two sides that face each other: place, pull on the first towards the second, whether they hold."""
        c = self.connector
        first, second = one.magnets_m, two.magnets_m
        apart = second[None] - first[:, None]
        k, m = np.unravel_index(int(np.argmin(np.linalg.norm(apart, axis=2))), (4, 4))
        gap, out = apart[k, m], one.turn @ OUTWARDS[k]
        angle = float(np.arccos(np.clip(-out @ (two.turn @ OUTWARDS[m]), -1.0, 1.0)))
        normal, along = float(gap @ out), float(np.linalg.norm(gap - (gap @ out) * out))
        distance = float(np.linalg.norm(gap))
        if angle > 0.5 or distance > PULLED_M:
            return first[k], np.zeros(2), False
        pull = c.pull_N / (1 + (distance / c.reach_m) ** 2) * gap / max(distance, 1e-3)
        speed = float(np.linalg.norm(two.velocity_at(second[m]) - one.velocity_at(first[k])))
        lies = normal <= c.gap_m and along <= c.accept_m and angle <= c.angle_rad
        holds = lies and speed <= c.catch_mps
        return first[k], pull, holds

    def _body(self, index: int) -> Body:
        state = self._plant.states[index]
        yaw = yaw_of(state[ATTITUDE])
        turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
        return Body(state[POSITION][:2], turn, turn @ state[VELOCITY][:2], float(state[RATE][2]), self._half_m[index])


def _nearest_m(one: Body, two: Body) -> float:
    """Between any two of their magnets."""
    return float(np.linalg.norm(two.magnets_m[None] - one.magnets_m[:, None], axis=2).min())


def _about(body: Body, point_m: Array, force_N: Array) -> Array:
    """(3,) force and moment about the body's origin, world."""
    arm = point_m - body.position_m
    return np.array([*force_N, arm[0] * force_N[1] - arm[1] * force_N[0]])
