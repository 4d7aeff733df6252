"""One vehicle's nonlinear model predictive controller: fills the problem, iterates, hands out plan and thrust."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.control.nmpc.aim import CompiledAim
from shoal.control.nmpc.formulation import Formulation
from shoal.control.nmpc.inputs import make_inputs
from shoal.control.nmpc.problem import FAR_M, REPORT, Problem
from shoal.control.nmpc.terminal import terminal_weight
from shoal.control.settings import NmpcSettings
from shoal.frames import from_yaw, turn_towards
from shoal.messages.directive import View
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import common_structure, parameter_vector
from shoal.vehicles.scale import VehicleScale

Array = NDArray[np.float64]
COLD_ITERATIONS = 8
ITERATIONS, SLACK_SOFT, SLACK_HARD, COST = map(REPORT.index, ("iterations", "slack_soft", "slack_hard", "cost"))
FAILED = 2  # statuses from here on
FASTEST = np.array([2.0, 2.0, 2.0, 2.5, 2.5, 2.5])  # m/s, rad/s in a guess: far beyond, a stage turns unstable
FASTEST_BYTES = FASTEST.tobytes()


class Backend(Protocol):
    """A way to improve the guess held by a Problem."""

    name: str

    def iterate(self, max_iterations: int, tolerance: float) -> int:
        """Improve x and u in place; 0 solved, 1 usable, ≥ 2 failed and guess unchanged."""
        ...


@dataclass(frozen=True)
class Goal:
    """Where the vehicle should be over the horizon, sampled on the problem's grid."""

    positions_m: Array  # (N+1,3) NED
    velocities_mps: Array  # (N+1,3) NED
    headings_rad: Array  # (N+1,)


@dataclass(frozen=True)
class Others:
    """Neighbours over the horizon; K of them, unused places parked far away."""

    positions_m: Array  # (K,N+1,3) NED
    soft_m: Array  # (K,N+1) distances to keep
    hard_m: Array  # (K,N+1)
    seen: Array  # (K,) 1: must be seen

    @staticmethod
    def none(places: int, points: int) -> Others:
        """Nobody around."""
        far = np.full((places, points, 3), FAR_M)
        return Others(far, np.ones((places, points)), np.ones((places, points)), np.zeros(places))


class Solution(NamedTuple):
    """What came out."""

    thrust_N: Array  # (nu,) for now
    states: Array  # (N+1,13)
    thrusts_N: Array  # (N,nu)
    status: int  # 0 solved, 1 usable, ≥ 2 failed
    iterations: int
    slack_soft: float
    slack_hard: float
    cost: float

    @property
    def usable(self) -> bool:
        """Whether it may be sent to the thrusters."""
        return self.status < FAILED


def formulation_for(vehicle: Vehicle, settings: NmpcSettings, most: int) -> Formulation:
    """The optimisation problem of a vehicle; many vehicles share one."""
    return Formulation(common_structure(vehicle, make_inputs(settings.inputs, vehicle).matrix.shape[1]), most)


