"""Hulls that touch: capsules with a penalty force and friction, ports with magnets, and the latch.

Normal force k δ (1 + a δ̇) for a penetration δ (Hunt and Crossley), never pulling; friction μ F_n against the sliding,
falling off linearly below a creep speed. Closed forms throughout; box-like hulls are sets of capsules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.simulation.plant import Plant
from shoal.vehicles.ports import Port, caught, magnet_N, mating

Array = NDArray[np.float64]
NOSE_M, NOSE_RADIUS_M = 0.1, 0.03  # of a port: its length, from within the hull, and its radius
AT_PORT_M = 0.08  # a touch within this of a port is one of the port


@dataclass(frozen=True)
class Capsule:
    """All points within the radius of a line, body frame."""

    start_m: Array  # (3,)
    end_m: Array  # (3,)
    radius_m: float


@dataclass(frozen=True)
class Fender:
    """What two hulls feel like when they touch."""

    stiffness_Npm: float = 4000.0
    damping_spm: float = 3.0  # a of Hunt and Crossley; 0: perfectly elastic
    friction: float = 0.3
    creep_mps: float = 0.005  # below this friction grows with the sliding


@dataclass(frozen=True)
class Touch:
    """The deepest contact of two hulls."""

    depth_m: float
    place_m: Array  # (3,) NED
    normal: Array  # (3,) NED, from the first to the second
    closing_mps: float  # along the normal, positive while they approach
    force_N: Array  # (3,) NED, on the second; the first has its opposite


def hull_of(size_m: tuple[float, float, float]) -> tuple[Capsule, ...]:
    """Two capsules side by side along the longest axis, as wide and as high as the box: its edges are rounded off."""
    long, wide, low = np.argsort(size_m)[::-1]
    radius = size_m[low] / 2
    half, aside = np.zeros(3), np.zeros(3)
    half[long], aside[wide] = size_m[long] / 2 - radius, size_m[wide] / 2 - radius
    return tuple(Capsule(sign * aside - half, sign * aside + half, float(radius)) for sign in (-1.0, 1.0))


def closest(p1: Array, q1: Array, p2: Array, q2: Array) -> tuple[Array, Array]:
    """The nearest points (3,) of two segments (Ericson 2005, section 5.1.9)."""
    d1, d2, r = q1 - p1, q2 - p2, p1 - p2
    a, e, f, c, b = (float(x @ y) for x, y in ((d1, d1), (d2, d2), (d2, r), (d1, r), (d1, d2)))
    tiny = 1e-12
    if a <= tiny:
        s, t = 0.0, 0.0 if e <= tiny else _share(f / e)
    elif e <= tiny:
        s, t = _share(-c / a), 0.0
    else:
        across = a * e - b * b
        s = _share((b * f - c * e) / across) if across > tiny else 0.0
        t = float((b * s + f) / e)
        if not 0 <= t <= 1:
            t = _share(t)
            s = _share((b * t - c) / a)
    return p1 + s * d1, p2 + t * d2


def _share(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))


def touch(hull_a: Sequence[Capsule], a: Array, hull_b: Sequence[Capsule], b: Array, fender: Fender) -> Touch | None:
    """Of two vehicles with states (13,); None: they do not touch."""
    turn_a, turn_b, deepest = matrix(a[ATTITUDE]), matrix(b[ATTITUDE]), None
    for one in hull_a:
        for two in hull_b:
            ends = [a[POSITION] + turn_a @ one.start_m, a[POSITION] + turn_a @ one.end_m]
            ends += [b[POSITION] + turn_b @ two.start_m, b[POSITION] + turn_b @ two.end_m]
            at_a, at_b = closest(*ends)
            apart = at_b - at_a
            distance = float(np.linalg.norm(apart))
            depth = one.radius_m + two.radius_m - distance
            if depth > 0 and (deepest is None or depth > deepest[0]):
                normal = apart / distance if distance > 1e-9 else np.array([0.0, 0.0, 1.0])
                deepest = depth, at_a + (one.radius_m - depth / 2) * normal, normal
    if deepest is None:
        return None
    depth, place, normal = deepest
    sliding = _velocity(b, turn_b, place) - _velocity(a, turn_a, place)
    closing = -float(sliding @ normal)
    push = fender.stiffness_Npm * depth * max(0.0, 1 + fender.damping_spm * closing)
    along = sliding + closing * normal
    friction = -fender.friction * push * along / max(float(np.linalg.norm(along)), fender.creep_mps)
    return Touch(depth, place, normal, closing, push * normal + friction)


def _velocity(state: Array, turn: Array, place_m: Array) -> Array:
    """Of a body's material point, NED."""
    lever = turn.T @ (place_m - state[POSITION])
    return np.asarray(turn @ (state[VELOCITY] + np.cross(state[RATE], lever)))


