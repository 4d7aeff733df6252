"""The fleet's own controller: NMPC along the reference, around and in sight of the neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast, Neighbours
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.nmpc import Goal, Nmpc, Others, Solution
from shoal.control.nmpc.others import arrange, choose
from shoal.control.settings import NmpcSettings
from shoal.control.steady_thrust import SteadyThrust
from shoal.errors import ShoalError
from shoal.frames import yaw_of
from shoal.guidance.give_way import give_way, headings
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import structure_of

Array = NDArray[np.float64]
FIXED = ("fine_steps", "fine_step_s", "coarse_steps", "coarse_step_s", "max_neighbours", "backend")


class NmpcController(Controller):
    """One real-time iteration a step; see docs/controller.md."""

    Settings = NmpcSettings
    fixed_settings = FIXED

    def __init__(self, context: ControllerContext) -> None:
        settings: NmpcSettings = context.settings
        self.settings = settings
        most = max(1, min(len(context.others), settings.max_neighbours))
        self._most = most
        self.nmpc = Nmpc(context.vehicle, settings, most, choose_backend(settings.backend))
        self._steady = SteadyThrust(context.vehicle)
        self._solved_s = -math.inf
        self._kept_yaw_rad: float | None = None  # while the position is not reliable

    @property
    def backend(self) -> str:
        """Name of the solver in use."""
        return str(self.nmpc.backend.name)

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other numbers, or another structure: then the optimisation is built anew."""
        if structure_of(vehicle) == self.nmpc.problem.formulation.structure:
            self.nmpc.set_vehicle(vehicle)
        else:
            self.nmpc = Nmpc(vehicle, self.settings, self._most, choose_backend(self.settings.backend))
        self._steady = SteadyThrust(vehicle)

    def apply(self, settings: Any) -> None:
        """New weights, limits and penalties from the next step on."""
        for name in FIXED:
            if getattr(settings, name) != getattr(self.settings, name):
                raise ShoalError(f"{name} = {getattr(settings, name)}: cannot change while running; expected a restart")
        self.settings = settings
        self.nmpc.apply(settings)

    def reset(self) -> None:
        self.nmpc.needs_cold_start = True

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        nmpc, state = self.nmpc, estimate.state
        times_s = estimate.start_s + nmpc.times_s
        found: tuple[Array, float] | None  # velocity and heading to go with now
        if not estimate.position_reliable:
            finite = math.isfinite(float(directive.setpoint.at(times_s).positions_m.sum()))
            found = self._stay(state) if finite else None
        else:
            self._kept_yaw_rad = None
            found = self._aim(state, directive.setpoint, directive.must_see, neighbours.at(times_s), times_s)
        if found is None:
            return self._failed(estimate, Issue(Code.REFERENCE_NOT_FINITE, Severity.WARNING))
        steady_N = self._steady(*found, estimate.wrench, estimate.current_mps)
        elapsed_s = max(0.0, t_s - self._solved_s)
        solution = nmpc.improve(state, estimate.previous_N, estimate.wrench, estimate.current_mps, elapsed_s, steady_N)
        self._solved_s = t_s
        if not solution.usable:
            return self._failed(estimate, Issue(Code.SOLVER_FAILED, Severity.WARNING, value=float(solution.status)))
        return self._output(solution, times_s)

    @staticmethod
    def _output(s: Solution, times_s: Array) -> ControlOutput:
        return ControlOutput(
            s.thrust_N, times_s, s.states, s.thrusts_N, (), True, s.iterations, s.slack_soft, s.slack_hard
        )

    @staticmethod
    def _failed(estimate: Estimate, issue: Issue) -> ControlOutput:
        here = np.array([estimate.start_s]), estimate.state[None, :]
        return ControlOutput(estimate.previous_N, *here, issues=(issue,), usable=False)

    def _aim(
        self, state: Array, setpoint: Preview, must_see: frozenset[str], known: Neighbours, times_s: Array
    ) -> tuple[Array, float] | None:
        """Along the reference, around and in sight of the neighbours; None when the reference is not finite."""
        compiled, cold = self.nmpc.compiled_aim, self.nmpc.needs_cold_start
        if compiled is not None:
            return compiled.fill(state, setpoint.columns_at(times_s), known, must_see, cold)
        wanted = setpoint.at(times_s)
        if not math.isfinite(float(wanted.positions_m.sum())):
            return None
        limits, own_m = self.settings.limits, state[POSITION]
        chosen = choose(known, own_m, must_see, self._most)
        others = arrange(chosen, must_see, self._most, len(wanted.times_s), limits)
        seen = sum(name in must_see for name in chosen.names)  # they come first
        along_m = own_m if cold else self.nmpc.guess_m
        yaw = headings(along_m, chosen.positions_m[:seen], wanted, yaw_of(state[ATTITUDE]))
        near_m = known.positions_m[:, 0]
        target = give_way(wanted.positions_m, own_m, near_m, limits.distance_soft_m, self.settings.give_way)
        self.nmpc.fill(state, Goal(target, wanted.velocities_mps, yaw), others)
        return wanted.velocities_mps[0], float(yaw[0])

    def _stay(self, state: Array) -> tuple[Array, float]:
        """Stop and keep the heading: bearings from a position that may be metres off would turn us away."""
        points, ring = len(self.nmpc.times_s), self.settings.ring
        self.nmpc.needs_cold_start = True  # the last solution began metres from here
        if self._kept_yaw_rad is None:
            self._kept_yaw_rad = yaw_of(state[ATTITUDE])
        yaw, here = self._kept_yaw_rad, state[POSITION].copy()
        if ring.form != "off":  # whose goal is its middle
            here[0:2] += ring.radius_m * math.cos(yaw), ring.radius_m * math.sin(yaw)
        goal = Goal(np.tile(here, (points, 1)), np.zeros((points, 3)), np.full(points, yaw))
        self.nmpc.fill(state, goal, Others.none(self._most, points))
        return np.zeros(3), yaw