class Nmpc:
    """Real-time iteration: one linearisation and one QP a step, warm-started by the shifted last solution."""

    def __init__(
        self,
        vehicle: Vehicle,
        settings: NmpcSettings,
        most: int,
        backend: Callable[[Problem], Backend],
    ) -> None:
        self.problem = Problem(formulation_for(vehicle, settings, most), settings.steps_s)
        self.compiled_aim = CompiledAim.of(self.problem)
        self.most = most
        self.settings = self._given = settings
        self.set_vehicle(vehicle)
        self.backend = backend(self.problem)
        self._wrench, self._current = self.problem.block("wrench"), self.problem.block("current")
        self._shifts: dict[float, tuple[NDArray[np.int32], Array, bytes, bytes]] = {}

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another vehicle that the same solver serves."""
        self.vehicle, p = vehicle, self.problem
        self._inputs = inputs = make_inputs(self.settings.inputs, vehicle)
        model = VehicleModel(vehicle)
        self._trim, self._top_mps = inputs.of_thrust(model.trim()), model.top_speed_mps()
        p.block("theta")[:] = parameter_vector(vehicle, p.formulation.structure, inputs.matrix)
        p.limits[0], p.limits[1], p.free[:] = inputs.lower, inputs.upper, self._trim
        self.apply(self._given)
        self.needs_cold_start = True

    def apply(self, settings: NmpcSettings) -> None:
        """Take over weights, limits and penalties; the grid alone is fixed at construction."""
        self._given, settings = settings, VehicleScale.of(self.vehicle).fit(settings)
        p, w, pen, lim = self.problem, settings.weights, settings.penalties, settings.limits
        if len(settings.steps_s) != len(p.steps_s) or not np.allclose(settings.steps_s, p.steps_s):
            raise ValueError("the horizon's grid cannot change while running, expected the one it was built with")
        self.settings = settings
        on_ring = settings.ring.form != "off"
        p.block("position")[:] = 2 * np.array([0.0 if on_ring else w.position_xy] * 2 + [w.position_z])
        p.block("ring_root")[:] = 2 * settings.ring.weight * (settings.ring.form == "root")
        p.block("ring_quartic")[:] = 2 * settings.ring.weight * (settings.ring.form == "quartic")
        p.block("ring_radius")[:] = settings.ring.radius_m
        p.block("attitude")[:], p.block("attitude_quartic")[:] = 2 * w.attitude, 2 * w.attitude_quartic
        p.block("velocity")[:], p.block("rate")[:] = 2 * w.velocity, 2 * w.rate
        self._cosines = np.cos(np.deg2rad([lim.sight_soft_deg, lim.sight_hard_deg]))
        self.set_views({})
        terminal = terminal_weight(self.vehicle, w)
        if on_ring:  # the terminal cost knows places, not rings
            terminal[:2, :], terminal[:, :2] = 0.0, 0.0
        p.block("terminal")[:] = terminal.ravel()
        p.weights[:] = 2 * np.array([w.thrust, w.proximal, w.thrust_rate])
        p.limits[3] = settings.thrust_step_N
        p.penalties[:, 0] = [getattr(pen, f"{price}_{k}") for k in ("soft", "hard") for price in p.formulation.prices]
        p.penalties[:, 1] = pen.quadratic
        self._reach_m = settings.approach.reach_m + settings.approach.speed_mps * self.times_s
        # Beyond what the vehicle can swim, and what it may be behind anyway, a reference is not aimed at.
        most_mps = max(self._top_mps, settings.approach.speed_mps)
        self._fastest_m = 1.01 * settings.approach.reach_m + most_mps * self.times_s  # 1.01: rounding decides nothing
        self._turn_rad = np.deg2rad(settings.approach.turn_deg + settings.approach.turn_rate_dps * self.times_s)
        if self.compiled_aim is not None:
            self.compiled_aim.apply(settings, self._reach_m, self._fastest_m, self._turn_rad, self._top_mps)

    def set_views(self, views: Mapping[int, View]) -> None:
        """Cameras for the neighbours at these places; for all others the bow, and the fleet's limits."""
        p = self.problem
        p.block("cos_soft")[:], p.block("cos_hard")[:] = self._cosines
        p.block("axis").reshape(-1, 3)[:] = 1.0, 0.0, 0.0
        p.block("camera")[:] = p.block("mark")[:] = 0.0
        for place, view in views.items():
            cosines = np.cos(np.deg2rad([view.soft_deg, view.hard_deg]))
            p.block("cos_soft")[place], p.block("cos_hard")[place] = cosines
            for name, vector in (("axis", view.axis), ("camera", view.camera_m), ("mark", view.mark_m)):
                p.block(name).reshape(-1, 3)[place] = vector
        self.has_views = bool(views)

    @property
    def times_s(self) -> Array:
        """The grid (N+1,), from the moment the thrust acts."""
        return self.problem.times_s

    @property
    def guess_m(self) -> Array:
        """(N+1,3) positions of the present guess."""
        return self.problem.x[:, POSITION]

    def solve(
        self,
        x0: Array,
        previous_N: Array,
        goal: Goal,
        others: Others,
        wrench: Array,
        current: Array,
        elapsed_s: float,
        free_N: Array | None = None,
    ) -> Solution:
        """One step; `elapsed_s` since the last one says how far the guess is shifted.

        `free_N` (N,n) or (n,) is the zero of the input cost: what the wanted motion needs; None: the trim.
        """
        self.fill(x0, goal, others)
        return self.improve(x0, previous_N, wrench, current, elapsed_s, free_N)

    def fill(self, x0: Array, goal: Goal, others: Others) -> None:
        """Goal and neighbours of the next solution."""
        self._fill_goal(x0, goal)
        self._fill_others(others)

    def improve(
        self,
        x0: Array,
        previous_N: Array,
        wrench: Array,
        current: Array,
        elapsed_s: float,
        free_N: Array | None = None,
    ) -> Solution:
        """`solve` with the goal and the neighbours that were filled in."""
        p = self.problem
        p.free[:] = self._trim if free_N is None else self._inputs.of_thrust(free_N)
        self._wrench[:], self._current[:] = wrench, current
        p.limits[2] = self._inputs.of_thrust(previous_N)
        status = FAILED
        if not self.needs_cold_start:
            self._guess_shifted(x0, elapsed_s)
            status = self._iterate(1)
        if status >= FAILED:  # no guess, or one that led nowhere
            self._guess_cold(x0)
            status = self._iterate(1 if getattr(self.backend, "converges", False) else COLD_ITERATIONS)
        report = p.report.tolist()
        if not math.isfinite(np.vdot(p.x, p.x) + np.vdot(p.u, p.u)):  # one number that is none spoils the sum
            status = FAILED + 1
        self.needs_cold_start = status >= FAILED  # a failed guess is not worth keeping
        thrusts_N = self._inputs.thrust_N(p.u.copy())
        return Solution(
            thrust_N=self._inputs.thrust_N(p.u[0]).copy(),
            states=p.x.copy(),
            thrusts_N=thrusts_N,
            status=status,
            iterations=int(report[ITERATIONS]) if math.isfinite(report[ITERATIONS]) else 0,
            slack_soft=report[SLACK_SOFT],
            slack_hard=report[SLACK_HARD],
            cost=report[COST],
        )

    def _iterate(self, count: int) -> int:
        status = FAILED
        for _ in range(count):
            status = self.backend.iterate(self.settings.max_qp_iterations, self.settings.qp_tolerance)
            if status >= FAILED:
                break
        return status

    def _fill_goal(self, x0: Array, goal: Goal) -> None:
        """The reference, held within reach of the vehicle: errors stay small, penalties exact, attitudes below 180°.

        What is held is how far the vehicle is behind now. The reference's own motion over the horizon is kept, so that
        a vehicle that is behind swims as fast as its reference, and faster by the speed of approach; both together no
        faster than the vehicle is.
        """
        p = self.problem
        p.position_ref[:], p.velocity_ref[:] = goal.positions_m, goal.velocities_mps
        if self.settings.ring.form == "off":  # a ring's centre is not a place to go to
            behind = goal.positions_m[0] - x0[POSITION]
            distance = math.sqrt(behind @ behind)
            far = distance > self._reach_m
            if far.any():
                way = behind / distance
                p.position_ref[far] -= (distance - self._reach_m[far, None]) * way
                p.velocity_ref[far] += self.settings.approach.speed_mps * way
            gap = p.position_ref - x0[POSITION]
            length = np.sqrt(np.einsum("ij,ij->i", gap, gap))
            fast = length > self._fastest_m
            if fast.any():
                p.position_ref[fast] = x0[POSITION] + gap[fast] * (self._fastest_m[fast] / length[fast])[:, None]
                p.velocity_ref[fast] = self._top_mps * gap[fast] / length[fast, None]
        p.quaternion_ref[:] = turn_towards(x0[ATTITUDE], from_yaw(goal.headings_rad), self._turn_rad)

    def _fill_others(self, others: Others) -> None:
        p = self.problem
        for j in range(self.most):
            p.others[:, 3 * j : 3 * j + 3] = others.positions_m[j]
        p.soft_m[:], p.hard_m[:] = others.soft_m.T, others.hard_m.T
        p.sight[:] = others.seen

    def _guess_cold(self, x0: Array) -> None:
        """Start from standing where we are; the dynamics gaps are closed by the first iterations."""
        p = self.problem
        p.x[:] = x0
        p.x[:, 7:] *= np.exp(-self.times_s / 0.5)[:, None]
        p.u[:] = np.clip(self._trim, p.limits[0], p.limits[1])

    def _guess_shifted(self, x0: Array, elapsed_s: float) -> None:
        """The last solution moved on; beyond its end its last state goes on."""
        index, share, index_bytes, share_bytes = self._shift(elapsed_s)
        if self.compiled_aim is not None:
            self.compiled_aim.shift(x0, index_bytes, share_bytes, FASTEST_BYTES)
            return
        p, weight = self.problem, share[:, None]
        p.x[:], p.u[:] = (1 - weight) * p.x[index] + weight * p.x[index + 1], p.u[index[:-1]]
        np.minimum(np.maximum(p.x[:, 7:], -FASTEST), FASTEST, out=p.x[:, 7:])
        p.x[0] = x0
        q = p.x[:, ATTITUDE]
        facing = q @ x0[ATTITUDE]
        if facing.min() < 0:
            q[facing < 0] *= -1
        q /= np.sqrt(np.einsum("ij,ij->i", q, q))[:, None]

    def _shift(self, elapsed_s: float) -> tuple[NDArray[np.int32], Array, bytes, bytes]:
        """Where on the grid each point (N+1,) of the moved solution lies: behind which one, and by which share."""
        key = round(elapsed_s, 6)
        if key not in self._shifts:
            if len(self._shifts) > 64:
                self._shifts.clear()
            times = np.minimum(self.times_s + key, self.times_s[-1])
            index = np.searchsorted(self.times_s, times + 1e-9, side="right") - 1
            index = np.clip(index, 0, len(times) - 2).astype(np.int32)
            share = (times - self.times_s[index]) / np.diff(self.times_s)[index]
            self._shifts[key] = index, share, index.tobytes(), share.tobytes()
        return self._shifts[key]