def wrench(state: Array, force_N: Array, place_m: Array) -> Array:
    """(6,) in the body frame, of a force (3,) that acts at a place, both NED."""
    turn = matrix(state[ATTITUDE])
    force, lever = turn.T @ force_N, turn.T @ (place_m - state[POSITION])
    return np.concatenate([force, np.cross(lever, force)])


@dataclass(frozen=True)
class Berth:
    """Two vehicles of a plant, by index, that may dock."""

    first: int
    second: int
    port_first: Port
    port_second: Port


def nose_of(port: Port) -> Capsule:
    """What stands out of the hull at a port, so that ports touch before hulls do."""
    return Capsule(port.place_m - NOSE_M * port.direction, port.place_m - NOSE_RADIUS_M * port.direction, NOSE_RADIUS_M)


class Contacts:
    """Pushes two vehicles of a plant apart, pulls their ports together, and reports when the latch closes.

    To join them then is the owner's part (`World.attach`).
    """

    def __init__(self, plant: Plant, berth: Berth, fender: Fender | None = None) -> None:
        self._plant, self.berth, self._fender = plant, berth, fender or Fender()
        vehicles = [plant.vehicles[i].vehicle for i in (berth.first, berth.second)]
        ports = berth.port_first, berth.port_second
        self._hulls = [(*hull_of(v.size_m), nose_of(p)) for v, p in zip(vehicles, ports, strict=True)]
        self._reach_m = 2.0 + sum(float(np.linalg.norm(v.size_m)) / 2 for v in vehicles)
        self.latched = self._touching = False
        self.beside_port = 0  # touches elsewhere
        self.impacts_mps: list[float] = []  # closing speed of each first touch
        self.armed = True  # false: the latch stays open

    def step(self, commands_N: Sequence[Array], duration_s: float) -> None:
        """As the plant's, with the forces between the two after each of its substeps."""
        for _ in range(round(duration_s / self._plant.substep_s)):
            self._plant.step(commands_N, self._plant.substep_s)
            self.act(self._plant.substep_s)

    @property
    def near(self) -> bool:
        """Whether the two are near enough for it to matter."""
        b, states = self.berth, self._plant.states
        return float(np.linalg.norm(states[b.first, POSITION] - states[b.second, POSITION])) < self._reach_m

    def act(self, h: float) -> None:
        """After a substep of `h` seconds: forces, and the latch."""
        if not self.latched:
            self._push(h)
            self.latched = self._is_caught()
        if self.latched:
            self._touching = False

    def unlatch(self) -> None:
        """Open it, and keep it open until `armed` again: a port just left would be caught at once."""
        self.latched, self.armed = False, False

    def _is_caught(self) -> bool:
        b, states = self.berth, self._plant.states
        now = mating(b.port_first, states[b.first], b.port_second, states[b.second])
        # Hulls that hit too fast come to rest for a moment while they are pressed together: no latch catches that.
        hit_mps = self.impacts_mps[-1] if self._touching else 0.0
        gentle = hit_mps <= min(b.port_first.catch_mps, b.port_second.catch_mps)
        return self.armed and gentle and caught(b.port_first, b.port_second, now)

    def _push(self, h: float) -> None:
        b, states = self.berth, self._plant.states
        ends = states[b.first], states[b.second]
        found = touch(self._hulls[0], ends[0], self._hulls[1], ends[1], self._fender)
        total = [np.zeros(6), np.zeros(6)]
        if found is not None:
            if not self._touching:
                self.impacts_mps.append(max(found.closing_mps, 0.0))
                self.beside_port += all(
                    float(np.linalg.norm(found.place_m - x[POSITION] - matrix(x[ATTITUDE]) @ p.place_m)) > AT_PORT_M
                    for x, p in zip(ends, self._ports, strict=True)
                )
            total[0] += wrench(ends[0], -found.force_N, found.place_m)
            total[1] += wrench(ends[1], found.force_N, found.place_m)
        self._touching = found is not None
        if self.armed and min(b.port_first.magnet_N, b.port_second.magnet_N) > 0:
            places = [x[POSITION] + matrix(x[ATTITUDE]) @ p.place_m for x, p in zip(ends, self._ports, strict=True)]
            apart = places[1] - places[0]
            gap = float(np.linalg.norm(apart))
            pull = magnet_N(b.port_first, b.port_second, gap) * apart / max(gap, 1e-3)
            total[0] += wrench(ends[0], pull, places[0])
            total[1] += wrench(ends[1], -pull, places[1])
        for i, force in zip((b.first, b.second), total, strict=True):
            if force.any():
                self._plant.push(i, h * force)

    @property
    def _ports(self) -> tuple[Port, Port]:
        return self.berth.port_first, self.berth.port_second
