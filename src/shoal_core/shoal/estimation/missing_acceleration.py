"""What a model's acceleration lacks, from measured velocities: a critically damped α-β filter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class MissingAcceleration:
    """`value` (6,) is what is missing; `felt_N` (n,) is the thrust behind the same filter, so both are of one time."""

    def __init__(self, bandwidth_radps: float, inputs: int) -> None:
        self._bandwidth_radps = bandwidth_radps
        self.value, self.felt_N = np.zeros(6), np.zeros(inputs)
        self.clear()

    def clear(self) -> None:
        """Nothing is known of the time before."""
        self._twist: Array | None = None
        self._lag_N, self.felt_N = np.zeros(len(self.felt_N)), np.zeros(len(self.felt_N))
        self.value = np.zeros(6)

    @property
    def begun(self) -> bool:
        """Whether there is a velocity to go on from."""
        return self._twist is not None

    def begin(self, twist: Array) -> None:
        """From this velocity (6,) on."""
        self._twist = twist.copy()

    def see(self, duration_s: float, coasting: Array, per_thrust: Array, force_N: Array, twist: Array) -> None:
        """A measured velocity (6,) after that time; acceleration without thrust (6,), by thrust (6,n), thrust (n,)."""
        assert self._twist is not None
        h = duration_s
        left = math.exp(-self._bandwidth_radps * h)
        kept, gain = left**2, (1 - left) ** 2 / h
        error = twist - (self._twist + h * (coasting + per_thrust @ force_N + self.value))
        self._twist = twist - kept * error
        self.value = self.value + gain * error
        error_N = self._lag_N + h * (force_N - self.felt_N)
        self._lag_N = kept * error_N
        self.felt_N = self.felt_N + gain * error_N

    def exchange(self, before: Array, after: Array) -> None:
        """Acceleration by thrust (6,n) is another: what it explained so far is missing now, or the other way round."""
        self.value = self.value + (before - after) @ self.felt_N
