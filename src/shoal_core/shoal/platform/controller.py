"""Boogmans 2021 as a controller of the simulator: by name `platform_pid`, for vessels and platforms of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast
from shoal.frames import yaw_of
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.state import ATTITUDE, POSITION
from shoal.platform.model import Module, PlanarPose, PlatformModel, compose, wrapped
from shoal.platform.thesis import THRUST_N, BaseGains, Legacy, Pid, allocate, commanded, effort, gains
from shoal.vehicles.actuators import Thruster
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
PERIOD_S = 0.1  # every third pose of 30 Hz


class PlatformPidSettings(FileModel):
    """Gains and switches of the thesis."""

    base: BaseGains = BaseGains()
    legacy: Legacy = Legacy()
    thrust_N: float = Field(default=THRUST_N, gt=0, description="largest force of a thruster, as Table 6.8 has it")


class PlatformPidController(Controller):
    """Acts on the measured pose, as the thesis does: no filter, no velocity, ten times a second."""

    Settings = PlatformPidSettings
    lag_compensation = False

    def __init__(self, context: ControllerContext) -> None:
        self.settings: PlatformPidSettings = context.settings
        self._time_s: float | None = None
        self._sent_N = np.zeros(context.vehicle.input_count)
        self.set_vehicle(context.vehicle)

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another configuration: model, gains and allocation anew."""
        self.model = planar_model(vehicle, self.settings.thrust_N)
        legacy = self.settings.legacy
        self._pid = Pid(gains(self.model, self.settings.base, legacy), legacy.derivative)
        self._axes = [t.directions[:, :2] for t in vehicle.thrusters]  # (2,2) of each: its inputs' directions
        self._sent_N, self._time_s = np.zeros(vehicle.input_count), None

    def reset(self) -> None:
        self._pid.forget()
        self._time_s = None

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        if self._time_s is not None and t_s - self._time_s < PERIOD_S - 1e-6:
            return ControlOutput.of_thrust(self._sent_N, estimate)
        measured = estimate.odometry.state
        heading = yaw_of(measured[ATTITUDE])
        wanted = directive.setpoint.at(np.array([t_s]))
        goal = heading if wanted.headings_rad is None else float(wanted.headings_rad[0])
        error = np.array([*(wanted.positions_m[0] - measured[POSITION])[:2], wrapped(goal - heading)])
        if not np.isfinite(error).all():
            issue = Issue(Code.REFERENCE_NOT_FINITE, Severity.WARNING)
            here = np.array([estimate.start_s]), estimate.state[None]
            return ControlOutput(estimate.previous_N, *here, issues=(issue,), usable=False)
        dt_s = PERIOD_S if self._time_s is None else t_s - self._time_s
        force_N, moment_Nm = effort(self._pid, error, heading, dt_s)
        forces = commanded(allocate(self.model, force_N, moment_Nm), self.settings.legacy.limits_bypassed)
        shares = [axes @ force for axes, force in zip(self._axes, forces, strict=True)]
        self._time_s, self._sent_N = t_s, np.concatenate(shares)
        return ControlOutput.of_thrust(self._sent_N, estimate)


def planar_model(vehicle: Vehicle, thrust_N: float | None = None) -> PlatformModel:
    """Of a vessel, or of a composite of them: its thrusters know the headings of the modules they belong to."""
    model = compose({"": Module.of(vehicle, thrust_N)}, {"": PlanarPose()})
    headings = [_heading(t) for t in vehicle.thrusters]
    return PlatformModel(**{**vars(model), "headings_rad": np.array(headings)})


def _heading(thruster: Thruster) -> float:
    return float(np.arctan2(thruster.direction[1], thruster.direction[0]))
