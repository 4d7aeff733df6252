"""What a user may tune, with units and ranges. Everything here may change while the controller runs."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.guidance.give_way import GiveWayRule
from shoal.messages.limits import Limits
from shoal.vehicles.scale import scales_with

Array = NDArray[np.float64]
MOST_STEPS = 63  # of the horizon: the compiled solver's arrays


class Weights(FileModel):
    """K of the cost terms K·error², per 0.1 s of horizon (spec section 3)."""

    position_xy: float = Field(default=35.0, ge=0, le=1000, description="1/m², horizontal position")
    position_z: float = Field(default=45.0, ge=0, le=1000, description="1/m², depth")
    attitude: float = Field(default=20.0, ge=0, le=1000, description="on ‖ε̃‖² = 1 − (q·q_d)²")
    attitude_quartic: float = Field(default=0.0, ge=0, le=1000, description="on (η̃² − 1)², Fosso 2023's second term")
    velocity: float = Field(default=25.0, ge=0, le=1000, description="s²/m², against the reference's velocity")
    rate: float = Field(default=3.0, ge=0, le=1000, description="s², body rates")
    thrust: float = Field(
        default=0.007,
        ge=1e-6,
        le=100,
        description="1/N², against the trim thrust",
        json_schema_extra=scales_with("per_input2"),
    )
    thrust_rate: float = Field(
        default=0.01,
        ge=0,
        le=100,
        description="1/N², first thrust against the last one sent",
        json_schema_extra=scales_with("per_input2"),
    )
    proximal: float = Field(
        default=0.01,
        ge=0,
        le=100,
        description="1/N², thrust plan against the last plan",
        json_schema_extra=scales_with("per_input2"),
    )


class Penalties(FileModel):
    """Exact penalties: price per unit of violation (l1), plus a small quadratic one that keeps the QP well-posed."""

    distance_soft: float = Field(default=300.0, ge=1, le=1e4, description="1/m")
    distance_hard: float = Field(default=6000.0, ge=1, le=1e5, description="1/m")
    sight_soft: float = Field(default=150.0, ge=1, le=1e4, description="per unit of cosine")
    sight_hard: float = Field(default=2000.0, ge=1, le=1e5, description="per unit of cosine")
    quadratic: float = Field(default=100.0, ge=0.1, le=1e4, description="on the square of each violation")

    @model_validator(mode="after")
    def _separated(self) -> Penalties:
        if self.distance_hard < 5 * self.distance_soft or self.sight_hard < 5 * self.sight_soft:
            raise ValueError("hard penalties below five times the soft ones, expected well separated weights")
        return self


class Ring(FileModel):
    """Position cost on a ring around the setpoint instead of a place of one's own."""

    form: Literal["off", "root", "quartic"] = Field(
        default="off", description="root: by distance from the ring; quartic: as Fosso 2023 ran it"
    )
    radius_m: float = Field(default=1.1, gt=0, le=100, description="radius of that ring")
    weight: float = Field(default=35.0, ge=0, le=1000, description="1/m², distance from that ring")


class Approach(FileModel):
    """How far the reference may run ahead of the vehicle, so that large errors stay well-posed."""

    reach_m: float = Field(default=0.6, gt=0, le=10, description="error that is always allowed")
    speed_mps: float = Field(default=0.45, gt=0, le=5, description="speed of approach from afar, above the reference's")
    turn_deg: float = Field(default=40.0, gt=0, le=120, description="attitude error that is always allowed")
    turn_rate_dps: float = Field(default=45.0, gt=0, le=180, description="turning rate from afar")


class NmpcSettings(FileModel):
    """Everything about the optimisation but the vehicle."""

    weights: Weights = Weights()
    penalties: Penalties = Penalties()
    limits: Limits = Field(default=Limits(), description="the fleet's, unless given here")
    thrust_step_N: float = Field(
        default=12.0,
        gt=0,
        le=200,
        description="largest change of a command in one period",
        json_schema_extra=scales_with("input"),
    )
    ring: Ring = Ring()
    approach: Approach = Approach()
    give_way: GiveWayRule = GiveWayRule()
    max_neighbours: int = Field(default=4, ge=1, le=32, description="neighbours that the optimisation looks at")
    inputs: Literal["auto", "thrusters", "wrench"] = Field(
        default="auto",
        description="of the optimisation: each thruster's force, or at most six combinations; auto: those beyond 32",
    )
    backend: str = Field(default="auto", description="solver: auto, kernel, hpipm, …")
    fine_steps: int = Field(default=20, ge=1, le=50, description="steps of fine_step_s at the start of the horizon")
    fine_step_s: float = Field(default=0.1, gt=0, le=0.5, description="length of a fine step")
    coarse_steps: int = Field(default=0, ge=0, le=50, description="steps of coarse_step_s behind them")
    coarse_step_s: float = Field(default=0.15, gt=0, le=0.5, description="length of a coarse step")
    max_qp_iterations: int = Field(
        default=25, ge=3, le=100, description="of the quadratic program, in one control period"
    )
    qp_tolerance: float = Field(default=1e-3, gt=0, le=1, description="of its solution")

    @model_validator(mode="after")
    def _fits_the_solver(self) -> NmpcSettings:
        steps = self.fine_steps + self.coarse_steps
        if steps > MOST_STEPS:
            raise ValueError(f"fine_steps + coarse_steps = {steps}, expected at most {MOST_STEPS}: the solver's room")
        return self

    @property
    def steps_s(self) -> Array:
        """The grid."""
        return np.concatenate(
            [np.full(self.fine_steps, self.fine_step_s), np.full(self.coarse_steps, self.coarse_step_s)]
        )
