"""What an operator may set: the guidance node's parameters, with units, ranges and the rules between them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.fleet.file import Fleet
from shoal.guidance.director import PREVIEW_S, DirectorSettings
from shoal.guidance.formation import Formation
from shoal.guidance.ready import ReadyRule
from shoal.guidance.sequence import Trial, make_trials
from shoal.guidance.splines import MotionLimits
from shoal.guidance.velocity_setpoint import TurnLimits

FIXED = ("start_mode", "preview_s", "rate_hz", "patience_s")  # read-only once the node runs


class GuidanceSettings(FileModel):
    """Flat, because each field is a parameter of that name."""

    start_mode: Literal["hold", "manual", "waypoints", "test"] = Field(
        default="hold",
        description="mode taken once odometry of the whole fleet is there; after a restart it is always hold",
    )
    preview_s: float = Field(default=PREVIEW_S, ge=4, le=30, description="s, how far ahead /fleet/reference looks")
    rate_hz: float = Field(default=20.0, ge=1, le=100, description="Hz of ROS time, of the setpoint")
    patience_s: float = Field(default=10.0, ge=0, le=600, description="s, wait for odometry from the rest of the fleet")

    test: str = Field(
        default="circle",
        description="standard test, path name or file; with commas a sequence; 'all': the four standard ones",
    )
    repeat: int = Field(default=1, ge=1, le=1000, description="how often the sequence of tests is run")
    test_duration_s: float = Field(default=0.0, ge=0, le=86400, description="s, ends tests early; 0: the path's own")
    ready_angle_deg: float = Field(
        default=15.0, gt=0, le=180, description="deg, ready: beyond the formation's own angle"
    )
    ready_distance_m: float = Field(default=2.0, gt=0, le=100, description="m, ready: from the own place at the start")
    ready_s: float = Field(default=5.0, ge=0, le=600, description="s, ready: how long, on every vehicle")

    speed_mps: float = Field(default=0.3, gt=0, le=5, description="m/s, average, to waypoints and to a test's start")
    speed_limit_mps: float = Field(default=0.5, gt=0, le=5, description="m/s, of the setpoint at most")
    acceleration_limit_mps2: float = Field(default=0.1, gt=0, le=2, description="m/s², of the setpoint at most")
    yaw_rate_limit_degps: float = Field(default=10.0, gt=0, le=90, description="deg/s, of the formation at most")
    stick_timeout_s: float = Field(
        default=0.5, gt=0, le=10, description="s, a stick silent for longer counts as released"
    )
    odometry_timeout_s: float = Field(default=1.0, gt=0, le=60, description="s, older odometry does not count as ready")

    formation_kind: Literal["point", "ring", "line", "offsets"] = Field(
        default="point", description="offsets: those of the fleet file"
    )
    formation_spacing_m: float = Field(default=2.0, gt=0, le=100, description="m, between neighbours")
    formation_radius_m: float = Field(default=2.0, gt=0, le=1000, description="m, of a ring")
    formation_line_deg: float = Field(default=90.0, ge=-360, le=360, description="deg, of a line, from the yaw")

    @model_validator(mode="after")
    def _sensible(self) -> GuidanceSettings:
        if self.speed_mps > self.speed_limit_mps:
            raise ValueError(
                f"speed_mps = {self.speed_mps} exceeds speed_limit_mps = {self.speed_limit_mps}, expected no more"
            )
        self.trials()  # loads the paths, so that a wrong name is refused at once
        return self

    @staticmethod
    def of(fleet: Fleet) -> GuidanceSettings:
        """With the fleet file's formation."""
        formation, count = fleet.formation, len(fleet.vehicles)
        enough_m = formation.spacing_m / (2 * np.sin(np.pi / count)) if count > 1 else formation.spacing_m
        fixed = isinstance(formation.radius_m, float)  # a radius that changes with time is no parameter
        given: dict[str, Any] = {
            "formation_kind": formation.kind,
            "formation_spacing_m": formation.spacing_m,
            "formation_radius_m": formation.radius_m if fixed else round(float(enough_m) + 0.05, 1),
            "formation_line_deg": formation.line_deg,
        }
        return GuidanceSettings.model_validate(given)

    def director(self) -> DirectorSettings:
        """Speeds and limits."""
        return DirectorSettings(
            speed_mps=self.speed_mps,
            limits=MotionLimits(self.speed_limit_mps, self.acceleration_limit_mps2),
            turn=TurnLimits(rate_radps=float(np.radians(self.yaw_rate_limit_degps))),
            ready_s=self.ready_s,
            stick_timeout_s=self.stick_timeout_s,
        )

    def rule(self) -> ReadyRule:
        """When a test may start."""
        return ReadyRule(self.ready_angle_deg, self.ready_distance_m)

    def formation(self, fleet: Fleet) -> Formation:
        """The fleet file's, as these parameters change it; a ShoalError when it cannot be."""
        return fleet.formation.changed(
            kind=self.formation_kind,
            spacing_m=self.formation_spacing_m,
            radius_m=self.formation_radius_m if self.formation_kind == "ring" else None,
            line_deg=self.formation_line_deg,
        )

    def trials(self) -> tuple[Trial, ...]:
        """The tests, with their paths."""
        return make_trials(self.test, self.test_duration_s)
