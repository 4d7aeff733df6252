"""What goes wrong with navigation beyond noise: outliers, map corrections, drift, a sensor frozen or silent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.frames import from_yaw, multiply
from shoal.messages.state import ATTITUDE, POSITION

Array = NDArray[np.float64]
_EDGE = 1e-9  # seconds; times are sums of steps


class Outliers(FileModel):
    """Single positions that are far off, in any direction."""

    share: float = Field(default=0.0, ge=0, le=1)  # of the measurements, in which an outlier begins
    size_m: float = Field(default=5.0, gt=0)
    burst: int = Field(default=1, ge=1)  # so many measurements in a row, each off in a direction of its own

    @model_validator(mode="after")
    def _some(self) -> Outliers:
        return _act_with(self, "share", ("size_m", "burst"))


class Jumps(FileModel):
    """Map corrections: the navigation's origin steps aside, and with the next correction back again."""

    every_s: float = Field(default=0.0, ge=0)  # 0: never; the first one at a time drawn for each vehicle
    position_m: float = Field(default=0.0, ge=0)  # horizontally, in a direction drawn for each
    heading_deg: float = Field(default=0.0, ge=0, le=180)  # to either side
    vehicle: int | None = Field(default=None, ge=0)  # of this one alone, by its index in the fleet; None: of all

    @model_validator(mode="after")
    def _some(self) -> Jumps:
        if self.every_s > 0 and self.position_m == 0 and self.heading_deg == 0:
            raise ValueError(f"every_s is {self.every_s} and does nothing; expected position_m or heading_deg with it")
        return _act_with(self, "every_s", ("position_m", "heading_deg", "vehicle"))


class Spells(FileModel):
    """Times of trouble that return."""

    every_s: float = Field(default=0.0, ge=0)  # 0: never; the first one at a time drawn for each vehicle
    lasting_s: float = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _some(self) -> Spells:
        if 0 < self.every_s <= self.lasting_s:
            raise ValueError(f"every_s is {self.every_s}; expected more than lasting_s = {self.lasting_s}")
        return _act_with(self, "every_s", ("lasting_s",))


def jumps_of(jumps: Jumps, vehicle: int) -> Jumps:
    """Those of one vehicle."""
    return jumps if jumps.vehicle in (None, vehicle) else Jumps()


def _act_with(settings: Any, key: str, others: tuple[str, ...]) -> Any:
    """A value acts, or the file is refused."""
    for other in others:
        value = getattr(settings, other)
        if getattr(settings, key) == 0 and value != type(settings).model_fields[other].default:
            raise ValueError(f"{other} is {value} and does nothing; expected {key} > 0 with it")
    return settings


class Schedule:
    """Events `every_s`, the first one at `share` of that."""

    def __init__(self, every_s: float, share: float) -> None:
        self._every_s, self._first_s = every_s, every_s * share

    def count(self, t_s: float) -> int:
        """How many have been by `t_s`."""
        if self._every_s == 0 or t_s < self._first_s - _EDGE:
            return 0
        return 1 + math.floor((t_s - self._first_s) / self._every_s + _EDGE)

    def since_s(self, t_s: float) -> float:
        """Since the last of them."""
        count = self.count(t_s)
        return math.inf if count == 0 else t_s - self._first_s - (count - 1) * self._every_s


class NavigationErrors:
    """One vehicle's. Draws the same number of random values for each measurement, whatever the settings."""

    def __init__(
        self,
        outliers: Outliers,
        jumps: Jumps,
        freezes: Spells,
        gaps: Spells,
        drift_mps: float,
        walk_m: float,
        rng: np.random.Generator,
    ) -> None:
        """`drift_mps`: horizontally, in a direction drawn once; `walk_m`: one sigma an axis after a second."""
        self._outliers, self._jumps, self._freezes, self._gaps = outliers, jumps, freezes, gaps
        self._rng, self._walk_m = rng, walk_m
        phases, bearing = rng.random(3), 2 * math.pi * rng.random()
        self._jumped = Schedule(jumps.every_s, phases[0])
        self._froze, self._fell_silent = Schedule(freezes.every_s, phases[1]), Schedule(gaps.every_s, phases[2])
        self._drift_mps = drift_mps * np.array([math.cos(bearing), math.sin(bearing), 0.0])
        self._wandered_m, self._last_s = np.zeros(3), 0.0
        self._jumps_made, self._origin_m, self._turn_rad = 0, np.zeros(3), 0.0
        self._left = 0  # of a burst
        self._kept: Array | None = None  # what a frozen sensor repeats

    def silent(self, t_s: float) -> bool:
        """Whether nothing is measured at `t_s`."""
        return self._fell_silent.since_s(t_s) < self._gaps.lasting_s - _EDGE

    def spoil(self, t_s: float, measured: Array) -> Array:
        """A measurement (13,) with these errors."""
        begins, bearing, side = self._rng.random(3).tolist()
        way, steps = self._rng.standard_normal(3), self._rng.standard_normal(3)
        self._wandered_m += self._walk_m * math.sqrt(max(0.0, t_s - self._last_s)) * steps
        self._last_s = t_s
        self._jump(t_s, 2 * math.pi * bearing, math.copysign(1.0, side - 0.5))
        outlier = self._left > 0 or begins < self._outliers.share
        self._left = self._left - 1 if self._left > 0 else (self._outliers.burst - 1 if outlier else 0)
        if self._froze.since_s(t_s) < self._freezes.lasting_s - _EDGE and self._kept is not None:
            return self._kept.copy()
        spoilt = measured.copy()
        spoilt[POSITION] += self._origin_m + self._wandered_m + t_s * self._drift_mps
        if self._turn_rad != 0:
            spoilt[ATTITUDE] = multiply(from_yaw(np.array([self._turn_rad]))[0], spoilt[ATTITUDE])
        if outlier:
            spoilt[POSITION] += self._outliers.size_m * way / np.linalg.norm(way)
        self._kept = spoilt
        return spoilt

    def _jump(self, t_s: float, bearing_rad: float, side: float) -> None:
        count = self._jumped.count(t_s)
        if count == self._jumps_made:
            return
        self._jumps_made = count
        aside = count % 2 == 1
        way = np.array([math.cos(bearing_rad), math.sin(bearing_rad), 0.0])
        self._origin_m = self._jumps.position_m * way if aside else np.zeros(3)
        self._turn_rad = side * math.radians(self._jumps.heading_deg) if aside else 0.0
