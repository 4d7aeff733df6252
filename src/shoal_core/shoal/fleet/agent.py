"""One vehicle's estimate, controller and fallbacks. The simulator and the ROS node run the same one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Controller, ControlOutput, Estimate
from shoal.control.station_keeping import StationKeeping
from shoal.control.steady_thrust import SteadyThrust
from shoal.estimation.actuator_state import ActuatorState
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.estimation.mass_adaptation import MassAdaptation
from shoal.fleet.gate import Gate, GateSettings, check_odometry
from shoal.fleet.monitor import HealthMonitor, MonitorSettings
from shoal.fleet.neighbours import NeighbourSettings, PlanForecast
from shoal.frames import matrix, yaw_of
from shoal.messages.command import Command
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Health, Issue, Mode, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY
from shoal.messages.trajectory import closest_m2
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
LONGEST_STEP_S = 0.1  # of the model when predicting


class AgentSettings(FileModel):
    """What is around a controller: estimator, gate, monitor, trust in neighbours. `runtime:` of a controller file."""

    estimator: EstimatorSettings = EstimatorSettings()
    neighbours: NeighbourSettings = NeighbourSettings()
    gate: GateSettings = GateSettings()
    monitor: MonitorSettings = MonitorSettings()
    thruster_lead: float = Field(default=2.0, ge=1, le=4, description="overdrive of thrust changes against the lag")


@dataclass(frozen=True)
class Timing:
    """What is believed of time: nominal values, never a run's draw."""

    period_s: float = 0.05
    actuation_delay_s: float = 0.0  # from the odometry to the thrust that answers it
    thruster_lag_s: float | None = None  # time constant; None: the vehicle description's mean


