"""The water an operator asks for: a steady current and waves on top. No Qt, no ROS.

The station itself plays the waves on `/ocean_current`, so that they reach whatever makes the water there: the built-in
plant or Gazebo.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
MAX_SPEED_MPS = 5.0  # the plant refuses more


@dataclass(frozen=True)
class Water:
    """NED."""

    current_mps: Vector = (0.0, 0.0, 0.0)
    waves_mps: Vector = (0.0, 0.0, 0.0)  # amplitude
    period_s: float = 10.0
    shape: Literal["sine", "square"] = "sine"

    @property
    def moving(self) -> bool:
        """Whether it changes with time."""
        return any(self.waves_mps)

    def velocity(self, t_s: float) -> Array:
        """(3,) at that time; waves begin upwards at 0."""
        phase = float(np.sin(2 * np.pi * t_s / self.period_s))
        if self.shape == "square":
            phase = 1.0 if (t_s / self.period_s) % 1.0 < 0.5 else -1.0
        return np.array(self.current_mps) + phase * np.array(self.waves_mps)

    def problem(self) -> str:
        """Why it cannot be; empty: it can."""
        strongest = float(np.linalg.norm(np.abs(self.current_mps) + np.abs(self.waves_mps)))
        if strongest > MAX_SPEED_MPS:
            return f"up to {strongest:.1f} m/s; expected at most {MAX_SPEED_MPS:g} m/s"
        return "" if self.period_s > 0 else f"period {self.period_s} s; expected more than 0"
