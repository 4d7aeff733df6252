"""A cascaded PID: the simple rival of the NMPC in every table.

Position P → velocity PI, attitude P on the quaternion error → rate PI, with feed-forward of the reference's velocity
and acceleration. All gains are per unit of the vehicle's own inertia, so that they are bandwidths and any vehicle will
do. Neighbours nearer than the soft distance repel, whoever is in the way is passed to starboard, and the bow points at
those that must be seen; nothing is optimised.

The integrators are the controller's own. The estimator's wrench follows within a period or two and cancels whatever the
believed mass, lag or delay get wrong: a second fast loop around the first one. Tried instead of the integrators, it
halves the error in waves and tumbles where the timing is wrong by 0.2 s (docs/controller.md). Integrators seven to nine
times slower than the loops keep the margin, need no model of weight or water, and start from neutral: a wrong believed
weight does no harm. Nor are changes of thrust overdriven against the lag, which would have to be known for that.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast, Neighbours
from shoal.control.steady_thrust import SteadyThrust, wrench_to_inputs
from shoal.frames import from_yaw, matrix, multiply, yaw_of
from shoal.guidance.give_way import GiveWayRule, give_way, headings
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
PLAN_S: Array = np.linspace(0.0, 2.0, 21)  # the plan that the neighbours get
SLOPE = 3  # points of it over which heading and velocity are differenced
STILL, NO_CURRENT = np.zeros(6), np.zeros(3)
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


class PositionLoop(FileModel):
    """Position P, velocity PI."""

    position_per_s: float = Field(default=0.9, gt=0, le=5, description="speed wanted per metre of error")
    speed_mps: float = Field(default=0.7, gt=0, le=5, description="largest speed towards the reference from afar")
    velocity_per_s: float = Field(default=3.0, gt=0, le=20, description="acceleration per speed error")
    integral_per_s2: float = Field(default=1.0, ge=0, le=20, description="acceleration per speed error and second")


class AttitudeLoop(FileModel):
    """Attitude P, rate PI."""

    attitude_per_s: float = Field(default=3.0, gt=0, le=10, description="rate wanted per radian of error")
    rate_dps: float = Field(default=45.0, gt=0, le=180, description="largest rate towards the wanted attitude")
    rate_per_s: float = Field(default=7.0, gt=0, le=40, description="angular acceleration per rate error")
    integral_per_s2: float = Field(default=7.0, ge=0, le=80, description="the same per rate error and second")


class Repulsion(FileModel):
    """Away from neighbours nearer than the soft distance."""

    per_s: float = Field(default=1.5, ge=0, le=5, description="speed away per metre that is missing")
    speed_mps: float = Field(default=1.2, gt=0, le=5, description="at most, above the speed towards the reference")


class PidSettings(FileModel):
    """Everything may change while running."""

    position: PositionLoop = PositionLoop()
    attitude: AttitudeLoop = AttitudeLoop()
    repulsion: Repulsion = Repulsion()
    give_way: GiveWayRule = GiveWayRule()
    anti_windup_per_s: float = Field(
        default=4.0, ge=0, le=20, description="how fast integrators give up what saturates"
    )


class PidController(Controller):
    """One pass down both cascades a step; see docs/controller.md."""

    Settings = PidSettings
    lag_compensation = False

    def __init__(self, context: ControllerContext) -> None:
        self.settings: PidSettings = context.settings
        self._soft_m, self._period_s = context.limits.distance_soft_m, context.period_s
        self._force_N, self._moment_Nm = np.zeros(3), np.zeros(3)  # integrators: NED (weight, water) and body
        self._stepped_s: float | None = None
        self._kept_yaw_rad: float | None = None  # while the position is not reliable
        self.set_vehicle(context.vehicle)

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other gains and another allocation. The integrators stay: the same water pushes."""
        self._mass = mass_matrix(vehicle)  # (6,6)
        self._thrusters, self._allocation = vehicle.thrust_matrix, wrench_to_inputs(vehicle)
        self._lower, self._upper = vehicle.thrust_min_N, vehicle.thrust_max_N
        self._drag = SteadyThrust(replace(vehicle, weight_N=vehicle.buoyancy_N))  # weight is the integrator's

    def apply(self, settings: Any) -> None:
        """New gains from the next step on."""
        self.settings = settings

    def reset(self) -> None:
        """The time of the last step is void. The integrators stay: water and weight are still there."""
        self._stepped_s = None

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        state, times_s = estimate.state, estimate.start_s + PLAN_S
        wanted = directive.setpoint.at(times_s)
        if not math.isfinite(float(wanted.positions_m.sum() + wanted.velocities_mps.sum())):
            issue = Issue(Code.REFERENCE_NOT_FINITE, Severity.WARNING)
            return ControlOutput(estimate.previous_N, times_s[:1], state[None], issues=(issue,), usable=False)
        r = matrix(state[ATTITUDE])
        velocity = r @ state[VELOCITY]
        if estimate.position_reliable:
            known = neighbours.at(times_s)
            goal, push = self._goal(state, wanted, known), self._repulsion(state[POSITION], known)
            plan = self._plan(state, r, velocity, push, goal)
            yaws = self._headings(state, plan[:, POSITION], wanted, directive.must_see, known)
            self._kept_yaw_rad = None
        else:
            goal, push, yaws = self._stay(state, times_s)
            plan = self._plan(state, r, velocity, push, goal)
        aim = goal.velocities_mps[0] + self._approach(goal.positions_m[0] - state[POSITION]) + push
        return ControlOutput(self._thrust(t_s, state, r, velocity, aim, goal, yaws), times_s, plan)

    # -- outer loops: where to, how fast --------------------------------------------------------------------------

    def _approach(self, error_m: Array) -> Array:
        """Velocity towards the reference, NED."""
        loop = self.settings.position
        return _shortened(loop.position_per_s * error_m, loop.speed_mps)

    def _repulsion(self, own_m: Array, known: Neighbours) -> Array:
        """Velocity away from those too near, NED."""
        push = np.zeros(3)
        for away, margin_m in zip(own_m - known.positions_m[:, 0], known.margins_m.tolist(), strict=True):
            distance_m = max(math.hypot(*away.tolist()), 1e-6)
            missing_m = self._soft_m + margin_m - distance_m
            if missing_m > 0:
                push += self.settings.repulsion.per_s * missing_m / distance_m * away
        return _shortened(push, self.settings.repulsion.speed_mps)

    def _goal(self, state: Array, wanted: Preview, known: Neighbours) -> Preview:
        """The reference, turned aside while somebody is in the way."""
        rule, near_m = self.settings.give_way, known.positions_m
        target_m = give_way(wanted.positions_m, state[POSITION], near_m, self._soft_m, rule)
        return Preview(wanted.times_s, target_m, wanted.velocities_mps)

    @staticmethod
    def _headings(state: Array, plan_m: Array, wanted: Preview, must_see: frozenset[str], known: Neighbours) -> Array:
        """(K,) from our plan towards those that must be seen on theirs."""
        seen = [i for i, name in enumerate(known.names) if name in must_see]
        return np.unwrap(headings(plan_m, known.positions_m[seen], wanted, yaw_of(state[ATTITUDE])))

    def _stay(self, state: Array, times_s: Array) -> tuple[Preview, Array, Array]:
        """Stop and keep the heading: a position that may be metres off is no reason to move."""
        if self._kept_yaw_rad is None:
            self._kept_yaw_rad = yaw_of(state[ATTITUDE])
        here = np.tile(state[POSITION], (len(times_s), 1))
        yaws = np.full(len(times_s), self._kept_yaw_rad)
        return Preview(times_s, here, np.zeros_like(here)), np.zeros(3), yaws

    # -- inner loops: forces and moments --------------------------------------------------------------------------

    def _thrust(
        self, t_s: float, state: Array, r: Array, velocity: Array, aim: Array, goal: Preview, yaws: Array
    ) -> Array:
        """(n,) within the limits; the integrators move on."""
        pos, att = self.settings.position, self.settings.attitude
        speed_error, rate_error = r.T @ (aim - velocity), self._rate_error(state, r, yaws)
        ahead = r.T @ (goal.velocities_mps[SLOPE] - goal.velocities_mps[0]) / PLAN_S[SLOPE]
        asked = np.concatenate([ahead + pos.velocity_per_s * speed_error, att.rate_per_s * rate_error])
        yaw = yaw_of(state[ATTITUDE])
        drag = self._thrusters @ self._drag(goal.velocities_mps[0], yaw, STILL, NO_CURRENT)  # level, with this heading
        wrench = self._mass @ asked
        wrench[:3] += r.T @ (self._force_N + matrix(from_yaw(yaw)) @ drag[:3])
        wrench[3:] += self._moment_Nm + drag[3:]
        thrust = self._allocate(wrench)
        grown = self._mass @ np.concatenate([pos.integral_per_s2 * speed_error, att.integral_per_s2 * rate_error])
        missing = self._thrusters @ thrust - wrench  # what saturates, or what no thruster can do
        grown = (grown + self.settings.anti_windup_per_s * missing) * self._elapsed_s(t_s)
        self._force_N = self._force_N + r @ grown[:3]
        self._moment_Nm = self._moment_Nm + grown[3:]
        return thrust

    def _rate_error(self, state: Array, r: Array, yaws: Array) -> Array:
        """(3,) body: what the attitude error and the turning of the wanted heading ask for."""
        loop = self.settings.attitude
        error = multiply(state[ATTITUDE] * CONJUGATE, from_yaw(yaws[0]))
        angle = 2 * math.copysign(1.0, error[0]) * error[1:]
        turning = r[2] * ((yaws[SLOPE] - yaws[0]) / PLAN_S[SLOPE])  # about NED's down axis
        most = math.radians(loop.rate_dps)
        return _shortened(_shortened(loop.attitude_per_s * angle, most) + turning, most) - state[RATE]

    def _allocate(self, wrench: Array) -> Array:
        """Pseudo-inverse. What is too much is scaled as a whole, forces first: a level vehicle can still recover."""
        turn, push = self._allocation[:, 3:] @ wrench[3:], self._allocation[:, :3] @ wrench[:3]
        turn = turn * self._room(np.zeros_like(turn), turn)
        return np.minimum(np.maximum(turn + push * self._room(turn, push), self._lower), self._upper)

    def _room(self, base: Array, add: Array) -> float:
        """Largest share of `add` that fits on top of `base`."""
        limit = np.where(add > 0, self._upper, self._lower) - base
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(np.abs(add) > 1e-9, limit / add, 1.0)
        return max(0.0, min(1.0, float(shares.min())))

    def _elapsed_s(self, t_s: float) -> float:
        last_s, self._stepped_s = self._stepped_s, t_s
        return self._period_s if last_s is None else min(max(t_s - last_s, 0.0), 2 * self._period_s)

    # -- what the others get ---------------------------------------------------------------------------------------

    def _plan(self, state: Array, r: Array, velocity: Array, push: Array, goal: Preview) -> Array:
        """(K,13): the outer loop played forward, the inner one taken as first-order, repulsion as it is now."""
        loop, step_s = self.settings.position, float(PLAN_S[1])
        share = 1 - math.exp(-loop.velocity_per_s * step_s)
        p, v, away = state[POSITION].tolist(), velocity.tolist(), push.tolist()
        positions, velocities = [p], [v]
        for wanted_m, wanted_mps in zip(goal.positions_m[:-1].tolist(), goal.velocities_mps[:-1].tolist(), strict=True):
            error = [a - b for a, b in zip(wanted_m, p, strict=True)]
            gain = min(loop.position_per_s, loop.speed_mps / max(math.hypot(*error), 1e-9))
            aim = [a + gain * b + c for a, b, c in zip(wanted_mps, error, away, strict=True)]
            v = [a + share * (b - a) for a, b in zip(v, aim, strict=True)]
            p = [a + step_s * b for a, b in zip(p, v, strict=True)]
            positions.append(p)
            velocities.append(v)
        states = np.tile(state, (len(PLAN_S), 1))
        states[:, POSITION], states[:, VELOCITY] = positions, np.array(velocities) @ r
        states[1:, RATE] = 0.0
        return states


def _shortened(v: Array, longest: float) -> Array:
    """The same direction, at most so long."""
    return v * min(1.0, longest / max(math.hypot(*v.tolist()), 1e-9))
