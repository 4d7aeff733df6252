"""A pilot who changes levels at random all the time, to see that nothing jumps. Deterministic for a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.messages.pilot import AXES, PRESETS, Level, PilotInput

Array = NDArray[np.float64]
SIZE = np.array([1.0, 1.0, 0.5, 0.2, 0.3, 1.0])  # m and rad, of the setpoints' motion
STICKS = np.array([0.35, 0.35, 0.3, 0.03, 0.03, 0.3])
TILTING = ("roll", "pitch")
BY_PRESET = 0.3  # share of changes; the others are of one axis


class RandomPilot:
    """Smooth sticks and setpoints around a place; call it once a period."""

    def __init__(
        self, seed: int, place_m: Array, switch_chance: float, presets: tuple[str, ...] = PRESETS, tilts: bool = True
    ) -> None:
        """`switch_chance`: of a change of level at a call. `tilts`: roll and pitch may be direct, so that nobody holds
        them while surge, sway and heave push off the centre of mass; else they are always held or led.
        """
        self._tilts = tilts
        self._rng, self._presets, self._chance = np.random.default_rng([seed, 7]), presets, switch_chance
        self._hertz = np.concatenate([self._rng.uniform(0.05, 0.3, 6), self._rng.uniform(0.02, 0.07, 6)])
        self._phases = self._rng.uniform(0, 2 * np.pi, 12)
        self._here = np.concatenate([place_m, np.zeros(3)])
        self.switches = 0

    def __call__(self, t_s: float) -> PilotInput:
        """What is sent at an instant."""
        angle = 2 * np.pi * self._hertz * t_s + self._phases
        rates = SIZE * 2 * np.pi * self._hertz[6:] * np.cos(angle[6:])
        preset, levels = "", dict[str, Level]()
        switch, by_preset, axis, level, name = self._rng.random(5)
        if switch < self._chance:
            self.switches += 1
            if by_preset < BY_PRESET:
                preset = self._presets[int(name * len(self._presets))]
            else:
                levels = {AXES[int(6 * axis)]: list(Level)[int(4 * level)]}
        if not self._tilts:
            preset = "stabilise" if preset == "manual" else preset
            levels = {a: Level.GUIDED if a in TILTING and v is Level.DIRECT else v for a, v in levels.items()}
        where = self._here + SIZE * np.sin(angle[6:])
        return PilotInput(t_s, STICKS * np.sin(angle[:6]), where, rates, preset, levels)
