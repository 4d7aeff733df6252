"""Moving water: current fields, as functions of time and place. World NED, metres per second.

A field is a function of (t, position) and nothing else: what is random about it is drawn when it is made, so that a
run does not change with how often, or in which order, the water is asked.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.simulation.conditions import Environment
from shoal.simulation.currents import ConstantCurrent, Current, GaussMarkovCurrent, SquareCurrent

Array = NDArray[np.float64]
GRAVITY_MPS2 = 9.80665
_EDGE = 1e-9  # a time that is a switching instant but for rounding counts as past it


class Field(ABC):
    """The water's velocity. `sample` is the one to call from loops: it costs the same for one instant as for ten."""

    @abstractmethod
    def sample(self, times_s: Array, position_m: Array) -> Array:
        """Velocity (K,3) NED at the instants (K,) and one place (3,) NED."""

    def __call__(self, t_s: float, position_m: Array) -> Array:
        """Velocity (3,) NED."""
        return np.asarray(self.sample(np.array([t_s]), position_m)[0])


class Constant(Field):
    """The same everywhere, always."""

    def __init__(self, velocity_mps: Sequence[float]) -> None:
        self.velocity_mps = np.array(velocity_mps, dtype=float)

    def sample(self, times_s: Array, position_m: Array) -> Array:
        return np.broadcast_to(self.velocity_mps, (len(times_s), 3))


class Still(Constant):
    """No current; the plant knows `still_water` and does not even ask."""

    def __init__(self) -> None:
        super().__init__((0.0, 0.0, 0.0))


still_water = Still()


class Square(Field):
    """Fosso 2023's waves: the vector changes sign every half period, positive from t = 0."""

    def __init__(self, amplitude_mps: Sequence[float], half_period_s: float) -> None:
        self.amplitude_mps = np.array(amplitude_mps, dtype=float)
        self.half_period_s = half_period_s

    def sample(self, times_s: Array, position_m: Array) -> Array:
        odd = np.floor(times_s / self.half_period_s + _EDGE) % 2
        return np.outer(1.0 - 2.0 * odd, self.amplitude_mps)


class GaussMarkov(Field):
    """Mean plus a stationary first-order Gauss–Markov process on each axis.

    Drawn once on a grid with the exact discretisation x⁺ = a x + σ √(1−a²) w, a = exp(−dt/T), straight lines between.
    Before the first and after the last grid point the end value holds.
    """

    def __init__(
        self,
        mean_mps: Sequence[float],
        std_mps: Sequence[float],
        time_constant_s: float,
        duration_s: float,
        rng: np.random.Generator,
    ) -> None:
        grid_s = min(0.1, time_constant_s / 50)  # lines between points cost < 1 % of the variance
        count = math.ceil(duration_s / grid_s) + 1
        decay = math.exp(-grid_s / time_constant_s)
        noise = rng.standard_normal((count, 3))
        values = np.empty((count, 3))
        values[0] = noise[0]  # stationary from the start: no run-in with too little current
        for k in range(1, count):
            values[k] = decay * values[k - 1] + math.sqrt(1 - decay**2) * noise[k]
        self.times_s = np.arange(count) * grid_s  # (N,)
        self.values_mps = np.asarray(mean_mps) + np.asarray(std_mps) * values  # (N,3)

    def sample(self, times_s: Array, position_m: Array) -> Array:
        return np.stack([np.interp(times_s, self.times_s, self.values_mps[:, i]) for i in range(3)], axis=1)


class Waves(Field):
    """Orbital velocity of one linear deep-water wave: circles of radius a·exp(−k z), k = ω²/g.

    Surface elevation (up) is a·cos θ with θ = k·x − ω t + phase, x along the direction of travel.
    """

    def __init__(self, amplitude_m: float, period_s: float, direction_rad: float, phase_rad: float) -> None:
        self.omega = 2 * math.pi / period_s
        self.wavenumber = self.omega**2 / GRAVITY_MPS2
        self.speed_mps = amplitude_m * self.omega  # of the water at the surface
        self.direction = np.array([math.cos(direction_rad), math.sin(direction_rad)])
        self.phase_rad = phase_rad

    def sample(self, times_s: Array, position_m: Array) -> Array:
        along = self.direction[0] * position_m[0] + self.direction[1] * position_m[1]
        theta = self.wavenumber * along + self.phase_rad - self.omega * times_s
        size = self.speed_mps * math.exp(-self.wavenumber * max(float(position_m[2]), 0.0))
        ahead = size * np.cos(theta)
        return np.stack([ahead * self.direction[0], ahead * self.direction[1], -size * np.sin(theta)], axis=1)


class Sum(Field):
    """Several currents at once."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)

    def sample(self, times_s: Array, position_m: Array) -> Array:
        total = np.zeros((len(times_s), 3))
        for field in self.fields:
            total += field.sample(times_s, position_m)
        return total


def build_current(environment: Environment, rng: np.random.Generator, duration_s: float) -> Field:
    """The water of a condition, for a run of that length.

    Each entry draws from its own stream, so that adding one at the end leaves the others as they were.
    """
    seeds = rng.integers(2**63, size=(len(environment.currents), 2))
    fields = [
        _build(entry, np.random.default_rng(seed.tolist()), duration_s)
        for entry, seed in zip(environment.currents, seeds, strict=True)
    ]
    if not fields:
        return still_water
    return fields[0] if len(fields) == 1 else Sum(fields)


def _build(entry: Current, rng: np.random.Generator, duration_s: float) -> Field:
    if isinstance(entry, ConstantCurrent):
        return Constant(entry.velocity_mps)
    if isinstance(entry, SquareCurrent):
        return Square(entry.amplitude_mps, entry.half_period_s)
    if isinstance(entry, GaussMarkovCurrent):
        return GaussMarkov(entry.mean_mps, entry.std_mps, entry.time_constant_s, duration_s, rng)
    phase_rad = rng.uniform(0, 2 * math.pi)
    return Waves(entry.amplitude_m, entry.period_s, math.radians(entry.direction_deg), phase_rad)
