"""A pilot's dive from a CSV file: wanted roll, pitch and yaw, and efforts of surge, sway and heave, over time."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from shoal.autopilot.attitude import WantedAttitude
from shoal.config.files import config_roots
from shoal.errors import ShoalError
from shoal.messages.pilot import AXES, RATES, SETPOINTS

Array = NDArray[np.float64]
DIVE_LEVELS = {**dict.fromkeys(AXES[:3], "direct"), **dict.fromkeys(AXES[3:], "guided")}
COLUMNS = ("t_s", "roll_deg", "pitch_deg", "yaw_deg", "surge", "sway", "heave")


@dataclass(frozen=True)
class Dive:
    """Smooth between the lines of the file; the wanted rates come of the same curve."""

    angles: CubicSpline  # (3,) rad
    efforts: CubicSpline  # (3,) −1 … 1
    duration_s: float

    def wanted(self, t_s: float) -> WantedAttitude:
        """At an instant; before and after the dive, its ends at rest."""
        t = min(max(t_s, 0.0), self.duration_s)
        moving = 1.0 if t == t_s else 0.0
        return WantedAttitude(self.angles(t), moving * self.angles(t, 1), moving * self.angles(t, 2))

    def effort(self, t_s: float) -> Array:
        """Surge, sway, heave (3,)."""
        return np.clip(self.efforts(min(max(t_s, 0.0), self.duration_s)), -1.0, 1.0)


def load_dive(name_or_path: str | Path) -> Dive:
    """By name in config/dives, or a file; a ShoalError names the line and what was expected."""
    text = str(name_or_path)
    shipped = [root / "dives" / f"{text}.csv" for root in config_roots()]
    path = next((path for path in (Path(text), *shipped) if os.path.isfile(path)), Path(text))
    if not os.path.isfile(path):
        raise ShoalError(f"{path}: no such file; expected a CSV file with the columns {', '.join(COLUMNS)}")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(line for line in file if not line.startswith("#")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ShoalError(f"{path}: cannot be read ({error}); expected a CSV file in UTF-8") from None
    if not rows or tuple(name.strip() for name in rows[0]) != COLUMNS:
        found = ",".join(rows[0])[:200] if rows else "missing"
        raise ShoalError(f"{path}: first line {found!r}, expected {','.join(COLUMNS)}")
    values = np.array([_numbers(path, k, row) for k, row in enumerate(rows[1:], start=2)]).reshape(-1, len(COLUMNS))
    if len(values) < 4 or (np.diff(values[:, 0]) <= 0).any():
        raise ShoalError(f"{path}: t_s: {len(values)} lines, expected at least 4 with increasing times")
    if np.abs(values[:, 4:]).max() > 1:
        raise ShoalError(f"{path}: efforts up to {np.abs(values[:, 4:]).max():g}, expected -1 to 1")
    t_s = values[:, 0] - values[0, 0]
    return Dive(CubicSpline(t_s, np.radians(values[:, 1:4])), CubicSpline(t_s, values[:, 4:]), float(t_s[-1]))


def pilot_message(course: Dive, t_s: float) -> dict[str, object]:
    """What a pilot who flies the dive sends at an instant: angles as setpoints with their rates, forces as sticks."""
    wanted = course.wanted(t_s)
    angles, rates = np.degrees(wanted.angles_rad), np.degrees(wanted.rates_radps)
    return {
        "sticks": dict(zip(AXES[:3], course.effort(t_s).tolist(), strict=True)),
        "setpoints": dict(zip(SETPOINTS[3:], angles.tolist(), strict=True)),
        "rates": dict(zip(RATES[3:], rates.tolist(), strict=True)),
        "levels": DIVE_LEVELS,
    }


def _numbers(path: Path, line: int, row: list[str]) -> list[float]:
    try:
        found = [float(text) for text in row]
    except ValueError:
        found = []
    if len(found) != len(COLUMNS) or not np.isfinite(found).all():
        raise ShoalError(f"{path}: line {line}: {','.join(row)[:80]!r}, expected {len(COLUMNS)} numbers")
    return found