class Agent:
    """`step` once a control period. The vehicle may be replaced between two steps with `set_vehicle`."""

    def __init__(
        self,
        name: str,
        vehicle: Vehicle,
        controller: Controller,
        settings: AgentSettings,
        timing: Timing,
        stopwatch: Callable[[], float],
        hard_distance_m: float,
    ) -> None:
        """`stopwatch` reads a clock in seconds: how long a step takes. The simulator hands in its own."""
        self.name, self.controller, self.settings, self.timing = name, controller, settings, timing
        self._stopwatch, self._hard_m2 = stopwatch, hard_distance_m**2
        self.estimator = StateEstimator(vehicle, settings.estimator)
        self._fit(vehicle)
        self._gate, self._monitor = Gate(settings.gate), HealthMonitor(settings.monitor)
        self._mass = MassAdaptation(settings.monitor.weigh_N)
        self._stamp_s: float | None = None  # of the odometry the estimate stands on
        self._last_t_s = -math.inf
        self._sequence = 0
        self._output: ControlOutput | None = None  # the last usable one
        self._output_start_s = 0.0

    def _fit(self, vehicle: Vehicle) -> None:
        """Everything here that holds numbers of the vehicle."""
        count = len(vehicle.thrusters)
        self.vehicle = vehicle
        self._steady, self._station = SteadyThrust(vehicle), StationKeeping(vehicle)
        self._lower, self._upper = vehicle.thrust_min_N, vehicle.thrust_max_N
        given_s = self.timing.thruster_lag_s
        self._lag_s = float(np.mean([t.time_constant_s for t in vehicle.thrusters])) if given_s is None else given_s
        self._lead = _lead(self.settings.thruster_lead, self.timing, self._lag_s)
        self._actuators = ActuatorState(count, self._lag_s)
        self._force_N, self._previous_N, self._acting_N = (np.zeros(count) for _ in range(3))

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another description from the next step on: other numbers, or after joining and parting other thrusters."""
        same = len(vehicle.thrusters) == len(self.vehicle.thrusters)
        kept = self._actuators, self._force_N, self._previous_N, self._acting_N
        self.controller.set_vehicle(vehicle)
        self.estimator.set_vehicle(vehicle)
        self._fit(vehicle)
        if same:  # what the thrusters are doing does not change with the mass
            self._actuators, self._force_N, self._previous_N, self._acting_N = kept
        else:
            self._output = None

    def step(self, t_s: float, odometry: Odometry | None, directive: Directive, plans: Mapping[str, Plan]) -> Command:
        """One control period with what is known of the neighbours."""
        started = self._stopwatch()
        act_s = t_s + self.timing.actuation_delay_s
        # A lag acts like a delay of its time constant; overdriving the change by `lead` shortens it by that factor.
        start_s = act_s + self._lag_s / self._lead if self.controller.lag_compensation else act_s
        issue = self._sense(t_s, odometry)
        output, state, forecast = None, None, None
        if issue is None and odometry is not None and self._stamp_s is not None:
            state = self._predict(act_s, start_s)
            forecast = PlanForecast(
                self._usable(t_s, plans), t_s, directive.formation_setpoints, self.settings.neighbours
            )
            output = self._control(t_s, start_s, state, odometry, directive, forecast)
            issue = output.issues[0] if output is not None and not output.usable else None
        compute_s = self._stopwatch() - started
        if output is not None and compute_s > self.settings.gate.deadline_periods * self.timing.period_s:
            issue, output = Issue(Code.DEADLINE_MISSED, Severity.WARNING, value=compute_s * 1e3), None
            self.controller.reset()
        if output is not None and not output.usable:
            output = None
        return self._answer(t_s, start_s, output, state, issue, forecast, compute_s)

    def rest(self, t_s: float, odometry: Odometry | None, reason: Issue) -> Command:
        """Zero thrust by order: the estimate goes on, nothing is optimised, and the others learn where we are."""
        issue = self._sense(t_s, odometry)
        self._output = None
        self.controller.reset()
        self._gate.reset()
        self._station.release()
        start_s = t_s + self.timing.actuation_delay_s
        known = issue is None and self._stamp_s is not None
        state = self._predict(start_s, start_s) if known else None
        self._previous_N = np.zeros(len(self.vehicle.thrusters))
        self._actuators.command(start_s, self._previous_N)
        plan = self._plan(t_s, start_s, None, state)
        issues = (reason,) if issue is None else (reason, issue)
        return Command(self._previous_N.copy(), plan, Health(Mode.ZERO_THRUST, issues))

    # -- sensing ------------------------------------------------------------------------------------------------

    def _sense(self, t_s: float, odometry: Odometry | None) -> Issue | None:
        """Take in odometry; the reason why it can't be used, if so."""
        if t_s < self._last_t_s - 1e-9:
            self._restart()
        self._last_t_s = t_s
        if odometry is None:
            return Issue(Code.NO_ODOMETRY, Severity.WARNING)
        if problem := check_odometry(odometry, t_s, self.settings.gate):
            return problem
        if self._stamp_s is None or odometry.stamp_s - self._stamp_s > self.settings.gate.reset_s:
            self.estimator.reset(odometry)
            self._force_N = self._previous_N.copy() if self._stamp_s is not None else self._force_N
            self._stamp_s = odometry.stamp_s
            return None
        if odometry.stamp_s <= self._stamp_s:  # the same once more, or out of order: nothing new
            return None
        for segment in self._actuators.segments(self._stamp_s, odometry.stamp_s, LONGEST_STEP_S):
            self._force_N = self.estimator.predict(self._force_N, segment)
        self.estimator.correct(odometry)
        self._adapt_mass(odometry.stamp_s)
        self._stamp_s = odometry.stamp_s
        self._actuators.forget_before(odometry.stamp_s)
        return None

    def _adapt_mass(self, t_s: float) -> None:
        """Weight that the model cannot explain turns with the vehicle, which a wrench of the body does not."""
        w, x, y, z = self.estimator.state[ATTITUDE].tolist()
        forward, right, down, *_ = self.estimator.wrench.tolist()
        axis = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)  # down, seen from the vehicle
        down_N = axis[0] * forward + axis[1] * right + axis[2] * down
        weight_N = self._mass.weight_N(t_s, self.vehicle.weight_N, down_N)
        if weight_N is None:
            return
        self.set_vehicle(self.vehicle.scaled(mass=weight_N / self.vehicle.weight_N))
        self.estimator.explain(np.array([*(down_N * a for a in axis), 0.0, 0.0, 0.0]))

    def _restart(self) -> None:
        """The clock went back: everything timed is void."""
        self._stamp_s, self._output = None, None
        self._actuators = ActuatorState(len(self.vehicle.thrusters), self._lag_s)
        self._gate = Gate(self.settings.gate)
        self.controller.reset()

    def _predict(self, act_s: float, start_s: float) -> Array:
        """The state at `start_s`; on the way, the force at `act_s`, when the next command reaches the thrusters."""
        assert self._stamp_s is not None
        state, force = self.estimator.state, self._force_N
        for begin_s, end_s in ((self._stamp_s, act_s), (act_s, start_s)):
            for segment in self._actuators.segments(begin_s, end_s, LONGEST_STEP_S):
                state, force = self.estimator.step(state, force, segment)
            if end_s == act_s:
                self._acting_N = force
        return state

    # -- control ------------------------------------------------------------------------------------------------

    def _usable(self, t_s: float, plans: Mapping[str, Plan]) -> Sequence[Plan]:
        forget_s = self.settings.neighbours.forget_s
        return [
            plan
            for name, plan in plans.items()
            if name != self.name and t_s - plan.stamp_s < forget_s and plan.is_valid
        ]

    @property
    def _position_reliable(self) -> bool:
        return self.estimator.position_sigma_m <= self.settings.gate.unsure_m

    def _control(
        self, t_s: float, start_s: float, state: Array, odometry: Odometry, directive: Directive, forecast: PlanForecast
    ) -> ControlOutput:
        e = self.estimator
        estimate = Estimate(
            t_s, start_s, state, e.wrench, e.current, self._position_reliable, self._previous_N, odometry
        )
        try:
            output = self.controller.step(t_s, estimate, directive, forecast)
            wrong = _wrong(output, len(self._previous_N)) if output.usable else ""
        except Exception as error:  # a controller that throws must not stop the vehicle's loop
            wrong = f"{type(error).__name__}: {error}"
        if not wrong:
            return output
        self.controller.reset()
        issue = Issue(Code.CONTROLLER_RAISED, Severity.ERROR, wrong)
        return ControlOutput(self._previous_N, np.array([start_s]), state[None], issues=(issue,), usable=False)

    # -- answering ----------------------------------------------------------------------------------------------

    def _answer(
        self,
        t_s: float,
        start_s: float,
        output: ControlOutput | None,
        state: Array | None,
        issue: Issue | None,
        forecast: PlanForecast | None,
        compute_s: float,
    ) -> Command:
        if output is not None:
            self._gate.reset()
            self._station.release()
            self._output, self._output_start_s = output, start_s
            mode, thrust = Mode.CONTROLLER, self._overdriven(output.thrust_N)
        else:
            has_plan = self._output is not None and self._output.planned_N is not None
            mode = self._gate.fallback(t_s, has_plan, state is not None)
            thrust = self._fallback_thrust(mode, start_s, state)
        thrust = np.minimum(np.maximum(thrust, self._lower), self._upper)
        self._actuators.command(t_s + self.timing.actuation_delay_s, thrust)
        self._previous_N = output.thrust_N if output is not None else thrust
        steered = self._output if mode in (Mode.CONTROLLER, Mode.PREVIOUS_PLAN) else None
        plan = self._plan(t_s, start_s, steered, state)
        ages_s = {} if forecast is None else {p.vehicle: max(0.0, t_s - p.stamp_s) for p in forecast.plans}
        committed = self._is_clear(plan, forecast)
        if not committed:
            plan = Plan(plan.vehicle, plan.sequence, t_s, plan.times_s, plan.positions_m, plan.velocities_mps, False)
        slack_soft, slack_hard = (output.slack_soft, output.slack_hard) if output else (0.0, 0.0)
        health = Health(
            mode=mode,
            issues=self._issues(t_s, issue, output, ages_s, slack_hard),
            solve_ms=compute_s * 1e3,
            iterations=output.iterations if output else 0,
            slack_soft=slack_soft,
            slack_hard=slack_hard,
            neighbour_age_s=ages_s,
            overrun=compute_s > self.timing.period_s,
            committed=committed,
        )
        return Command(thrust, plan, health, compute_s)

    def _issues(
        self, t_s: float, issue: Issue | None, output: ControlOutput | None, ages_s: dict[str, float], slack_hard: float
    ) -> tuple[Issue, ...]:
        found: tuple[Issue, ...] = () if issue is None else (issue,)
        if output is not None:
            found += output.issues
        if self._mass.done:
            found += (Issue(Code.MASS_REPLACED, Severity.WARNING, value=self.vehicle.mass_kg),)
        if not self._position_reliable:
            found += (Issue(Code.POSITION_NOISE, Severity.WARNING, value=self.estimator.position_sigma_m),)
        return found + self._monitor.check(t_s, self.estimator.wrench, ages_s, slack_hard)

    def _overdriven(self, wanted_N: Array) -> Array:
        """The command that brings the lagging thrusters to the wanted force sooner."""
        if self._lag_s <= 1e-6 or not self.controller.lag_compensation:
            return wanted_N
        return self._acting_N + self._lead * (wanted_N - self._acting_N)

    def _fallback_thrust(self, mode: Mode, start_s: float, state: Array | None) -> Array:
        if mode is Mode.PREVIOUS_PLAN:
            assert self._output is not None and self._output.planned_N is not None
            planned, late_s = self._output.planned_N, start_s - self._output_start_s
            offsets_s = self._output.times_s - self._output.times_s[0]
            k = int(np.searchsorted(offsets_s, late_s + 1e-9, side="right") - 1)
            return planned[min(k, len(planned) - 1)]
        if mode is Mode.STATION_KEEPING:
            assert state is not None
            yaw = yaw_of(state[ATTITUDE])
            steady_N = self._steady(np.zeros(3), yaw, self.estimator.wrench, self.estimator.current)
            return self._station.thrust(state, steady_N)
        return np.zeros(len(self.vehicle.thrusters))

    def _plan(self, t_s: float, start_s: float, output: ControlOutput | None, state: Array | None) -> Plan:
        """What the others may expect: the predicted motion, or staying where we are."""
        self._sequence += 1
        if output is not None and len(output.times_s) > 1:
            positions_m = output.states[:, POSITION].copy()
            return Plan.along(self.name, self._sequence, t_s, output.times_s, positions_m)
        if output is not None:  # of a controller that predicts nothing: the state it steered by
            here, start_s = output.states[0], float(output.times_s[0])
            velocity = (matrix(here[ATTITUDE]) @ here[VELOCITY])[None]
        else:
            here, velocity = self.estimator.state if state is None else state, np.zeros((1, 3))
        return Plan(self.name, self._sequence, t_s, np.array([start_s]), here[None, POSITION].copy(), velocity)

    def _is_clear(self, plan: Plan, forecast: PlanForecast | None) -> bool:
        """Whether the plan keeps the hard distance from the neighbours' plans, as far as known."""
        if forecast is None or not forecast.plans or len(plan.times_s) < 2:
            return True
        return closest_m2(forecast.at(plan.times_s).positions_m, plan.positions_m) >= self._hard_m2


def _wrong(output: ControlOutput, thrusters: int) -> str:
    """Why thrust of a user's controller cannot be sent; what is not a number must never reach a thruster."""
    if output.thrust_N.shape != (thrusters,):
        return f"thrust_N has shape {output.thrust_N.shape}, expected ({thrusters},)"
    return "" if math.isfinite(float(output.thrust_N.sum())) else "thrust_N is not finite"


def _lead(wanted: float, timing: Timing, lag_s: float) -> float:
    """How much a change of thrust is overdriven against the lag: as wished, but at a slow rate less.

    The force must not shoot past what was wanted before a command that has seen it acts, a period and the delay later;
    at 10 Hz and 1 m/s it did, and the vehicle rolled ever harder.
    """
    if lag_s <= 1e-6:
        return 1.0
    blind_s = timing.period_s + timing.actuation_delay_s
    return min(wanted, 1.0 / (1.0 - math.exp(-blind_s / lag_s)))
