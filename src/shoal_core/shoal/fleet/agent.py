"""One vehicle's mind: estimate → reference → optimise → command and plan. Simulator and ROS node run the same one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from shoal.codegen import Buffered, compiled
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.nmpc import Goal, Nmpc, Others, Solution
from shoal.control.settings import ControllerSettings
from shoal.control.station_keeping import StationKeeping
from shoal.estimation.actuator_state import ActuatorState
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.estimation.mass_adaptation import MassAdaptation
from shoal.fleet import neighbours as others_of
from shoal.fleet.gate import Gate, GateSettings, refuse
from shoal.fleet.monitor import UNSURE, WEIGHED, HealthMonitor, MonitorSettings
from shoal.fleet.neighbours import Neighbours, NeighbourSettings
from shoal.frames import matrix, yaw_of
from shoal.guidance.give_way import GiveWayRule, give_way_goal, headings
from shoal.messages.health import Health, Mode
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
LONGEST_STEP_S = 0.1  # of the model when predicting


class AgentSettings(BaseModel):
    """Everything about one vehicle's controller that is not its vehicle or its neighbours' names."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    controller: ControllerSettings = ControllerSettings()
    estimator: EstimatorSettings = EstimatorSettings()
    neighbours: NeighbourSettings = NeighbourSettings()
    give_way: GiveWayRule = GiveWayRule()
    gate: GateSettings = GateSettings()
    watch: MonitorSettings = MonitorSettings()
    places: int = Field(default=4, ge=1, le=32, description="neighbours that the optimisation looks at")
    period_s: float = Field(default=0.1, gt=0, le=1.0)
    actuation_delay_s: float = Field(default=0.0, ge=0, le=1.0, description="from step() to the thrusters")
    thruster_lag_s: float | None = Field(
        default=None, ge=0, le=1.0, description="thrusters' time constant; None: the vehicle description's"
    )
    thruster_lead: float = Field(default=2.0, ge=1, le=4, description="overdrive of thrust changes against the lag")
    backend: str = "auto"


@dataclass(frozen=True)
class Command:
    """What one step gives."""

    thrust_N: Array  # (n,)
    plan: Plan
    health: Health


