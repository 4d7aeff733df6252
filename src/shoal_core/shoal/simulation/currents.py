"""Kinds of moving water, as written in a condition file. Vectors are NED, metres per second."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shoal.config.file_model import FileModel

FASTEST_MPS = 10.0  # the strongest tidal streams
Speed = Annotated[float, Field(ge=-FASTEST_MPS, le=FASTEST_MPS)]
Speeds = tuple[Speed, Speed, Speed]  # NED


class ConstantCurrent(FileModel):
    """The same everywhere, always."""

    kind: Literal["constant"]
    velocity_mps: Speeds


class SquareCurrent(FileModel):
    """Fosso 2023's waves: the vector changes sign every half period, starting positive at t = 0."""

    kind: Literal["square"]
    amplitude_mps: Speeds
    half_period_s: float = Field(default=2.0, gt=0)


class GaussMarkovCurrent(FileModel):
    """A slowly wandering current: mean plus a first-order Gauss-Markov process on each axis."""

    kind: Literal["gauss_markov"]
    mean_mps: Speeds = (0.0, 0.0, 0.0)
    std_mps: Speeds = (0.05, 0.05, 0.02)
    time_constant_s: float = Field(default=30.0, gt=0)


class WavesCurrent(FileModel):
    """Orbital velocity of one linear deep-water wave, decaying with depth; phase drawn from the run's seed."""

    kind: Literal["waves"]
    amplitude_m: float = Field(gt=0, le=30)
    period_s: float = Field(gt=0)
    direction_deg: float = 0.0  # where the wave travels to, from north towards east


Current = Annotated[ConstantCurrent | SquareCurrent | GaussMarkovCurrent | WavesCurrent, Field(discriminator="kind")]
