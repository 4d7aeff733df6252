"""One vehicle's estimate, controller and fallbacks. The simulator and the ROS node run the same one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.codegen import take_compiled
from shoal.control.base import Controller, ControlOutput, Estimate
from shoal.estimation.ekf import RATE_BLOCK, StateEstimator
from shoal.estimation.model_adaptation import ModelAdaptation, down_of
from shoal.fleet.actuation import carried_over
from shoal.fleet.agent_settings import AgentSettings, Timing, make_actuation
from shoal.fleet.fallback import Fallback
from shoal.fleet.gate import Gate, check_odometry
from shoal.fleet.handover import Knowledge
from shoal.fleet.hazards import Hazard
from shoal.fleet.hull_gaps import Hulls, gaps_along
from shoal.fleet.let_go import LetGo
from shoal.fleet.monitor import HealthMonitor
from shoal.fleet.neighbours import PlanForecast, usable_plans
from shoal.fleet.odometry_watch import OdometryWatch, surprise_issue
from shoal.fleet.oscillation import OscillationWatch
from shoal.fleet.overdrive import Leads, Overdrive, leads_of, predicted
from shoal.fleet.own_plan import keeps_clear, own_plan
from shoal.fleet.safe_step import safe_step
from shoal.fleet.thruster_use import ThrusterUse
from shoal.frames import matrix
from shoal.messages.command import Command
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Health, Issue, Mode, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.scale import VehicleScale

Array = NDArray[np.float64]
LONGEST_STEP_S = 0.1  # of the model when predicting
BEFORE_FAULT_S = 1.0  # a thruster that is suspected now was sound so long ago, as far as the timing goes


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
        self._stopwatch, self._hard_m = stopwatch, hard_distance_m
        self.hulls = Hulls()  # whose centre is not all that distances are kept from
        self.estimator = StateEstimator(vehicle, settings.estimator)
        self._use, self._let_go = ThrusterUse(vehicle, settings.thrusters), LetGo(settings.let_go)
        self._fit(self._use.fitted(vehicle))
        self._gate, self._scale = Gate(settings.gate), VehicleScale.of(vehicle)
        self._monitor = HealthMonitor(self._scale.fit(settings.monitor))
        self._model = ModelAdaptation.of(vehicle, settings.adaptation, self.controller.learns_drag)
        self._watch = OdometryWatch(settings.gate)
        self._oscillation = OscillationWatch(self._scale.fit(settings.oscillation))
        self._stamp_s: float | None = None  # of the odometry the estimate stands on
        self._last_t_s, self._sequence, self._output_start_s = -math.inf, 0, 0.0
        self._output: ControlOutput | None = None  # the last usable one

    def _fit(self, vehicle: Vehicle) -> None:
        """Everything here that holds numbers of the vehicle."""
        self.vehicle, self._keeps_depth = vehicle, "heave" not in vehicle.controlled_axes
        self._fallback, self._overdrive = Fallback(vehicle), Overdrive(vehicle)
        self._limits = vehicle.thrust_min_N, vehicle.thrust_max_N
        self._let_go.set_vehicle(vehicle)
        self._actuation = make_actuation(vehicle, self.timing, self.settings, type(self.controller).lag_compensation)
        self._previous_N, self._acting_N = np.zeros(vehicle.input_count), np.zeros(vehicle.input_count)

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another description from the next step on: other numbers, or after joining and parting other thrusters."""
        self._model = ModelAdaptation.of(vehicle, self.settings.adaptation, self.controller.learns_drag)
        self._exchange(vehicle)

    def _exchange(self, vehicle: Vehicle) -> None:
        vehicle = self._use.fitted(vehicle)
        same = vehicle.input_count == self.vehicle.input_count
        kept, old = (self._actuation, self._previous_N, self._acting_N), self.vehicle
        self.controller.set_vehicle(vehicle)
        self.estimator.set_vehicle(vehicle)
        self._fit(vehicle)
        if same and kept[0].configured == self._actuation.configured:
            self._actuation, self._previous_N, self._acting_N = kept
            self._actuation.set_vehicle(vehicle)
        else:
            self._output = None
            moved = [carried_over(old, vehicle, part) for part in (kept[1], kept[2], kept[0].force_N)]
            self._previous_N, self._acting_N, self._actuation.force_N = moved
            if math.isfinite(self._last_t_s):
                self._actuation.command(self._last_t_s, self._previous_N)

    @property
    def knowledge(self) -> Knowledge | None:
        """For whoever steers next; None while there is no estimate."""
        if self._stamp_s is None:
            return None
        e, now = self.estimator, Odometry(self._stamp_s, self.estimator.state.copy())
        return Knowledge(now, e.wrench, e.current, self._previous_N, self._actuation.timing)

    def take_over(self, vehicle: Vehicle, known: Knowledge | None) -> None:
        """Another body from the next step on, with what is known of it; None: nothing."""
        self.set_vehicle(vehicle)
        self._let_go.clear()
        self._output, self._stamp_s = None, None
        if known is None:
            return
        self.estimator.go_on(known.odometry, known.wrench, known.current_mps)
        self._stamp_s = known.odometry.stamp_s
        self._actuation.go_on(known.timing, known.thrust_N)
        self._actuation.begin(known.odometry)
        self._previous_N, self._acting_N = known.thrust_N.copy(), known.thrust_N.copy()
        self._actuation.command(self._stamp_s, self._previous_N)

    def accompany(self, t_s: float, odometry: Odometry | None, thrust_N: Array | None, sent_s: float) -> None:
        """Another member of the group steers: the estimate goes on with its thrust, so that we can take over."""
        late = thrust_N is not None and sent_s < t_s - 1e-9  # a command from before this odometry
        if thrust_N is not None and late:
            self._relay(sent_s, thrust_N)
        self._sense(t_s, odometry)
        self._begin_anew()
        if thrust_N is not None and not late:
            self._relay(t_s, thrust_N)

    def _relay(self, sent_s: float, thrust_N: Array) -> None:
        self._previous_N = thrust_N
        self._actuation.command(sent_s, thrust_N)

    def step(
        self,
        t_s: float,
        odometry: Odometry | None,
        directive: Directive,
        plans: Mapping[str, Plan],
        hazards: Sequence[Hazard] = (),
    ) -> Command:
        """One control period with what is known of the neighbours; `hazards`: where silent ones were last seen."""
        started = self._stopwatch()
        take_compiled()
        issue = self._sense(t_s, odometry)
        act_s = self._act_s(t_s)
        leads = leads_of(self.controller, self._actuation, self.settings.moment_lead, slow=self._oscillation.slowed)
        start_s = act_s + leads.force_s
        true_s = start_s - self._actuation.stamp_offset_s
        output, state, forecast = None, None, None
        if issue is None and odometry is not None and self._stamp_s is not None:
            state = self._predict(act_s, start_s, act_s + leads.moment_s)
            if not all(map(math.isfinite, state.tolist())):  # a runaway estimate: the measurement is all there is
                self._start_from(odometry)
                state = odometry.state.copy()
            trust = self.settings.neighbours
            known = usable_plans(self.name, plans, t_s, trust), t_s, directive.formation_setpoints, trust
            forecast = PlanForecast(
                *known, hazards, state[POSITION], gaps_along(self.hulls, self._output, true_s, state)
            )
            e, sure, later_s = self.estimator, self._position_reliable, leads.moment_s - leads.force_s
            estimate = Estimate(t_s, true_s, state, e.wrench, e.current, sure, self._previous_N, odometry, later_s)
            output = self._control(estimate, directive, forecast)
            issue = output.issues[0] if output is not None and not output.usable else None
        compute_s = self._stopwatch() - started
        if output is not None and compute_s > self.settings.gate.deadline_periods * self.timing.period_s:
            issue, output = Issue(Code.DEADLINE_MISSED, Severity.WARNING, value=compute_s * 1e3), None
            self.controller.reset()
        if output is not None and not output.usable:
            output = None
        follows = directive.kind == "follow"
        return self._answer(t_s, true_s, leads, output, state, issue, forecast, compute_s, follows=follows)

    def _act_s(self, t_s: float) -> float:
        """When a command of now reaches the thrusters; not before the odometry it answers."""
        act_s = t_s + self._actuation.timing.delay_s
        return act_s if self._stamp_s is None else max(act_s, self._stamp_s)

    def rest(self, t_s: float, odometry: Odometry | None, reason: Issue) -> Command:
        """Zero thrust by order: the estimate goes on, nothing is optimised, and the others learn where we are."""
        issue = self._sense(t_s, odometry)
        self._begin_anew()
        self._gate.reset()
        self._fallback.release()
        start_s = self._act_s(t_s)
        known = issue is None and self._stamp_s is not None
        state = self._predict(start_s, start_s, start_s) if known else None
        self._previous_N = np.zeros(self.vehicle.input_count)
        self._actuation.command(t_s, self._previous_N)
        plan = self._plan(t_s, start_s - self._actuation.stamp_offset_s, None, state)
        health = Health(Mode.ZERO_THRUST, (reason,) if issue is None else (reason, issue))
        return Command(self._previous_N.copy(), plan, health)

    # -- sensing ------------------------------------------------------------------------------------------------

    def _sense(self, t_s: float, odometry: Odometry | None) -> Issue | None:
        """Take in odometry; the reason why it can't be used, if so."""
        if t_s < self._last_t_s - 1e-9:
            self._restart()
        self._last_t_s = t_s
        if odometry is None:
            return Issue(Code.NO_ODOMETRY, Severity.WARNING)
        gate, watch = self.settings.gate, self._watch
        if problem := check_odometry(odometry, t_s, gate, watch.age_limit_s):
            if problem.code is Code.ODOMETRY_STALE:
                self._gate.begin(odometry.stamp_s + gate.odometry_age_s)
            return problem
        if self._stamp_s is not None:
            if odometry.stamp_s <= self._stamp_s:  # the same once more, or out of order: nothing new
                return None
            if watch.is_frozen(odometry):
                return watch.frozen(t_s)
        watch.see(t_s, odometry)
        if self._stamp_s is None or odometry.stamp_s - self._stamp_s > max(gate.reset_s, watch.age_limit_s):
            if self._stamp_s is not None:
                self._actuation.force_N = self._previous_N.copy()
            self._start_from(odometry)
            return None
        actuation, estimator = self._actuation, self.estimator
        estimator.expect_interval(max(watch.interval_s, odometry.stamp_s - self._stamp_s))
        pushed_Ns = np.zeros(len(actuation.force_N))
        for segment in actuation.segments(self._stamp_s, odometry.stamp_s, LONGEST_STEP_S):
            pushed_Ns += segment.duration_s * segment.mean_N(actuation.force_N)
            actuation.force_N = estimator.predict(actuation.force_N, segment)
        estimator.correct(odometry)
        if not estimator.is_finite:  # then nothing may be learnt from it
            self._start_from(odometry)
            return None
        self._adapt(odometry.stamp_s)
        self._oscillation.see(odometry.stamp_s, estimator.state[RATE], estimator, self._actuation.probes)
        if self._use.see(odometry, self._stamp_s, pushed_Ns, estimator, slow=watch.slowness > 1.0):
            self._refit()
            if self._use.tests_suspect:
                self._actuation.go_back(odometry.stamp_s - BEFORE_FAULT_S)
        self._stamp_s = odometry.stamp_s
        for surprise in estimator.surprises:
            self._monitor.note(t_s, surprise_issue(surprise))
        # What happens within a thruster's lag cannot be seen once a second, nor beside a thruster that may be broken.
        if watch.slowness > 1.0 or self._use.tests_suspect:
            self._actuation.begin(odometry)
        elif not any(surprise.block == RATE_BLOCK for surprise in estimator.surprises):
            self._actuation.learn(t_s, odometry, estimator.state, estimator.current)
        return None

    def _start_from(self, odometry: Odometry) -> None:
        self.estimator.reset(odometry)
        self._model.clear()
        self._actuation.begin(odometry)
        self._stamp_s = odometry.stamp_s

    def _refit(self) -> None:
        """Other thrusters are used from now on; the wrench in all stays what it is."""
        before, force_N = self.vehicle.input_matrix, self._actuation.force_N
        self._exchange(self.vehicle)
        self.estimator.explain((self.vehicle.input_matrix - before) @ force_N)

    def put_out_of_use(self, names: str) -> None:
        """By order: thrusters by name, separated by commas. All others are used again, whatever was found of them."""
        self._use.order(names)
        self._refit()

    def check_thrusters(self, names: str) -> None:
        """A ShoalError if `put_out_of_use` could not be carried out."""
        self._use.places(names)

    def _adapt(self, t_s: float) -> None:
        """Mass and drag that the description has wrong, before they are taken for a wrench that never ends."""
        if self._keeps_depth:  # the water carries what it weighs
            return
        e = self.estimator
        through = e.state[VELOCITY] - matrix(e.state[ATTITUDE]).T @ e.current
        change = self._model.see(t_s, down_of(e.state[ATTITUDE].tolist()), through.tolist(), e.wrench[:3].tolist())
        if change is not None:
            self._exchange(self.vehicle.scaled(mass=change.mass, damping=change.damping))
            e.explain(np.concatenate([change.explained_N, np.zeros(3)]))

    def _restart(self) -> None:
        """The clock went back: everything timed is void."""
        self._stamp_s = None
        self._begin_anew()
        self._oscillation.clear()
        self._use.clear()
        self._actuation.clear()
        self._gate = Gate(self.settings.gate)
        self._watch.clear()

    def _begin_anew(self) -> None:
        """With the next control step: others have steered since the last one, or nobody."""
        self._output = None
        self.controller.reset()
        self._let_go.clear()

    def _predict(self, act_s: float, start_s: float, turn_s: float) -> Array:
        """The state at `start_s`, its rotation at `turn_s`; on the way, the force when a command acts."""
        assert self._stamp_s is not None
        times_s = self._stamp_s, act_s, start_s, turn_s
        known = self.estimator, self._actuation, times_s, LONGEST_STEP_S
        state, self._acting_N = predicted(*known, self.controller.lag_as_delay)
        return state

    # -- control ------------------------------------------------------------------------------------------------

    @property
    def located(self) -> bool:
        """Whether there is an estimate, and a good one."""
        return self._stamp_s is not None and self._position_reliable

    @property
    def _position_reliable(self) -> bool:
        return self.estimator.position_sigma_m <= self.settings.gate.unsure_m

    def _control(self, estimate: Estimate, directive: Directive, forecast: PlanForecast) -> ControlOutput:
        if self._keeps_depth:  # an error that nobody can do anything about would count for all the others
            directive = replace(directive, setpoint=directive.setpoint.at_depth(float(estimate.state[2])))
        if self.controller.leans and estimate.position_reliable:
            directive = self._let_go.goal(estimate, directive)
        return safe_step(self.controller, estimate, directive, forecast)

    # -- answering ----------------------------------------------------------------------------------------------

    def _answer(
        self,
        t_s: float,
        start_s: float,
        leads: Leads,
        output: ControlOutput | None,
        state: Array | None,
        issue: Issue | None,
        forecast: PlanForecast | None,
        compute_s: float,
        *,
        follows: bool,
    ) -> Command:
        """`follows`: somebody asked for motion; one who merely holds, after a restart say, adds none of its own."""
        if output is not None:
            self._gate.reset()
            self._fallback.release()
            self._output, self._output_start_s = output, start_s
            mode, thrust = Mode.CONTROLLER, self._overdrive.command(self._acting_N, output.thrust_N, leads)
        else:
            has_plan = self._output is not None and self._output.planned_N is not None
            mode = self._gate.fallback(t_s, has_plan, state is not None)
            late_s = start_s - self._output_start_s
            thrust = self._fallback.thrust(mode, self._output, late_s, state, self.estimator)
        share, steered, limits = self._watch.thrust_share(self._last_t_s), mode is Mode.CONTROLLER, self._limits
        thrust = self._actuation.limited(t_s, thrust, *limits, share, probe=steered and follows)
        thrust = self._use.command_N(t_s, thrust, *limits, test=steered and share == 1.0)
        self._actuation.command(t_s, thrust)
        self._previous_N = output.thrust_N if output is not None else thrust
        followed = self._output if mode in (Mode.CONTROLLER, Mode.PREVIOUS_PLAN) else None
        plan = self._plan(t_s, start_s, followed, state)
        ages_s = {} if forecast is None else {p.vehicle: max(0.0, t_s - p.stamp_s) for p in forecast.plans}
        committed = keeps_clear(plan, forecast, self._hard_m)
        if not committed:
            plan = replace(plan, stamp_s=t_s, committed=False)
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
        if self._model.differs:
            found += (Issue(Code.MODEL_ADAPTED, Severity.WARNING, value=self.vehicle.mass_kg),)
        found += self._actuation.issues() + self._watch.issues() + self._oscillation.issues() + self._use.issues()
        found += self._let_go.issues()
        if not self._position_reliable:
            found += (Issue(Code.POSITION_NOISE, Severity.WARNING, value=self.estimator.position_sigma_m),)
        return found + self._monitor.check(t_s, self.estimator.wrench, ages_s, slack_hard)

    def _plan(self, t_s: float, start_s: float, output: ControlOutput | None, state: Array | None) -> Plan:
        """What the others may expect: the predicted motion, or staying where we are."""
        self._sequence += 1
        here = self.estimator.state if state is None else state
        return own_plan(self.name, self._sequence, t_s, start_s, output, here)
