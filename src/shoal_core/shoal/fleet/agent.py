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
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.estimation.mass_adaptation import MassAdaptation
from shoal.estimation.timing_bank import TimingBankSettings, TimingEstimate
from shoal.fleet.actuation import Actuation
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
    """What is around a controller: estimator, gate, monitor, timing, neighbours. `runtime:` of a controller file."""

    estimator: EstimatorSettings = EstimatorSettings()
    neighbours: NeighbourSettings = NeighbourSettings()
    gate: GateSettings = GateSettings()
    monitor: MonitorSettings = MonitorSettings()
    timing: TimingBankSettings = TimingBankSettings()
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
        self._actuation = self._make_actuation(vehicle)
        self._previous_N, self._acting_N = np.zeros(count), np.zeros(count)

    def _make_actuation(self, vehicle: Vehicle) -> Actuation:
        given_s, s = self.timing.thruster_lag_s, self.settings
        lag_s = float(np.mean([t.time_constant_s for t in vehicle.thrusters])) if given_s is None else given_s
        # A controller that does without a prediction over lag and delay does not depend on them.
        bank = s.timing if self.controller.lag_compensation else s.timing.model_copy(update={"enabled": False})
        configured = TimingEstimate(lag_s, self.timing.actuation_delay_s)
        return Actuation(vehicle, configured, self.timing.period_s, s.thruster_lead, s.estimator.rate_dps, bank)

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another description from the next step on: other numbers, or after joining and parting other thrusters."""
        same = len(vehicle.thrusters) == len(self.vehicle.thrusters)
        kept = self._actuation, self._previous_N, self._acting_N
        self.controller.set_vehicle(vehicle)
        self.estimator.set_vehicle(vehicle)
        self._fit(vehicle)
        if same and kept[0].configured == self._actuation.configured:
            self._actuation, self._previous_N, self._acting_N = kept
            self._actuation.set_vehicle(vehicle)
        else:
            self._output = None

    def step(self, t_s: float, odometry: Odometry | None, directive: Directive, plans: Mapping[str, Plan]) -> Command:
        """One control period with what is known of the neighbours."""
        started = self._stopwatch()
        issue = self._sense(t_s, odometry)
        act_s, lag_s = self._act_s(t_s), self._actuation.timing.lag_s
        # A lag acts like a delay of its time constant; overdriving the change by `lead` shortens it by that factor.
        start_s = act_s + lag_s / self._actuation.lead if self.controller.lag_compensation else act_s
        output, state, forecast = None, None, None
        if issue is None and odometry is not None and self._stamp_s is not None:
            state = self._predict(act_s, start_s)
            if not all(map(math.isfinite, state.tolist())):  # a runaway estimate: the measurement is all there is
                self._start_from(odometry)
                state = odometry.state.copy()
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

    def _act_s(self, t_s: float) -> float:
        """When a command of now reaches the thrusters; not before the odometry it answers."""
        act_s = t_s + self._actuation.timing.delay_s
        return act_s if self._stamp_s is None else max(act_s, self._stamp_s)

    def rest(self, t_s: float, odometry: Odometry | None, reason: Issue) -> Command:
        """Zero thrust by order: the estimate goes on, nothing is optimised, and the others learn where we are."""
        issue = self._sense(t_s, odometry)
        self._output = None
        self.controller.reset()
        self._gate.reset()
        self._station.release()
        start_s = self._act_s(t_s)
        known = issue is None and self._stamp_s is not None
        state = self._predict(start_s, start_s) if known else None
        self._previous_N = np.zeros(len(self.vehicle.thrusters))
        self._actuation.command(t_s, self._previous_N)
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
            if self._stamp_s is not None:
                self._actuation.force_N = self._previous_N.copy()
            self._start_from(odometry)
            return None
        if odometry.stamp_s <= self._stamp_s:  # the same once more, or out of order: nothing new
            return None
        actuation, estimator = self._actuation, self.estimator
        for segment in actuation.segments(self._stamp_s, odometry.stamp_s, LONGEST_STEP_S):
            actuation.force_N = estimator.predict(actuation.force_N, segment)
        estimator.correct(odometry)
        if not estimator.is_finite:  # then nothing may be learnt from it
            self._start_from(odometry)
            return None
        self._adapt_mass(odometry.stamp_s)
        self._stamp_s = odometry.stamp_s
        self._actuation.learn(t_s, odometry, estimator.state, estimator.current)
        return None

    def _start_from(self, odometry: Odometry) -> None:
        self.estimator.reset(odometry)
        self._actuation.begin(odometry)
        self._stamp_s = odometry.stamp_s

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
        self._actuation.clear()
        self._gate = Gate(self.settings.gate)
        self.controller.reset()

    def _predict(self, act_s: float, start_s: float) -> Array:
        """The state at `start_s`; on the way, the force at `act_s`, when the next command reaches the thrusters."""
        assert self._stamp_s is not None
        state, force = self.estimator.state, self._actuation.force_N
        for begin_s, end_s in ((self._stamp_s, act_s), (act_s, start_s)):
            for segment in self._actuation.segments(begin_s, end_s, LONGEST_STEP_S):
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
        thrust = self._limited(thrust)
        self._actuation.command(t_s, thrust)
        self._previous_N = output.thrust_N if output is not None else thrust
        steered = self._output if mode in (Mode.CONTROLLER, Mode.PREVIOUS_PLAN) else None
        plan = self._plan(t_s, start_s, steered, state)
        ages_s = {} if forecast is None else {p.vehicle: max(0.0, t_s - p.stamp_s) for p in forecast.plans}
        committed = self._is_clear(plan, forecast)
        if not committed:
            plan = Plan(plan.vehicle, plan.sequence, t_s, plan.times_s, plan.positions_m, plan.velocities_mps, False)
        slack_soft, slack_hard = (output.slack_soft, output.slack_hard) if output else (0.0, 0.0)
        timing = self._actuation.timing
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
            thruster_lag_s=timing.lag_s,
            actuation_delay_s=timing.delay_s,
            timing_certainty=timing.certainty,
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
        found += self._actuation.issues()
        if not self._position_reliable:
            found += (Issue(Code.POSITION_NOISE, Severity.WARNING, value=self.estimator.position_sigma_m),)
        return found + self._monitor.check(t_s, self.estimator.wrench, ages_s, slack_hard)

    def _overdriven(self, wanted_N: Array) -> Array:
        """The command that brings the lagging thrusters to the wanted force sooner."""
        if self._actuation.timing.lag_s <= 1e-6 or not self.controller.lag_compensation:
            return wanted_N
        return self._acting_N + self._actuation.lead * (wanted_N - self._acting_N)

    def _limited(self, thrust_N: Array) -> Array:
        """Within the limits; while only a share of them may be used, in proportion: clipped forces are moments."""
        if not all(map(math.isfinite, thrust_N.tolist())):
            return np.zeros(len(thrust_N))
        share = self._actuation.thrust_share
        if share < 1.0:
            used = float(np.max(np.where(thrust_N > 0, thrust_N / self._upper, thrust_N / self._lower)))
            return thrust_N * min(1.0, share / max(used, 1e-9))
        return np.minimum(np.maximum(thrust_N, self._lower), self._upper)

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
