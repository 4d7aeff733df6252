"""Progress lines of a run with a known end: a minute without output looks like a hang."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.frames import tilt_rad
from shoal.messages.geometry import distances_m
from shoal.messages.state import ATTITUDE

Array = NDArray[np.float64]
EVERY_S = 10.0  # simulated
QUIET_S = 5.0  # wall: a run faster than real time must not flood the log


class ProgressLines:
    """`line` returns a text whenever one is due, with the extremes of the truth so far."""

    def __init__(self, duration_s: float) -> None:
        """A duration of 0 has no end and therefore no progress."""
        self._duration_s = duration_s
        self._next_s, self._quiet_until_s = EVERY_S, -math.inf
        self._nearest_m, self._tilt_deg = math.inf, 0.0

    def line(self, t_s: float, wall_s: float, states: Array) -> str | None:
        """`states` (V,13) are the truth at `t_s`; call it at every control step."""
        if self._duration_s <= 0.0:
            return None
        self._tilt_deg = max(self._tilt_deg, *(math.degrees(tilt_rad(state[ATTITUDE])) for state in states))
        if len(states) > 1:
            self._nearest_m = min(self._nearest_m, float(distances_m(states[None]).min()))
        if t_s + 1e-9 < self._next_s or wall_s < self._quiet_until_s:
            return None
        self._next_s, self._quiet_until_s = t_s + EVERY_S - t_s % EVERY_S, wall_s + QUIET_S
        words = [f"{t_s:.0f} of {self._duration_s:g} s", f"largest tilt so far {self._tilt_deg:.1f}°"]
        if math.isfinite(self._nearest_m):
            words.insert(1, f"smallest distance so far {self._nearest_m:.2f} m")
        return ", ".join(words)
