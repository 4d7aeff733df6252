"""A vehicle that has too little thrust for the place it should hold lets go of that place and keeps level.

A predictive controller weighs place against attitude: pushed away by a current that its level thrusters cannot hold
against, it leans on the vertical ones, and where those are few it turns over. Whether a place can be held is decided
here instead, of the vehicle as it is believed to be, level: by allocation, what of the force that it takes no thrusters
have left. While that lasts the goal is a velocity and no place: the nearest to the wanted one that leaves thrust for
the attitude. What is missing slows that velocity as it would slow the vehicle, so drag, current, weight and dead
thrusters need no rules of their own, and axes that can be held are held.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Estimate
from shoal.control.steady_thrust import SteadyThrust
from shoal.estimation.model_adaptation import down_of
from shoal.frames import from_yaw, matrix, yaw_of
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
AHEAD_S: Array = np.arange(0.0, 4.05, 0.5)  # of the goal; longer than any horizon
RETURN_PER_S = 0.5  # speed towards the place per metre
GAINING_MPS2 = 0.3  # by which the velocity comes nearer to the wanted one, as far as thrust allows
LEAST_SHARE = 0.02  # of the force needed: less is missing by rounding and noise
LONGEST_S = 0.2  # between two steps; after a pause things go on from here


class LetGoSettings(FileModel):
    """When a place is given up, and what of the thrust is used then."""

    enabled: bool = Field(default=True, description="off: place and attitude are weighed against each other, always")
    behind_m: float = Field(
        default=0.25, gt=0, description="swept off its place by so much; who is nearer is only pushed about"
    )
    lean_deg: float = Field(default=15.0, gt=0, le=90, description="or leans by so much to hold it")
    lasting_s: float = Field(default=0.5, ge=0, description="of too little thrust, before the place is given up")
    usable: float = Field(
        default=0.85, gt=0, le=1, description="share of the thrust to swim with then; the rest keeps level"
    )
    approach_mps: float = Field(default=0.45, gt=0, le=2, description="towards the place, as far as thrust allows")
    regained_s: float = Field(default=2.0, ge=0, description="of enough thrust near the place, before it is held again")


class LetGo:
    """`goal` once a control step."""

    def __init__(self, settings: LetGoSettings) -> None:
        self.settings = settings
        self._balance: _Balance | None = None
        self.clear()

    def clear(self) -> None:
        """Nothing is known of the time before."""
        self._velocity_mps: Array | None = None  # of the goal, NED; None: the place is held
        self._since_s: float | None = None  # of too little thrust; while adrift, of enough
        self._stepped_s = -math.inf
        self._lost_mps = 0.0

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another description, perhaps with fewer thrusters; adrift is who was adrift."""
        self._vehicle, self._balance = vehicle, None  # made when it is needed, which is hardly ever

    def goal(self, estimate: Estimate, directive: Directive) -> Directive:
        """The directive, or one with a goal that can be reached."""
        if not self.settings.enabled:
            return directive
        elapsed_s = min(max(estimate.t_s - self._stepped_s, 0.0), LONGEST_S)
        self._stepped_s = estimate.t_s
        times_s = estimate.start_s + AHEAD_S[:1]
        wanted = directive.setpoint.at(times_s)
        place_m, velocity_mps = wanted.positions_m[0], wanted.velocities_mps[0]
        to_go = place_m - estimate.state[POSITION]
        if not math.isfinite(float(to_go.sum() + velocity_mps.sum())):
            return directive
        if self._velocity_mps is None:
            if not self._lasts(estimate.t_s, self._gives_up(estimate, to_go, velocity_mps), self.settings.lasting_s):
                return directive
            self._velocity_mps = matrix(estimate.state[ATTITUDE]) @ estimate.state[VELOCITY]
        enough = self._follow(estimate, to_go, velocity_mps, elapsed_s)
        if self._lasts(estimate.t_s, enough, self.settings.regained_s):
            self.clear()
            return directive
        return replace(directive, setpoint=self._adrift(estimate, directive.setpoint))

    def _lasts(self, t_s: float, it_is_so: bool, longer_than_s: float) -> bool:
        if not it_is_so:
            self._since_s = None
        elif self._since_s is None:
            self._since_s = t_s
        over = self._since_s is not None and t_s - self._since_s >= longer_than_s - 1e-9
        if over:
            self._since_s = None
        return over

    def _gives_up(self, estimate: Estimate, to_go: Array, velocity_mps: Array) -> bool:
        """Whether it lacks thrust to go with its place, and is off it the way that the lack pushes, or leans for it."""
        far_m = self.settings.behind_m
        leans = down_of(estimate.state[ATTITUDE].tolist())[2] < math.cos(math.radians(self.settings.lean_deg))
        if not leans and float(to_go @ to_go) < far_m**2:
            return False
        missing_N, needed_N = self._level.missing(velocity_mps, estimate, 1.0)
        length_N = math.hypot(*missing_N.tolist())
        return length_N > LEAST_SHARE * needed_N and (leans or float(missing_N @ to_go) > far_m * length_N)

    def _follow(self, estimate: Estimate, to_go: Array, velocity_mps: Array, elapsed_s: float) -> bool:
        """Moves the velocity on; whether place and velocity are as wanted, or soon will be."""
        assert self._velocity_mps is not None
        s = self.settings
        wanted_mps = velocity_mps + _each_shortened(RETURN_PER_S * to_go, s.approach_mps)
        nearer = self._velocity_mps + _each_shortened(wanted_mps - self._velocity_mps, GAINING_MPS2 * elapsed_s)
        missing_N, needed_N = self._level.missing(nearer, estimate, s.usable)
        self._velocity_mps = nearer - self._level.pushed(missing_N, estimate) * elapsed_s
        self._lost_mps = math.hypot(*(self._velocity_mps - velocity_mps).tolist())
        off_mps = math.hypot(*(wanted_mps - self._velocity_mps).tolist())
        lacks = math.hypot(*missing_N.tolist()) > LEAST_SHARE * needed_N
        return not lacks and off_mps < 0.1 * s.approach_mps and float(to_go @ to_go) < s.behind_m**2

    def _adrift(self, estimate: Estimate, setpoint: Preview) -> Preview:
        """From where it is, with that velocity, headed as before."""
        assert self._velocity_mps is not None
        times_s = estimate.start_s + AHEAD_S
        headings_rad = setpoint.at(times_s).headings_rad
        way_m = AHEAD_S[:, None] * self._velocity_mps
        velocities_mps = np.tile(self._velocity_mps, (len(AHEAD_S), 1))
        return replace(
            setpoint,
            times_s=times_s,
            positions_m=estimate.state[POSITION] + way_m,
            velocities_mps=velocities_mps,
            headings_rad=headings_rad,
        )

    @property
    def _level(self) -> _Balance:
        if self._balance is None:
            self._balance = _Balance(self._vehicle)
        return self._balance

    def issues(self) -> tuple[Issue, ...]:
        """What an operator should know."""
        if self._velocity_mps is None:
            return ()
        return (Issue(Code.ADRIFT, Severity.WARNING, value=self._lost_mps),)


