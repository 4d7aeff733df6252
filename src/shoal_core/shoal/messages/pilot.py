"""What a pilot sends: sticks, setpoints, and who steers each axis. From a joystick, a CSV file or a headset, all alike.

Body axes FRD (surge forward, sway to starboard, heave down), positions NED, angles as roll, pitch, yaw. As JSON:

    {"sticks": {"surge": 0.3}, "setpoints": {"yaw_deg": 90}, "rates": {"yaw_dps": 5},
     "preset": "depth_hold", "levels": {"yaw": "hold"}}
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError

Array = NDArray[np.float64]
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")
SETPOINTS = ("north_m", "east_m", "depth_m", "roll_deg", "pitch_deg", "yaw_deg")
RATES = ("north_mps", "east_mps", "depth_mps", "roll_dps", "pitch_dps", "yaw_dps")
PRESETS = ("manual", "stabilise", "depth_hold", "position_hold", "guided", "fleet")
KEYS = ("sticks", "setpoints", "rates", "preset", "levels")
LARGEST = 1e4  # m or degrees: nobody means more
LONGEST_TEXT = 4000


class Level(str, Enum):
    """Who steers an axis."""

    DIRECT = "direct"  # the stick is the effort, −1 … 1 of the largest force or moment
    RATE = "rate"  # the stick moves what is held
    HOLD = "hold"  # held where it is; the stick does nothing
    GUIDED = "guided"  # follows setpoints


NO_LEVELS: Mapping[str, Level] = MappingProxyType({})


def _nothing() -> Array:
    return np.full(6, np.nan)


@dataclass(frozen=True)
class PilotInput:
    """One message of a pilot."""

    stamp_s: float
    sticks: Array = field(default_factory=lambda: np.zeros(6))  # (6,) −1 … 1, in the order of AXES
    setpoints: Array = field(default_factory=_nothing)  # (6,) north, east, depth (m), roll, pitch, yaw (rad); NaN: none
    rates: Array = field(default_factory=_nothing)  # (6,) of the setpoints, m/s and rad/s; NaN: not known
    preset: str = ""  # empty: as it is
    levels: Mapping[str, Level] = field(default_factory=lambda: NO_LEVELS)  # on top of the preset; absent: as it is


def pilot_from_json(text: str, stamp_s: float) -> PilotInput:
    """A ShoalError names the key and value that make no sense."""
    try:
        data = json.loads(text[:LONGEST_TEXT])
    except (ValueError, RecursionError):
        raise ShoalError(f"pilot: {text[:60]!r} is no JSON; expected an object with {', '.join(KEYS)}") from None
    if not isinstance(data, dict):
        raise ShoalError(f"pilot: {text[:60]!r}, expected an object with {', '.join(KEYS)}")
    if unknown := [key for key in data if key not in KEYS]:
        raise ShoalError(f"pilot: key '{unknown[0]}' is unknown; expected one of {', '.join(KEYS)}")
    preset = data.get("preset", "")
    if preset not in ("", *PRESETS):
        raise ShoalError(f"pilot: preset = {preset!r}, expected one of {', '.join(PRESETS)}")
    degrees = np.array([1.0, 1.0, 1.0, *[math.pi / 180] * 3])
    sticks = _numbers(data, "sticks", AXES, 1.0)
    return PilotInput(
        stamp_s,
        np.where(np.isnan(sticks), 0.0, sticks),
        _numbers(data, "setpoints", SETPOINTS, LARGEST) * degrees,
        _numbers(data, "rates", RATES, LARGEST) * degrees,
        preset,
        _levels(data),
    )


def _numbers(data: dict[str, Any], key: str, names: tuple[str, ...], most: float) -> Array:
    """(6,) NaN for what is not given."""
    given = data.get(key, {})
    if not isinstance(given, dict):
        raise ShoalError(f"pilot: {key} = {given!r}, expected an object with {', '.join(names)}")
    found = np.full(6, np.nan)
    for name, value in given.items():
        if name not in names:
            raise ShoalError(f"pilot: {key}: '{name}' is unknown; expected one of {', '.join(names)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= most:
            raise ShoalError(f"pilot: {key}: {name} = {value!r}, expected a number from {-most:g} to {most:g}")
        found[names.index(name)] = float(value)
    return found


def _levels(data: dict[str, Any]) -> Mapping[str, Level]:
    given = data.get("levels", {})
    expected = f"expected {', '.join(AXES)} with {', '.join(level.value for level in Level)}"
    if not isinstance(given, dict):
        raise ShoalError(f"pilot: levels = {given!r}, {expected}")
    for axis, level in given.items():
        if axis not in AXES or level not in [known.value for known in Level]:
            raise ShoalError(f"pilot: levels: {axis} = {level!r}, {expected}")
    return {axis: Level(level) for axis, level in given.items()}
