"""The optical link as a sensor: bearing and range to whoever is in the cone, with noise and drop-outs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix
from shoal.messages.scan import Scan
from shoal.messages.state import ATTITUDE, POSITION
from shoal.simulation.conditions import RelativeSensor

Array = NDArray[np.float64]
_EDGE = 1e-9  # seconds; times are sums of steps


class RelativeSensors:
    """Of the whole fleet. Every look draws the same number of random values, whoever is seen."""

    def __init__(self, settings: RelativeSensor, names: tuple[str, ...], rng: np.random.Generator) -> None:
        self.settings, self._names, self._rng = settings, names, rng
        self._last_slot = -1

    def scans(self, t_s: float, states: Array) -> dict[str, Scan]:
        """Everybody's look at `t_s`, if one is due; states (V,13), the truth."""
        s, count = self.settings, len(self._names)
        slot = math.floor(t_s * s.rate_hz + _EDGE)
        if not s.enabled or slot <= self._last_slot:
            return {}
        self._last_slot = slot
        noise, lost = self._rng.standard_normal((count, count, 3)), self._rng.random((count, count))
        return {
            name: Scan(t_s, {
                other: self._seen(to_m, noise[i, j])
                for j, other in enumerate(self._names)
                if j != i and lost[i, j] >= s.dropout and self._visible(to_m := self._offset(states, i, j))
            })
            for i, name in enumerate(self._names)
        }  # fmt: skip

    @staticmethod
    def _offset(states: Array, i: int, j: int) -> Array:
        away: Array = states[j, POSITION] - states[i, POSITION]
        return np.asarray(matrix(states[i, ATTITUDE]).T @ away)

    def _visible(self, to_m: Array) -> bool:
        range_m = float(np.linalg.norm(to_m))
        return 0 < range_m <= self.settings.range_m and math.degrees(math.acos(to_m[0] / range_m)) <= (
            self.settings.cone_deg
        )

    def _seen(self, to_m: Array, noise: Array) -> Array:
        """Range along the line of sight, two bearings across it."""
        s, range_m = self.settings, float(np.linalg.norm(to_m))
        along = to_m / range_m
        side = np.cross(along, [0.0, 0.0, 1.0] if abs(along[2]) < 0.9 else [1.0, 0.0, 0.0])
        side /= np.linalg.norm(side)
        across_m = range_m * math.radians(s.bearing_std_deg)
        measured_m = range_m + math.hypot(s.range_std_m, s.range_share * range_m) * noise[0]
        return np.asarray(measured_m * along + across_m * (noise[1] * side + noise[2] * np.cross(along, side)))
