"""Steps of a pilot made smooth: a critically damped second-order filter, angles by the short way round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ReferenceFilter:
    """Value, rate and acceleration (n,) that a vehicle of bandwidth ω can follow."""

    def __init__(self, start: Array, omega_radps: float | Array, angles: bool = True) -> None:
        self.value, self.rate = np.array(start, dtype=float), np.zeros(len(start))
        self.acceleration = np.zeros(len(start))
        self._omega, self._angles = omega_radps, angles

    def reset(self, value: Array, rate: Array) -> None:
        """Go on from where the vehicle is: switching to it then moves nothing."""
        self.value, self.rate = np.array(value, dtype=float), np.array(rate, dtype=float)
        self.acceleration = np.zeros(len(self.value))

    def step(
        self,
        target: Array,
        duration_s: float,
        target_rate: float | Array = 0.0,
        target_acceleration: float | Array = 0.0,
    ) -> None:
        """Exact for a target of constant acceleration: x̃(t) = (x̃₀ + (x̃̇₀ + ω x̃₀) t) e^(−ωt), x̃ the way to go, reversed.

        `target` and its rate are those at the end of the step.
        """
        w, t = self._omega, duration_s
        gap = self.value - (target - target_rate * t + target_acceleration * t**2 / 2)
        if self._angles:
            turned = (gap + np.pi) % (2 * np.pi) - np.pi
            target, gap = target + (gap - turned), turned
        slope = self.rate - (target_rate - target_acceleration * t) + w * gap
        decay = np.exp(-w * t)
        left = (gap + slope * t) * decay
        moving = (slope - w * (gap + slope * t)) * decay
        self.value, self.rate = target + left, target_rate + moving
        self.acceleration = target_acceleration - 2 * w * moving - w**2 * left
