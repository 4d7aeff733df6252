"""Levels of autonomy: who steers each axis, and the usual combinations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from shoal.messages.pilot import AXES, PRESETS, Level

D, R, H, G = Level.DIRECT, Level.RATE, Level.HOLD, Level.GUIDED
# surge, sway, heave, roll, pitch, yaw
_LEVELS: dict[str, tuple[Level, ...]] = {
    "manual": (D, D, D, D, D, D),
    "stabilise": (D, D, D, H, H, R),
    "depth_hold": (D, D, R, H, H, R),
    "position_hold": (R, R, R, H, H, R),
    "guided": (G, G, G, G, G, G),
    "fleet": (G, G, G, G, G, G),
}
LEVELLED = ("stabilise", "depth_hold", "position_hold")  # roll and pitch go to zero; elsewhere they are held as found
assert tuple(_LEVELS) == PRESETS


@dataclass(frozen=True)
class Levels:
    """What is active."""

    preset: str  # empty: none of them
    axes: tuple[Level, ...]  # (6,)

    @staticmethod
    def of(preset: str) -> Levels:
        """By name."""
        return Levels(preset, _LEVELS[preset])

    @property
    def fleet(self) -> bool:
        """The fleet's controller steers."""
        return self.preset == "fleet"

    def changed(self, preset: str, levels: Mapping[str, Level]) -> Levels:
        """Another preset, if one is named, and other levels on top of it."""
        start = Levels.of(preset) if preset else self
        axes = tuple(levels.get(axis, level) for axis, level in zip(AXES, start.axes, strict=True))
        return start if axes == start.axes else Levels("", axes)

    def to_json(self) -> str:
        """As on the topic."""
        return json.dumps({"preset": self.preset, **{a: v.value for a, v in zip(AXES, self.axes, strict=True)}})

    def __str__(self) -> str:
        axes = ", ".join(f"{a} {v.value}" for a, v in zip(AXES, self.axes, strict=True))
        return self.preset or axes
