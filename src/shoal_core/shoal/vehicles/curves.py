"""What a thruster gives for what its device is sent, and back: sampled curves, from a table, a polynomial or a line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml

Array = NDArray[np.float64]
_SAMPLES = 400  # of a polynomial, each way


@dataclass(frozen=True)
class Curve:
    """Force against signal, never falling, zero at neutral."""

    unit: str  # of the signal: us (pulse width), 1/s (revolutions) or 1 (share of full)
    neutral: float
    step: float  # the device takes multiples of this; 0: anything
    signals: Array  # (K,) increasing
    forces_N: Array  # (K,) never falling

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curve):
            return NotImplemented
        plain = (self.unit, self.neutral, self.step) == (other.unit, other.neutral, other.step)
        return plain and np.array_equal(self.signals, other.signals) and np.array_equal(self.forces_N, other.forces_N)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _jumps(self) -> tuple[tuple[float, float, float, float, float], ...]:
        """Where force leaves zero at once: half of it, both forces, and the signals for less and more than half."""
        narrow = np.diff(self.signals) < 1e-6 * (self.signals[-1] - self.signals[0])
        found = []
        for k in np.flatnonzero(narrow & (np.abs(np.diff(self.forces_N)) > 0)):
            (low_N, high_N), (first, second) = self.forces_N[k : k + 2], self.signals[k : k + 2]
            below, above = (first, second) if high_N > 0 else (second, first)
            found.append((max(abs(low_N), abs(high_N)) / 2, low_N, high_N, below, above))
        return tuple(found)

    def force_N(self, signal: Array) -> Array:
        """What comes of a signal; beyond the ends, what the ends give."""
        return np.interp(signal, self.signals, self.forces_N)

    def signal(self, force_N: Array) -> Array:
        """What to send for a force: neutral for none, an end for too much."""
        found = np.interp(force_N, self.forces_N, self.signals)
        for at, low_N, high_N, below, above in self._jumps:  # no device gives half of what it jumps to
            inside = (force_N > low_N) & (force_N < high_N)
            found = np.where(inside, np.where(np.abs(force_N) < at, below, above), found)
        if self.step:
            found = np.round(found / self.step) * self.step
        return np.where(np.abs(force_N) < 1e-9, self.neutral, found)

    @cached_property
    def _rows(self) -> tuple[list[float], list[float]]:
        """Signals and forces as plain floats, which a single number is looked up in many times faster."""
        return self.signals.tolist(), self.forces_N.tolist()

    def force_of(self, signal: float) -> float:
        """`force_N` of one signal, to the bit."""
        signals, forces_N = self._rows
        return _interpolated(signal, signals, forces_N)

    def signal_of(self, force_N: float) -> float:
        """`signal` of one force, to the bit."""
        if abs(force_N) < 1e-9:
            return self.neutral
        signals, forces_N = self._rows
        found = _interpolated(force_N, forces_N, signals)
        for at, low_N, high_N, below, above in self._jumps:
            if low_N < force_N < high_N:
                found = float(below if abs(force_N) < at else above)
        return float(round(found / self.step)) * self.step if self.step and found == found else found


def _interpolated(at: float, xs: list[float], ys: list[float]) -> float:
    """`np.interp` of one number, in the same order of operations."""
    if at != at:
        return at
    k = bisect_right(xs, at) - 1
    if k < 0 or k >= len(xs) - 1:
        return ys[max(k, 0)]
    if xs[k] == at:
        return ys[k]
    return (ys[k + 1] - ys[k]) / (xs[k + 1] - xs[k]) * (at - xs[k]) + ys[k]


def curve(unit: str, neutral: float, step: float, signals: Sequence[float] | Array, forces: Array) -> Curve:
    """Measured forces scatter: from neutral outwards none may be smaller than the one before."""
    at, forces = np.asarray(signals, dtype=float), np.array(forces, dtype=float)
    above, below = at >= neutral, at <= neutral
    forces[above] = np.maximum.accumulate(np.maximum(forces[above], 0.0))
    forces[below] = np.minimum.accumulate(np.minimum(forces[below], 0.0)[::-1])[::-1]
    return Curve(unit, neutral, step, at, forces)


def polynomial(
    unit: str, neutral: float, step: float, dead_zone: float, limit: float, forward: Sequence[float],
    reverse: Sequence[float],
) -> Curve:  # fmt: skip
    """c₁ s + c₂ s² + … newtons at a signal s away from neutral, nothing within `dead_zone`, up to `limit`."""
    away = np.linspace(max(dead_zone, 1e-9 * limit), limit, _SAMPLES)

    def side(coefficients: Sequence[float]) -> Array:
        powers = away[:, None] ** np.arange(1, len(coefficients) + 1)
        return np.asarray(powers @ np.asarray(coefficients))

    edge = away[0] * (1 - 1e-9)
    signals = np.concatenate([neutral - away[::-1], [neutral - edge, neutral + edge], neutral + away])
    return curve(unit, neutral, step, signals, np.concatenate([-side(reverse)[::-1], [0.0, 0.0], side(forward)]))


class ThrusterTable(FileModel):
    """Measured forces of a thruster by supply voltage: `config/thrusters/*.yaml`."""

    version: int = Field(ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    source: str = Field(min_length=10)
    neutral_us: float
    step_us: float = Field(ge=0)
    voltages_V: list[float] = Field(min_length=1)
    signals_us: list[float] = Field(min_length=3)
    forces_N: list[list[float]]  # a row for each signal, a column for each voltage

    @model_validator(mode="after")
    def _consistent(self) -> ThrusterTable:
        for key, values in (("voltages_V", self.voltages_V), ("signals_us", self.signals_us)):
            if any(b <= a for a, b in pairwise(values)):
                raise ValueError(f"{key} = {values}: expected increasing numbers")
        shape = [len(row) for row in self.forces_N]
        if shape != [len(self.voltages_V)] * len(self.signals_us):
            raise ValueError(
                f"forces_N has {len(shape)} rows of {sorted(set(shape))}, expected {len(self.signals_us)} rows "
                f"(signals_us) of {len(self.voltages_V)} (voltages_V)"
            )
        if not self.signals_us[0] < self.neutral_us < self.signals_us[-1]:
            raise ValueError(f"neutral_us = {self.neutral_us}, expected between the first and the last of signals_us")
        return self

    def at(self, voltage_V: float) -> Curve:
        """The curve at a voltage, straight between those measured."""
        first, last = self.voltages_V[0], self.voltages_V[-1]
        if not first <= voltage_V <= last:
            raise ValueError(f"voltage of {voltage_V:g} V, expected {first:g} to {last:g} V ({self.name})")
        forces = np.array([np.interp(voltage_V, self.voltages_V, row) for row in self.forces_N])
        return curve("us", self.neutral_us, self.step_us, self.signals_us, forces)


@lru_cache(maxsize=8)
def load_table(name: str) -> ThrusterTable:
    """A thruster's measurements by name or file."""
    return load_yaml(find_config("thrusters", name), ThrusterTable)
