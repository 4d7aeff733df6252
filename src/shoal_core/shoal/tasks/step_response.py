"""A step of the setpoint along one axis, from rest (Boogmans 2021, section 6.3): one vessel or one platform."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.errors import ShoalError
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import State
from shoal.simulation.simulator import Directing
from shoal.tasks.base import Task, TaskContext, TaskSettings

Array = NDArray[np.float64]
Axis = Literal["surge", "sway", "yaw"]
SENT_EVERY_S = 0.5
AHEAD_S: Array = np.arange(0.0, 10.05, 0.1)  # of each preview


class StepSettings(TaskSettings):
    """Which step."""

    axis: Axis = "surge"
    size: float | None = Field(default=None, description="m or rad; none: 1.0 m ahead, 0.5 m sideways, a quarter turn")
    at_s: float = Field(default=2.0, ge=0, description="when the setpoint jumps; nobody knows before")
    duration_s: float = Field(default=62.0, gt=0)

    @model_validator(mode="after")
    def _in_order(self) -> StepSettings:
        if self.at_s >= self.duration_s:
            raise ValueError(f"at_s = {self.at_s:g} is not before duration_s = {self.duration_s:g}")
        if self.script:
            raise ValueError("script is given, expected none: nothing but the step happens")
        return self

    @property
    def step(self) -> float:
        """Its size."""
        usual = {"surge": 1.0, "sway": 0.5, "yaw": math.pi / 2}[self.axis]
        return usual if self.size is None else self.size


class StepDirector:
    """Holds the start, then asks for the other setpoint at once."""

    def __init__(self, settings: StepSettings, name: str, start_m: Array, heading_rad: float) -> None:
        self._s, self._name, self._start_m, self._heading = settings, name, start_m, heading_rad
        self._sent_s, self._stepped = -math.inf, False

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        stepped = t_s >= self._s.at_s - 1e-9
        if t_s - self._sent_s < SENT_EVERY_S - 1e-9 and stepped == self._stepped:
            return Orders()
        first = self._sent_s == -math.inf
        self._sent_s, self._stepped = t_s, stepped
        position_m, heading = self._start_m.copy(), self._heading
        if stepped:
            c, s = math.cos(heading), math.sin(heading)
            if self._s.axis == "yaw":
                heading += self._s.step
            else:
                position_m[:2] += self._s.step * np.array([c, s] if self._s.axis == "surge" else [-s, c])
        points = len(AHEAD_S)
        preview = Preview(
            t_s + AHEAD_S, np.tile(position_m, (points, 1)), np.zeros((points, 3)), np.full(points, heading)
        )
        placement = Placement({self._name: np.zeros(3)}, 1.0, {self._name: 0.0}, 0.0, (self._name,))
        return Orders(preview, placement if first else None)


class StepResponse(Task):
    """Of the fleet's only vehicle; metrics as in MATLAB's stepinfo."""

    Settings = StepSettings
    metrics: ClassVar[tuple[str, ...]] = tuple(
        f"shoal.evaluation.step_response:{name}" for name in ("RISE", "SETTLING", "OVERSHOOT", "PEAK", "STEADY_ERROR")
    )
    # Right after the step the error is the step itself; and a vessel may well use all of its thrust then.
    bounds: ClassVar[Mapping[str, float]] = dict.fromkeys(
        ("path_error_max_m", "setpoint_error_max_m", "thrust_saturated_share"), math.inf
    )

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        if len(self.fleet.vehicles) != 1:
            raise ShoalError(
                f"task step_response: fleet '{self.fleet.name}' has {len(self.fleet.vehicles)} vehicles; expected one"
            )

    @property
    def duration_s(self) -> float:
        return float(self.context.settings.duration_s)

    def start(self) -> dict[str, State]:
        return {member.name: member.start_state() for member in self.fleet.vehicles}

    def director(self) -> Directing:
        member = self.fleet.vehicles[0]
        settings: StepSettings = self.context.settings
        return StepDirector(
            settings, member.name, np.array(member.start_m, dtype=float), math.radians(member.heading_deg)
        )
