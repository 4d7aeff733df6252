"""Paths from waypoint files: `config/paths/*.yaml`, or any file an operator saves."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, list_configs, load_yaml, unknown
from shoal.errors import ShoalError
from shoal.guidance.paths import STANDARD_PATHS, Path, standard_path
from shoal.guidance.splines import SAME_POINT_M, MotionLimits, SplineKind, spline_path

Vector = tuple[float, float, float]
FARTHEST_M = 1e5  # from the origin: beyond that a spline's instants cannot be told apart


class WaypointEntry(FileModel):
    """A waypoint; `[x, y, z]` alone will do."""

    position_m: Vector  # NED
    speed_mps: float | None = Field(default=None, gt=0)  # average on the way to it; None: the file's
    velocity_mps: Vector | None = None  # on passing it; for spline 'segments'; None: stop there

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        return {"position_m": data} if isinstance(data, list | tuple) else data


class LimitsEntry(FileModel):
    """What the setpoint never exceeds; the whole path slows down to keep to it."""

    speed_mps: float = Field(default=0.5, gt=0)
    acceleration_mps2: float = Field(default=0.1, gt=0)


class PathFile(FileModel):
    """A waypoint file, validated."""

    version: int = Field(ge=1, le=1)
    description: str = ""
    spline: SplineKind = "quintic"
    speed_mps: float = Field(gt=0)
    limits: LimitsEntry = LimitsEntry()
    waypoints: tuple[WaypointEntry, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _sensible(self) -> PathFile:
        places = np.array([w.position_m for w in self.waypoints])
        for i, place_m in enumerate(places):
            if np.abs(place_m).max() > FARTHEST_M:
                raise ValueError(f"waypoints.{i} is {place_m.tolist()}; expected at most {FARTHEST_M:g} m")
        for i, leg_m in enumerate(np.linalg.norm(np.diff(places, axis=0), axis=1)):
            if leg_m < SAME_POINT_M:
                raise ValueError(f"waypoints.{i} and waypoints.{i + 1} are the same place; expected different ones")
        named = {"speed_mps": self.speed_mps} | {
            f"waypoints.{i}.speed_mps": w.speed_mps for i, w in enumerate(self.waypoints)
        }
        for key, speed_mps in named.items():
            if speed_mps is not None and speed_mps > self.limits.speed_mps:
                raise ValueError(f"{key} is {speed_mps}; expected at most limits.speed_mps = {self.limits.speed_mps}")
        for i, waypoint in enumerate(self.waypoints):
            if waypoint.position_m[2] < 0:
                raise ValueError(
                    f"waypoints.{i} is at depth {waypoint.position_m[2]:g} m; expected it below the surface"
                )
            if max(self.speed_mps, waypoint.speed_mps or 0.0) > self.limits.speed_mps:
                raise ValueError(
                    f"speed_mps = {max(self.speed_mps, waypoint.speed_mps or 0.0):g} is above limits.speed_mps = "
                    f"{self.limits.speed_mps:g} and would be cut, expected at most that"
                )
            if waypoint.velocity_mps is None:
                continue
            if self.spline != "segments":
                raise ValueError(f"waypoints.{i}.velocity_mps with spline '{self.spline}'; expected it with 'segments'")
            if np.linalg.norm(waypoint.velocity_mps) >= self.limits.speed_mps:
                raise ValueError(f"waypoints.{i}.velocity_mps is {waypoint.velocity_mps}; expected less than the limit")
        return self

    def path(self) -> Path:
        """The path it describes."""
        return spline_path(
            [w.position_m for w in self.waypoints],
            self.spline,
            [w.speed_mps or self.speed_mps for w in self.waypoints[1:]],
            MotionLimits(self.limits.speed_mps, self.limits.acceleration_mps2),
            [w.velocity_mps or (0.0, 0.0, 0.0) for w in self.waypoints],
        )


def load_path(name_or_file: str | FilePath) -> Path:
    """A standard path by name, or one from a waypoint file by its name or place."""
    if str(name_or_file) in STANDARD_PATHS:
        return standard_path(str(name_or_file))
    try:
        file = find_config("paths", name_or_file)
    except ShoalError:
        if FilePath(name_or_file).suffix in {".yaml", ".yml"}:
            raise
        known = [*STANDARD_PATHS, *list_configs("paths")]
        raise ShoalError(f"path: {unknown(str(name_or_file), known, 'a waypoint file')}") from None
    return load_yaml(file, PathFile).path()