class Agent:
    """`step` once a control period; `settings` may be replaced at any time with `apply`."""

    def __init__(
        self,
        name: str,
        vehicle: Vehicle,
        settings: AgentSettings,
        must_see: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.name, self.vehicle, self.must_see = name, vehicle, must_see
        self.settings = settings
        backend = choose_backend(settings.backend)
        self.controller = Nmpc(vehicle, settings.controller, settings.places, backend)
        self.estimator = StateEstimator(vehicle, settings.estimator)
        self._clock = clock
        self._ode = Buffered(compiled(VehicleModel(vehicle).ode))
        self._believe(vehicle)
        self._lower, self._upper = vehicle.thrust_min_N, vehicle.thrust_max_N
        described_s = float(np.mean([t.time_constant_s for t in vehicle.thrusters]))
        self._lag_s = described_s if settings.thruster_lag_s is None else settings.thruster_lag_s
        self._lead_by = _lead(settings, self._lag_s)
        self._history = ActuatorState(len(vehicle.thrusters), self._lag_s)
        self._force_N = np.zeros(len(vehicle.thrusters))
        self._gate, self._watch = Gate(settings.gate), HealthMonitor(settings.watch)
        self._weighing = MassAdaptation(settings.watch.weigh_N)
        self._kept_yaw_rad: float | None = None  # while the position is unsure
        self._stamp_s: float | None = None  # of the odometry the estimate stands on
        self._last_t_s = -np.inf
        self._sequence = 0
        self._solution: Solution | None = None
        self._solved_s = -np.inf
        self._previous_N = np.zeros(len(vehicle.thrusters))
        self._acting_N = np.zeros(len(vehicle.thrusters))

    def _believe(self, vehicle: Vehicle) -> None:
        """What is not asked of controller and estimator."""
        self.vehicle = vehicle
        self._ode.inputs[4][:] = VehicleModel(vehicle).theta
        self._hover = -np.linalg.pinv(vehicle.thrust_matrix) @ mass_matrix(vehicle)  # thrust against an acceleration
        self._station = StationKeeping(vehicle)

    def apply(self, controller: ControllerSettings) -> None:
        """New weights, limits and penalties from the next step on."""
        self.controller.apply(controller)
        self.settings = self.settings.model_copy(update={"controller": controller})

    def step(
        self,
        t_s: float,
        odometry: Odometry | None,
        neighbour_plans: Mapping[str, Plan],
        reference: Preview,
        places: Mapping[str, Preview] | None = None,
    ) -> Command:
        """One control period. `places`: where the formation has the neighbours, for those that fall silent."""
        started = self._clock()
        trouble = self._sense(t_s, odometry)
        act_s = t_s + self.settings.actuation_delay_s
        # A lag acts like a delay of its time constant; overdriving the change by `lead` shortens it by that factor.
        start_s = act_s + self._lag_s / self._lead_by
        solution, ahead = None, None
        known: Neighbours | None = None
        if trouble is None and self._stamp_s is not None:
            ahead = self._predict(act_s, start_s)
            times_s = start_s + self.controller.times_s
            known = self._neighbours(t_s, times_s, neighbour_plans, places or {})
            trouble, solution = self._optimise(ahead, times_s, t_s, known, reference)
        elapsed_ms = (self._clock() - started) * 1e3
        if solution is not None and elapsed_ms > self.settings.gate.deadline_periods * self.settings.period_s * 1e3:
            trouble, solution = f"solver took {elapsed_ms:.0f} ms, more than the deadline", None
            self.controller.cold = True
        return self._answer(t_s, start_s, solution, ahead, trouble, known, elapsed_ms)

    def rest(self, t_s: float, odometry: Odometry | None, reason: str) -> Command:
        """Zero thrust by order: the estimate goes on, nothing is optimised, and the others hear where we are."""
        trouble = self._sense(t_s, odometry)
        self._solution, self.controller.cold = None, True
        self._gate.fine()
        self._station.release()
        start_s = t_s + self.settings.actuation_delay_s
        known_state = trouble is None and self._stamp_s is not None
        ahead = self._predict(start_s, start_s) if known_state else None
        self._previous_N = np.zeros(len(self.vehicle.thrusters))
        self._history.command(start_s, self._previous_N)
        plan = self._plan(t_s, start_s, Mode.ZERO_THRUST, ahead)
        why = f"{reason}; {trouble}" if trouble else reason
        return Command(self._previous_N.copy(), plan, Health(Mode.ZERO_THRUST, why))

    # -- sensing ------------------------------------------------------------------------------------------------

    def _sense(self, t_s: float, odometry: Odometry | None) -> str | None:
        """Take in odometry; the reason why it can't be used, if so."""
        if t_s < self._last_t_s - 1e-9:
            self._restart()
        self._last_t_s = t_s
        if odometry is None:
            return "no odometry"
        if problem := refuse(odometry, t_s, self.settings.gate):
            return problem
        if self._stamp_s is None or odometry.stamp_s - self._stamp_s > self.settings.gate.reset_s:
            self.estimator.reset(odometry)
            self._force_N = self._previous_N.copy() if self._stamp_s is not None else self._force_N
            self._stamp_s = odometry.stamp_s
            return None
        if odometry.stamp_s <= self._stamp_s:  # the same once more, or out of order: nothing new
            return None
        span = (self._stamp_s, odometry.stamp_s)
        for duration, mean, end in self._history.segments(*span, self._force_N, LONGEST_STEP_S):
            self.estimator.predict(mean, duration)
            self._force_N = end
        self.estimator.correct(odometry)
        self._weigh(odometry.stamp_s)
        self._stamp_s = odometry.stamp_s
        self._history.forget_before(odometry.stamp_s)
        return None

    def _weigh(self, t_s: float) -> None:
        """Weight that the model cannot explain turns with the vehicle, which a wrench of the body does not."""
        axis = matrix(self.estimator.state[ATTITUDE])[2]  # down, seen from the vehicle
        down_N = float(axis @ self.estimator.wrench[:3])
        weight_N = self._weighing.weight_N(t_s, self.vehicle.weight_N, down_N)
        if weight_N is None:
            return
        vehicle = self.vehicle.scaled(mass=weight_N / self.vehicle.weight_N)
        self._believe(vehicle)
        self.controller.adopt(vehicle)
        self.estimator.adopt(vehicle, np.concatenate([down_N * axis, np.zeros(3)]))

    def _restart(self) -> None:
        """The clock went back: everything timed is void."""
        self._stamp_s, self._solution, self._kept_yaw_rad = None, None, None
        self._history = ActuatorState(len(self.vehicle.thrusters), self._lag_s)
        self._gate = Gate(self.settings.gate)
        self.controller.cold = True

    def _predict(self, act_s: float, start_s: float) -> Array:
        """The state at `start_s`; on the way, the force at `act_s`, when the next command reaches the thrusters."""
        assert self._stamp_s is not None
        state, force = self.estimator.state, self._force_N
        for begin_s, end_s in ((self._stamp_s, act_s), (act_s, start_s)):
            for duration, mean, end in self._history.segments(begin_s, end_s, force, LONGEST_STEP_S):
                state, force = self.estimator.step(state, mean, duration), end
            if end_s == act_s:
                self._acting_N = force
        return state

    # -- optimising ---------------------------------------------------------------------------------------------

    def _neighbours(
        self, t_s: float, times_s: Array, plans: Mapping[str, Plan], places: Mapping[str, Preview]
    ) -> Neighbours:
        settings = self.settings.neighbours
        usable = [
            plan
            for name, plan in plans.items()
            if name != self.name and t_s - plan.stamp_s < settings.forget_s and plan.sound
        ]
        return others_of.forecast(usable, t_s, times_s, places, settings)

    def _optimise(
        self, ahead: Array, times_s: Array, t_s: float, known: Neighbours, reference: Preview
    ) -> tuple[str | None, Solution | None]:
        controller = self.controller
        wanted = reference.at(times_s)
        if not np.isfinite(wanted.positions_m).all():
            return "reference is not finite", None
        if self._unsure:
            goal, others = self._stay(ahead)
        else:
            self._kept_yaw_rad = None
            goal, others = self._aim(ahead, wanted, known)
        controller.problem.limits[2] = self._steady_thrust(goal.velocities_mps[0], float(goal.headings_rad[0]))
        wrench, current = self.estimator.wrench, self.estimator.current
        try:
            solution = controller.solve(
                ahead, self._previous_N, goal, others, wrench, current, max(0.0, t_s - self._solved_s)
            )
        except Exception as error:  # a back end that throws must not stop the vehicle's loop
            controller.cold = True
            return f"solver raised {type(error).__name__}: {error}", None
        self._solved_s = t_s
        if not solution.usable:
            return f"solver failed with status {solution.status}", None
        return None, solution

    def _aim(self, ahead: Array, wanted: Preview, known: Neighbours) -> tuple[Goal, Others]:
        """Along the reference, around and in sight of the neighbours."""
        controller, limits = self.controller, self.settings.controller.limits
        chosen = others_of.choose(known, ahead[POSITION], self.must_see, self.settings.places)
        others = others_of.arrange(chosen, self.must_see, self.settings.places, len(wanted.times_s), limits)
        own = ahead[POSITION] if controller.cold else controller.problem.x[:, POSITION]
        seen = chosen.first(sum(name in self.must_see for name in chosen.names))
        yaw = headings(own, seen, wanted, yaw_of(ahead[ATTITUDE]))
        target = give_way_goal(
            wanted.positions_m, ahead[POSITION], known, limits.distance_soft_m, self.settings.give_way
        )
        return Goal(target, wanted.velocities_mps, yaw), others

    def _stay(self, ahead: Array) -> tuple[Goal, Others]:
        """Stop and keep the heading: bearings from a position that may be metres off would turn us away."""
        points, ring = len(self.controller.times_s), self.settings.controller.ring
        self.controller.cold = True  # the last solution began metres from here
        if self._kept_yaw_rad is None:
            self._kept_yaw_rad = yaw_of(ahead[ATTITUDE])
        yaw, here = self._kept_yaw_rad, ahead[POSITION].copy()
        if ring.form != "off":  # whose goal is its middle
            here[0:2] += ring.radius_m * math.cos(yaw), ring.radius_m * math.sin(yaw)
        goal = Goal(np.tile(here, (points, 1)), np.zeros((points, 3)), np.full(points, yaw))
        return goal, Others.none(self.settings.places, points)

    @property
    def _unsure(self) -> bool:
        return self.estimator.position_sigma_m > self.settings.gate.unsure_m

    def _steady_thrust(self, velocity_mps: Array, yaw_rad: float) -> Array:
        """Thrust that keeps the wanted motion against weight, drag, current and wrench: the input cost's zero."""
        c, s = math.cos(yaw_rad), math.sin(yaw_rad)
        north, east, down = velocity_mps.tolist()
        i = self._ode.inputs  # level, at the origin, not turning; thrust, the second input, stays zero
        i[0][3], i[0][6] = math.cos(yaw_rad / 2), math.sin(yaw_rad / 2)
        i[0][VELOCITY] = c * north + s * east, c * east - s * north, down
        i[2][:], i[3][:] = self.estimator.current, self.estimator.wrench
        self._ode.call()
        thrust = self._hover @ self._ode.outputs[0][7:13]
        return np.minimum(np.maximum(thrust, self._lower), self._upper)

    # -- answering ----------------------------------------------------------------------------------------------

    def _answer(
        self,
        t_s: float,
        start_s: float,
        solution: Solution | None,
        ahead: Array | None,
        trouble: str | None,
        known: Neighbours | None,
        elapsed_ms: float,
    ) -> Command:
        if solution is not None:
            self._gate.fine()
            self._station.release()
            self._solution, self._plan_start_s = solution, start_s
            mode, thrust = Mode.NMPC, self._overdriven(solution.thrust_N)
        else:
            mode = self._gate.fallback(t_s, self._solution is not None, ahead is not None)
            thrust = self._fallback_thrust(mode, start_s, ahead)
        thrust = np.minimum(np.maximum(thrust, self._lower), self._upper)
        self._history.command(t_s + self.settings.actuation_delay_s, thrust)
        self._previous_N = solution.thrust_N if solution is not None else thrust
        plan = self._plan(t_s, start_s, mode, ahead)
        clear = known is None or self._clear(plan, known)
        ages_s = {} if known is None else dict(zip(known.names, known.ages_s.tolist(), strict=True))
        slack_hard = solution.slack_hard if solution else 0.0
        health = Health(
            mode=mode,
            reason=trouble or "",
            solve_ms=elapsed_ms,
            iterations=solution.iterations if solution else 0,
            slack_max=solution.slack_soft if solution else 0.0,
            slack_hard_max=slack_hard,
            neighbour_age_s=ages_s,
            overrun=elapsed_ms > self.settings.period_s * 1e3,
            committed=clear,
            warnings=(WEIGHED,) * self._weighing.done
            + (UNSURE,) * self._unsure
            + self._watch.check(t_s, self.estimator.wrench, ages_s, slack_hard),
        )
        if not clear:
            plan = Plan(plan.vehicle, plan.sequence, t_s, plan.times_s, plan.positions_m, plan.velocities_mps, False)
        return Command(thrust, plan, health)

    def _overdriven(self, wanted_N: Array) -> Array:
        """The command that brings the lagging thrusters to the wanted force sooner."""
        if self._lag_s <= 1e-6:
            return wanted_N
        return self._acting_N + self._lead_by * (wanted_N - self._acting_N)

    def _fallback_thrust(self, mode: Mode, start_s: float, ahead: Array | None) -> Array:
        if mode is Mode.SHIFTED_PLAN:
            assert self._solution is not None
            late = start_s - self._plan_start_s
            k = int(np.searchsorted(self.controller.times_s, late + 1e-9, side="right") - 1)
            return self._solution.thrusts_N[min(k, len(self._solution.thrusts_N) - 1)]
        if mode is Mode.STATION_KEEPING:
            assert ahead is not None
            return self._station.thrust(ahead, self._steady_thrust(np.zeros(3), yaw_of(ahead[ATTITUDE])))
        return np.zeros(len(self.vehicle.thrusters))

    def _plan(self, t_s: float, start_s: float, mode: Mode, ahead: Array | None) -> Plan:
        """What the others may expect: the optimised trajectory, or staying where we are."""
        self._sequence += 1
        if mode in (Mode.NMPC, Mode.SHIFTED_PLAN) and self._solution is not None:
            states = self._solution.states
            times = self._plan_start_s + self.controller.times_s
        else:
            states = (self.estimator.state if ahead is None else ahead)[None, :]
            times = np.array([start_s])
        positions = states[:, POSITION].copy()
        velocities = np.zeros_like(positions)
        if len(times) > 1:
            velocities[:-1] = (positions[1:] - positions[:-1]) / self.controller.problem.steps_s[:, None]
            velocities[-1] = velocities[-2]
        return Plan(self.name, self._sequence, t_s, times, positions, velocities)

    def _clear(self, plan: Plan, others: Neighbours) -> bool:
        """Whether the plan keeps the hard distance from the neighbours', as far as known."""
        if not others.names or len(plan.times_s) != others.positions_m.shape[1]:
            return True
        gap = plan.positions_m - others.positions_m
        return bool(np.einsum("vmi,vmi->vm", gap, gap).min() >= self.settings.controller.limits.distance_hard_m**2)


def _lead(settings: AgentSettings, lag_s: float) -> float:
    """How much a change of thrust is overdriven against the lag: as wished, but at a slow rate less.

    The force must not shoot past what was wanted before a command that has seen it acts, a period and the delay later;
    at 10 Hz and 1 m/s it did, and the vehicle rolled ever harder.
    """
    if lag_s <= 1e-6:
        return 1.0
    blind_s = settings.period_s + settings.actuation_delay_s
    return min(settings.thruster_lead, 1.0 / (1.0 - math.exp(-blind_s / lag_s)))
