"""Kinds of moving water, as written in a condition file. Vectors are NED, metres per second."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Vector = tuple[float, float, float]


class Frozen(BaseModel):
    """Base of everything read from a file: no unknown keys, no changes, no NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ConstantCurrent(Frozen):
    """The same everywhere, always."""

    kind: Literal["constant"]
    velocity_mps: Vector


class SquareCurrent(Frozen):
    """The thesis's waves: the vector changes sign every half period, starting positive at t = 0."""

    kind: Literal["square"]
    amplitude_mps: Vector
    half_period_s: float = Field(default=2.0, gt=0)


class GaussMarkovCurrent(Frozen):
    """A slowly wandering current: mean plus a first-order Gauss-Markov process on each axis."""

    kind: Literal["gauss_markov"]
    mean_mps: Vector = (0.0, 0.0, 0.0)
    std_mps: Vector = (0.05, 0.05, 0.02)
    time_constant_s: float = Field(default=30.0, gt=0)


class WavesCurrent(Frozen):
    """Orbital velocity of one linear deep-water wave, decaying with depth; phase drawn from the run's seed."""

    kind: Literal["waves"]
    amplitude_m: float = Field(gt=0)
    period_s: float = Field(gt=0)
    direction_deg: float = 0.0  # where the wave travels to, from north towards east


Current = Annotated[ConstantCurrent | SquareCurrent | GaussMarkovCurrent | WavesCurrent, Field(discriminator="kind")]