class _Balance:
    """Forces on a vehicle that keeps level and its heading, at a constant velocity."""

    def __init__(self, vehicle: Vehicle) -> None:
        thrusters = vehicle.thrusters
        unlimited = replace(
            vehicle, thrusters=tuple(replace(t, max_forward_N=1e9, max_reverse_N=1e9) for t in thrusters)
        )
        self._needed, self._allocate = SteadyThrust(unlimited), Allocator(vehicle)
        self._limits_N = vehicle.input_min_N, vehicle.input_max_N
        self._matrix, self._mass_kg = vehicle.input_matrix, np.diag(mass_matrix(vehicle))[:3]
        self._steered = np.array([axis in vehicle.controlled_axes for axis in AXES[:3]], dtype=float)

    def missing(self, velocity_mps: Array, estimate: Estimate, share: float) -> tuple[Array, float]:
        """Force (3,) NED that so much of the thrust does not give, and how much is needed in all."""
        yaw = yaw_of(estimate.state[ATTITUDE])
        needed = self._matrix @ self._needed(velocity_mps, yaw, estimate.wrench, estimate.current_mps)
        self._allocate.set_bounds(share * self._limits_N[0], share * self._limits_N[1])
        lacking = (needed - self._matrix @ self._allocate(needed))[:3] * self._steered
        return matrix(from_yaw(yaw)) @ lacking, math.hypot(*needed[:3].tolist())

    def pushed(self, force_N: Array, estimate: Estimate) -> Array:
        """Acceleration (3,) NED by a force in NED."""
        turn = matrix(from_yaw(yaw_of(estimate.state[ATTITUDE])))
        return np.asarray(turn @ ((turn.T @ force_N) / self._mass_kg))


def _each_shortened(v: Array, longest: float) -> Array:
    """What is level of it and what is not, at most so long: depth is regained however far the vehicle is swept."""
    level = v * [1.0, 1.0, 0.0]
    return _shortened(level, longest) + _shortened(v - level, longest)


def _shortened(v: Array, longest: float) -> Array:
    """The same direction, at most so long."""
    return v * min(1.0, longest / max(math.hypot(*v.tolist()), 1e-9))
