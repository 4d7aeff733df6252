"""Which columns of a CSV file hold what: a small YAML file beside somebody else's log."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel

Triple = tuple[str, str, str]
AxisName = Literal["surge", "sway", "heave", "roll", "pitch", "yaw"]


class NoiseEntry(FileModel):
    """One sigma of each measurement, with whatever the model is not expected to explain."""

    position_m: float = Field(default=0.02, gt=0)
    attitude_deg: float = Field(default=0.5, gt=0)
    velocity_mps: float = Field(default=0.01, gt=0)
    rate_dps: float = Field(default=0.5, gt=0)


class PwmEntry(FileModel):
    """Pulse widths, one column for each thruster of the vehicle, in its order."""

    columns: list[str] = Field(min_length=1)
    table: str = "t200"
    voltage_V: float = Field(gt=0)
    inverted: tuple[str, ...] = ()  # columns whose pulses are mirrored about neutral before the thruster's curve
    reversed: tuple[str, ...] = ()  # columns whose positive force pushes against the thruster's direction

    @model_validator(mode="after")
    def _known(self) -> PwmEntry:
        for key, names in (("inverted", self.inverted), ("reversed", self.reversed)):
            if stray := [n for n in names if n not in self.columns]:
                raise ValueError(f"{key} = {stray[0]}, expected some of columns")
        return self


class AxesEntry(FileModel):
    """Normalised axes in −1 … 1, FRD, through a mixer to pulse widths and the thruster's curve."""

    columns: dict[AxisName, str] = Field(min_length=1)
    mixer: Literal["heuristic", "quantitative"] = "heuristic"
    table: str = "t200"
    voltage_V: float = Field(gt=0)


class CommandsEntry(FileModel):
    """One of three."""

    thrust_N: list[str] | None = None  # in the order of the vehicle's thrusters
    pwm_us: PwmEntry | None = None
    axes: AxesEntry | None = None

    @model_validator(mode="after")
    def _one(self) -> CommandsEntry:
        if sum(x is not None for x in (self.thrust_N, self.pwm_us, self.axes)) != 1:
            raise ValueError("commands: expected exactly one of thrust_N, pwm_us and axes")
        return self


class AttitudeEntry(FileModel):
    """One of three."""

    euler_rad: Triple | None = None  # roll, pitch, yaw
    euler_deg: Triple | None = None
    quaternion_xyzw: tuple[str, str, str, str] | None = None

    @model_validator(mode="after")
    def _one(self) -> AttitudeEntry:
        if sum(x is not None for x in (self.euler_rad, self.euler_deg, self.quaternion_xyzw)) != 1:
            raise ValueError("attitude: expected exactly one of euler_rad, euler_deg and quaternion_xyzw")
        return self


class ColumnMap(FileModel):
    """`shoal identify LOG.csv --columns MAP.yaml`."""

    version: int = Field(ge=1, le=1)
    time: str
    time_unit: Literal["s", "ms", "us", "ns"] = "s"
    step_s: float | None = Field(default=None, gt=0)  # of the even steps made of it; the median if not given
    gap_s: float = Field(default=0.5, gt=0)  # a longer pause breaks the motion into pieces
    most_tilt_deg: float | None = Field(default=None, gt=0, le=75)  # motion beyond it is left out, as a gap
    leave_out_s: tuple[tuple[float, float], ...] = ()  # stretches by the file's own time, also as gaps
    world: Literal["NED", "ENU"]
    body: Literal["FRD", "FLU"]
    position_m: Triple
    attitude: AttitudeEntry
    velocity_mps: Triple  # in the body frame
    rate_radps: Triple | None = None
    rate_dps: Triple | None = None
    commands: CommandsEntry
    noise: NoiseEntry = NoiseEntry()

    @model_validator(mode="after")
    def _consistent(self) -> ColumnMap:
        if (self.rate_radps is None) == (self.rate_dps is None):
            raise ValueError("expected exactly one of rate_radps and rate_dps")
        if (self.world == "ENU") != (self.body == "FLU"):
            raise ValueError(f"world = {self.world} with body = {self.body}, expected NED with FRD or ENU with FLU")
        for start, end in self.leave_out_s:
            if not start < end:
                raise ValueError(f"leave_out_s = [{start:g}, {end:g}], expected a start before its end")
        return self

    @property
    def seconds_per_unit(self) -> float:
        """Of the time column."""
        return {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[self.time_unit]

    @property
    def rate(self) -> tuple[Triple, float]:
        """Columns, and what to multiply them with for rad/s."""
        if self.rate_radps is not None:
            return self.rate_radps, 1.0
        assert self.rate_dps is not None
        return self.rate_dps, float(np.pi / 180)
