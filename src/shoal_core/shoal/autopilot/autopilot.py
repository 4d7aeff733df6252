"""The autopilot as a controller: a pilot steers some axes, laws hold the others, and the fleet's NMPC may take over.

One object owns both, so that a handover is a change of level like any other: at every change the thrust goes on from
what was sent last, and what differs from the new law's thrust fades out.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.autopilot.attitude import PdLaw, WantedAttitude
from shoal.autopilot.gains import KAPPA, YAW_DAMPING_NMS, attitude_gains, effective_damping
from shoal.autopilot.inverse_dynamics import InverseDynamics
from shoal.autopilot.levels import LEVELLED, Levels
from shoal.autopilot.pilot import PilotMemory
from shoal.autopilot.reference import Reference
from shoal.config.file_model import FileModel
from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast
from shoal.control.nmpc.controller import NmpcController
from shoal.control.settings import NmpcSettings
from shoal.frames import matrix
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.pilot import AXES, Level, PilotInput
from shoal.messages.state import ATTITUDE, RATE
from shoal.vehicles.description import Vehicle
from shoal.vehicles.mixers import MixerName, largest_wrench, mixer

Array = NDArray[np.float64]
FADE_PER_S = 1.2  # of the limits, at most
SETTLE_S = 0.5  # after a change of level, during which thrust is also limited in its rate:
SLEW_PER_S = 0.85  # of the limits
# Then the rate opens, e-fold by e-fold: what has gathered behind it would else come out at once.
OPENING_S, OPENING_FOLD_S = 0.5, 0.15
LEVEL_AXES = np.array([False, False, False, True, True, False])
SLOPE_S = 0.1  # over which a path's velocity is differenced


class StickSettings(FileModel):
    """Of an axis on level `rate`, at full deflection."""

    horizontal_mps: float = Field(default=0.5, gt=0, le=5, description="along each horizontal axis at full stick")
    vertical_mps: float = Field(default=0.3, gt=0, le=5, description="up and down at full stick")
    turn_dps: float = Field(default=45.0, gt=0, le=180, description="about each axis at full stick")


class AutopilotSettings(FileModel):
    """One knob for rotations, one for translations."""

    preset: Literal["manual", "stabilise", "depth_hold", "position_hold", "guided", "fleet"] = Field(
        default="position_hold", description="levels at the start"
    )
    law: Literal["model", "pd"] = Field(
        default="model", description="of the attitude: inverse dynamics, or the PD of Ng 2024"
    )
    mixer: MixerName = Field(
        default="bounded", description="from wrench to thrust: bounded least squares, or one of Ng 2024's two"
    )
    attitude_radps: float = Field(default=4.0, gt=0.2, le=6, description="bandwidth of roll, pitch and yaw")
    position_radps: float = Field(default=2.2, gt=0.1, le=4, description="bandwidth of depth and position")
    kappa: float = Field(default=KAPPA, ge=0, le=100, description="N m s (rad/s)², additional damping of the PD law")
    yaw_damping_Nms: float = Field(
        default=YAW_DAMPING_NMS, ge=0, le=100, description="linear yaw damping that the PD law's gains stand on"
    )
    approach_mps: float = Field(default=0.6, gt=0, le=5, description="fastest towards a setpoint, horizontally")
    descent_mps: float = Field(default=1.2, gt=0, le=5, description="fastest towards another depth, both ways")
    approach_dps: float = Field(default=180.0, gt=0, le=360, description="fastest towards a wanted attitude")
    stick: StickSettings = StickSettings()
    input_timeout_s: float = Field(
        default=0.5, gt=0, le=5, description="without a pilot's message: direct axes to neutral, the others hold"
    )
    fade_s: float = Field(
        default=0.3, gt=0, le=2, description="time constant of what a change of level would make jump"
    )
    disturbance_s: float = Field(
        default=1.0, ge=0, le=20, description="time constant at which the laws learn a force that disturbs"
    )
    disturbing_moment_s: float = Field(
        default=0.2,
        ge=0,
        le=20,
        description="… and a moment: thrusters that differ tilt a vehicle as soon as they push",
    )
    moment_overdrive: float = Field(
        default=2.0,
        ge=1,
        le=4,
        description="overdrive of moments against the thrusters' lag: in a flow across it a hull turns over by itself "
        "within a fifth of a second",
    )
    handover: bool = Field(default=True, description="the fleet's controller stands by for preset fleet")
    fleet: NmpcSettings = Field(default=NmpcSettings(), description="of the fleet's controller")


@dataclass(frozen=True)
class _Moment:
    """What a step is made with."""

    t_s: float
    elapsed_s: float
    estimate: Estimate
    directive: Directive


class AutopilotController(Controller):
    """`on_pilot` whatever a pilot sends; without any, guided axes follow the directive."""

    Settings = AutopilotSettings
    # Waves look like less drag (in 0.5 m/s and waves half of it): laws that feed drag forward then push too little, and
    # are predicted too far. What is unexplained is learnt as a disturbance instead.
    learns_drag = False

    def __init__(self, context: ControllerContext) -> None:
        self.settings: AutopilotSettings = context.settings
        self._context, self._period_s = context, context.period_s
        self.levels = Levels.of(self.settings.preset)
        self.pilot = PilotMemory(self.settings.input_timeout_s)
        self._fleet: NmpcController | None = None
        if self.settings.handover or self.levels.fleet:
            # Limits of distance and sight are the fleet's, unless the file has others.
            given = self.settings.fleet
            own = given if "limits" in given.model_fields_set else given.model_copy(update={"limits": context.limits})
            self._fleet = NmpcController(replace(context, settings=own))
        s = self.settings
        self._omega = np.repeat([s.position_radps, s.attitude_radps], 3)
        fastest = np.repeat([s.approach_mps, math.radians(s.approach_dps)], 3)
        fastest[2] = s.descent_mps
        self._reference = Reference(self._omega, fastest)
        stick = s.stick
        self._full = np.array([stick.horizontal_mps, stick.horizontal_mps, stick.vertical_mps] +
                              [math.radians(stick.turn_dps)] * 3)  # fmt: skip
        self._disturbance = np.zeros(6)  # force NED, moment body
        self._active: Levels | None = None  # of the last step
        self._aimed = np.zeros(6, dtype=bool)
        self._stepped_s: float | None = None
        self._settled_s = -math.inf
        self._fade_N = np.zeros(context.vehicle.input_count)
        self._fit(context.vehicle)

    def _fit(self, vehicle: Vehicle) -> None:
        s = self.settings
        self._largest, self._allocate = largest_wrench(vehicle), mixer(vehicle, s.mixer)
        self._steerable = np.array([axis in vehicle.controlled_axes for axis in AXES])
        self._dynamics = InverseDynamics(vehicle, self._omega)
        gains = attitude_gains(vehicle, s.attitude_radps, s.kappa, effective_damping(vehicle, s.yaw_damping_Nms))
        self._pd = PdLaw(vehicle, gains)
        self._lower, self._upper = vehicle.input_min_N, vehicle.input_max_N

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other numbers, perhaps other thrusters."""
        if vehicle.input_count != len(self._fade_N):
            self._fade_N = np.zeros(vehicle.input_count)
        self._fit(vehicle)
        if self._fleet is not None:
            self._fleet.set_vehicle(vehicle)

    def reset(self) -> None:
        """Stopped, or steered by somebody else: start from the vehicle and from the thrust of then."""
        self._active = self._stepped_s = None
        self._aimed = np.zeros(6, dtype=bool)
        self._reference.reset()
        if self._fleet is not None:
            self._fleet.reset()

    def on_pilot(self, message: PilotInput) -> None:
        """Sticks and setpoints until the next one; levels for good."""
        self.pilot.take(message)
        wanted = self.levels.changed(message.preset, message.levels)
        if wanted.fleet and self._fleet is None:
            wanted = self.levels
        self.levels = wanted

    @property
    def lag_as_delay(self) -> bool:
        """Of the laws; the fleet's controller is predicted for as ever."""
        return not self.levels.fleet

    @property
    def moment_lead(self) -> float | None:
        """Of the laws."""
        return None if self.levels.fleet else self.settings.moment_overdrive

    # -- one step -----------------------------------------------------------------------------------------------

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        levels, before = self.levels, self._active
        elapsed_s = self._elapsed_s(t_s)
        self._learn(estimate, elapsed_s)
        moment = _Moment(t_s, elapsed_s, estimate, directive)
        continued_N: Array | None = None  # what the thrust would be without the change
        if levels.fleet and self._fleet is not None:
            if levels != before:
                self._fleet.reset()
                self._reference.reset()
                continued_N = estimate.previous_N - self._fade_N
            output = self._fleet.step(t_s, estimate, directive, neighbours)
            if not output.usable:
                return output
        else:
            continued_N = self._continued_N(moment, levels, before)
            output = ControlOutput.of_thrust(self._held_thrust(moment, levels), estimate)
        self._active = levels
        self._fade(elapsed_s)
        if continued_N is not None:
            self._fade_N = self._fade_N + continued_N - output.thrust_N
            self._settled_s = t_s + SETTLE_S
        thrust = np.minimum(np.maximum(output.thrust_N + self._fade_N, self._lower), self._upper)
        if (open_s := t_s - self._settled_s) < OPENING_S:
            slew_per_s = SLEW_PER_S * math.exp(max(0.0, open_s) / OPENING_FOLD_S)
            most = slew_per_s * elapsed_s * np.minimum(self._upper, -self._lower)
            thrust = estimate.previous_N + np.minimum(np.maximum(thrust - estimate.previous_N, -most), most)
            self._fade_N = thrust - output.thrust_N
        return replace(output, thrust_N=thrust, issues=output.issues + self._issues(t_s, levels))

    def _continued_N(self, moment: _Moment, levels: Levels, before: Levels | None) -> Array | None:
        """As the old levels would have it now; from the fleet's controller or a stop, what was sent last."""
        if before is None or before.fleet:
            return moment.estimate.previous_N - self._fade_N
        steep = self._dynamics.steep
        tilted = self._dynamics.tilted(moment.estimate.state)
        if levels == before and tilted == steep:
            return None
        kept = deepcopy(self._reference), self._aimed
        found = self._held_thrust(moment, before)
        self._reference, self._aimed = kept
        self._dynamics.steep = tilted
        return found

    def _fade(self, elapsed_s: float) -> None:
        most = FADE_PER_S * elapsed_s * np.minimum(self._upper, -self._lower)
        gone = self._fade_N * (1 - math.exp(-elapsed_s / self.settings.fade_s))
        self._fade_N = self._fade_N - np.minimum(np.maximum(gone, -most), most)

    def _issues(self, t_s: float, levels: Levels) -> tuple[Issue, ...]:
        silent_s = self.pilot.silent_s(t_s)
        if silent_s is None or levels.fleet:
            return ()
        return (Issue(Code.PILOT_SILENT, Severity.WARNING, value=silent_s),)

    def _elapsed_s(self, t_s: float) -> float:
        last_s, self._stepped_s = self._stepped_s, t_s
        return self._period_s if last_s is None else min(max(t_s - last_s, 0.0), 4 * self._period_s)

    # -- the laws -----------------------------------------------------------------------------------------------

    def _held_thrust(self, moment: _Moment, levels: Levels) -> Array:
        t_s, estimate = moment.t_s, moment.estimate
        state, reference = estimate.state, self._reference
        direct = np.array([level is Level.DIRECT for level in levels.axes]) | ~self._steerable
        sticks = self.pilot.sticks(t_s)
        followed = ~direct
        if not estimate.position_reliable:  # nobody should swim by this position: only the speed is held
            followed[:2] = False
        reference.follow(state, followed)
        rates, accelerations = self._guide(moment, levels)
        driven = np.array([level is Level.RATE for level in levels.axes]) & (np.abs(sticks) > 1e-3) & followed
        reference.move(driven, sticks * self._full, rates, accelerations, moment.elapsed_s)
        r = matrix(state[ATTITUDE])
        disturbance = np.concatenate([r.T @ self._disturbance[:3], self._disturbance[3:]])
        efforts = np.where(self._steerable, sticks, 0.0) * self._largest
        wrench = self._dynamics.wrench(state, reference, ~direct, efforts, disturbance, estimate.current_mps)
        if self.settings.law == "pd":
            wanted = WantedAttitude(reference.value[3:], reference.rate[3:], reference.acceleration[3:])
            turn = self._pd.moment(state[ATTITUDE], state[RATE], wanted) - disturbance[3:]
            wrench[3:] = np.where(direct[3:], wrench[3:], turn)
        return self._allocate(wrench)

    def _guide(self, moment: _Moment, levels: Levels) -> tuple[Array, Array]:
        """Aim guided axes at the pilot's setpoints, or at the directive's; rates and accelerations (6,) of the targets.

        Each where it is wanted when the answer takes effect: moments later than forces, as the state is predicted.
        """
        aimed = np.array([level is Level.GUIDED for level in levels.axes])
        start_s, turn_s = moment.estimate.start_s, moment.estimate.start_s + moment.estimate.turns_later_s
        target, rates, accelerations = self.pilot.setpoint(moment.t_s, np.repeat([start_s, turn_s], 3))
        if not self.pilot.heard:
            path = moment.directive.setpoint.at(np.array([start_s, start_s + SLOPE_S, turn_s, turn_s + SLOPE_S]))
            velocities, headings = path.velocities_mps, path.headings_rad
            target[:3], rates[:3] = path.positions_m[0], velocities[0]
            accelerations[:3] = (velocities[1] - velocities[0]) / SLOPE_S
            target[3:5], rates[3:5] = 0.0, 0.0
            if headings is not None:
                target[5], rates[5] = headings[2], (headings[3] - headings[2]) / SLOPE_S
        if levels.preset in LEVELLED:
            aimed = aimed | LEVEL_AXES
            target, rates, accelerations = (np.where(LEVEL_AXES, 0.0, of) for of in (target, rates, accelerations))
        aimed &= np.isfinite(target)
        self._reference.aim(aimed, np.where(aimed, target, 0.0), aimed & ~self._aimed, moment.elapsed_s)
        self._aimed = aimed
        return np.where(aimed, rates, 0.0), np.where(aimed, accelerations, 0.0)

    def _learn(self, estimate: Estimate, elapsed_s: float) -> None:
        """What the model does not explain, slowly: the estimator's follows within two periods, a loop of its own."""
        force = matrix(estimate.state[ATTITUDE]) @ estimate.wrench[:3]
        found = np.concatenate([force, estimate.wrench[3:]])
        self._disturbance = self._disturbance + self._share(elapsed_s) * (found - self._disturbance)

    def _share(self, elapsed_s: float) -> Array:
        """(6,) of what is found that is learnt in a step."""
        constants_s = self.settings.disturbance_s, self.settings.disturbing_moment_s
        return np.repeat([1.0 if s == 0 else 1 - math.exp(-elapsed_s / s) for s in constants_s], 3)
