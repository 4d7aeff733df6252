"""The fleet's own controller: NMPC along the reference, around and in sight of the neighbours."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Compiling
from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast, Neighbours
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.nmpc import Goal, Nmpc, Others, Solution, formulation_for
from shoal.control.nmpc.others import arrange, choose
from shoal.control.pid import PidController, PidSettings
from shoal.control.settings import NmpcSettings
from shoal.control.steady_thrust import ThrustAlong, accelerations
from shoal.errors import ShoalError
from shoal.frames import yaw_of
from shoal.guidance.give_way import give_way, headings
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
FIXED = ("fine_steps", "fine_step_s", "coarse_steps", "coarse_step_s", "max_neighbours", "inputs", "backend")


class NmpcController(Controller):
    """One real-time iteration a step; see docs/controller.md."""

    Settings = NmpcSettings
    fixed_settings = FIXED

    def __init__(self, context: ControllerContext) -> None:
        settings: NmpcSettings = context.settings
        self.settings = settings
        # One more than there are others: one who fell silent is expected at its place, and where it was last seen.
        most = max(1, min(len(context.others) + 1, settings.max_neighbours)) if context.others else 1
        self._most = most
        self._context = context
        self._compiling: Compiling | None = None
        self._stand_in: PidController | None = None  # steers until the solver is compiled
        self._build(context.vehicle)
        self._along = ThrustAlong(context.vehicle, len(settings.steps_s))
        self._solved_s = -math.inf
        self._kept_yaw_rad: float | None = None  # while the position is not reliable

    @property
    def backend(self) -> str:
        """Name of the solver in use."""
        return str(self.nmpc.backend.name) if self._compiling is None else "pid"

    @property
    def leans(self) -> bool:
        return self.settings.ring.form == "off"  # a ring's middle is no place to hold

    def _build(self, vehicle: Vehicle) -> None:
        """The optimisation anew, or a PID while its solver is being compiled."""
        try:
            self.nmpc = Nmpc(vehicle, self.settings, self._most, choose_backend(self.settings.backend))
        except Compiling as compiling:
            self._compiling, self.lag_compensation = compiling, PidController.lag_compensation
            if self._stand_in is None:
                self._stand_in = PidController(replace(self._context, vehicle=vehicle, settings=PidSettings()))
            else:
                self._stand_in.set_vehicle(vehicle)
        else:
            self._compiling, self._stand_in = None, None
            self.lag_compensation = type(self).lag_compensation

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other numbers, or another structure: then the optimisation is built anew."""
        self._context = replace(self._context, vehicle=vehicle)
        fits = self._compiling is None and (
            formulation_for(vehicle, self.settings, self._most) == self.nmpc.problem.formulation
        )
        if fits:
            self.nmpc.set_vehicle(vehicle)
        else:
            self._build(vehicle)
        self._along = ThrustAlong(vehicle, len(self.settings.steps_s))

    def apply(self, settings: Any) -> None:
        """New weights, limits and penalties from the next step on."""
        for name in FIXED:
            if getattr(settings, name) != getattr(self.settings, name):
                raise ShoalError(f"{name} = {getattr(settings, name)}: cannot change while running; expected a restart")
        self.settings = settings
        if self._compiling is None:
            self.nmpc.apply(settings)

    def reset(self) -> None:
        if self._stand_in is not None:
            self._stand_in.reset()
        else:
            self.nmpc.needs_cold_start = True

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        if self._compiling is not None and self._compiling.done:
            self._build(self._context.vehicle)
        if self._stand_in is not None:
            output = self._stand_in.step(t_s, estimate, directive, neighbours)
            return replace(output, issues=(*output.issues, Issue(Code.SOLVER_COMPILING, Severity.WARNING)))
        nmpc, state = self.nmpc, estimate.state
        times_s = estimate.start_s + nmpc.times_s
        if not estimate.position_reliable:
            finite = math.isfinite(float(directive.setpoint.at(times_s).positions_m.sum()))
            wanted_mps = self._stay(state) if finite else None
        else:
            self._kept_yaw_rad = None
            wanted_mps = self._aim(state, directive, neighbours.at(times_s), times_s)
        if wanted_mps is None:
            return self._failed(estimate, Issue(Code.REFERENCE_NOT_FINITE, Severity.WARNING))
        free_N = self._needed_N(wanted_mps, estimate)
        elapsed_s = max(0.0, t_s - self._solved_s)
        solution = nmpc.improve(state, estimate.previous_N, estimate.wrench, estimate.current_mps, elapsed_s, free_N)
        self._solved_s = t_s
        if not solution.usable:
            return self._failed(estimate, Issue(Code.SOLVER_FAILED, Severity.WARNING, value=float(solution.status)))
        return self._output(solution, times_s)

    def _needed_N(self, wanted_mps: Array, estimate: Estimate) -> Array:
        """(N,n) for the reference's own motion, as headed by then: no cost pulls the vehicle off a curved path."""
        problem = self.nmpc.problem
        changes = accelerations(wanted_mps, problem.steps_s)
        headed = problem.quaternion_ref[:-1]
        return self._along(wanted_mps[:-1], changes, headed, estimate.wrench, estimate.current_mps)

    @staticmethod
    def _output(s: Solution, times_s: Array) -> ControlOutput:
        return ControlOutput(
            s.thrust_N, times_s, s.states, s.thrusts_N, (), True, s.iterations, s.slack_soft, s.slack_hard
        )

    @staticmethod
    def _failed(estimate: Estimate, issue: Issue) -> ControlOutput:
        here = np.array([estimate.start_s]), estimate.state[None, :]
        return ControlOutput(estimate.previous_N, *here, issues=(issue,), usable=False)

    def _aim(self, state: Array, directive: Directive, known: Neighbours, times_s: Array) -> Array | None:
        """Along the reference, around and in sight of the neighbours; its velocities, or None when it is not finite."""
        setpoint, partners = directive.setpoint, directive.partners
        must_see = directive.must_see - partners.keys()  # of those the partner's own view says what must be seen
        compiled, cold = self.nmpc.compiled_aim, self.nmpc.needs_cold_start
        if compiled is not None and not partners:
            if self.nmpc.has_views:
                self.nmpc.set_views({})
            columns = setpoint.columns_at(times_s)
            return columns[:, 3:6] if compiled.fill(state, columns, known, must_see, cold) else None
        wanted = setpoint.at(times_s)
        if not math.isfinite(float(wanted.positions_m.sum())):
            return None
        limits, own_m = self.settings.limits, state[POSITION]
        chosen = choose(known, own_m, must_see, self._most)
        others = arrange(chosen, must_see, self._most, len(wanted.times_s), limits, partners)
        views = {j: p.view for j, name in enumerate(chosen.names) if (p := partners.get(name)) and p.view is not None}
        if views or self.nmpc.has_views:
            self.nmpc.set_views(views)
        seen = sum(name in must_see for name in chosen.names)  # they come first
        along_m = own_m if cold else self.nmpc.guess_m
        yaw = headings(along_m, chosen.positions_m[:seen], wanted, yaw_of(state[ATTITUDE]))
        rule, soft_m = self.settings.give_way, limits.distance_soft_m
        around = [name not in partners for name in known.names]  # nobody gives way to its partner
        target = give_way(wanted.positions_m, own_m, known.positions_m[around], soft_m, rule)
        self.nmpc.fill(state, Goal(target, wanted.velocities_mps, yaw), others)
        return wanted.velocities_mps

    def _stay(self, state: Array) -> Array:
        """Stop and keep the heading: bearings from a position that may be metres off would turn us away."""
        points, ring = len(self.nmpc.times_s), self.settings.ring
        self.nmpc.needs_cold_start = True  # the last solution began metres from here
        if self._kept_yaw_rad is None:
            self._kept_yaw_rad = yaw_of(state[ATTITUDE])
        yaw, here = self._kept_yaw_rad, state[POSITION].copy()
        if ring.form != "off":  # whose goal is its middle
            here[0:2] += ring.radius_m * math.cos(yaw), ring.radius_m * math.sin(yaw)
        still = np.zeros((points, 3))
        goal = Goal(np.tile(here, (points, 1)), still, np.full(points, yaw))
        self.nmpc.fill(state, goal, Others.none(self._most, points))
        return still
