"""How late thrust acts, found while swimming: thruster lag and command delay out of a bank of hypotheses.

A controller whose belief about lag and delay is wrong by 0.1 s tumbles the vehicle, and a faster one sooner than a slow
one. The body rates show the truth: 1 N m moves them by twenty times the gyro's noise within a control period. So every
pair of lag and delay predicts them, and the pair that does so best is believed. A delay anywhere in the loop looks the
same, thus odometry that comes late under a fresh stamp is covered, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.codegen import Buffered, compiled
from shoal.config.file_model import FileModel
from shoal.estimation.actuator_state import lag_ratios
from shoal.estimation.timing_scores import make_scores
from shoal.messages.state import RATE
from shoal.vehicles.description import Vehicle
from shoal.vehicles.dynamics import Dynamics
from shoal.vehicles.parameters import Structure, mass_matrix, parameter_vector, roomy_structure
from shoal.vehicles.scale import VehicleScale, scales_with

Array = NDArray[np.float64]
LONGEST_LAG_S, SHORTEST_DELAY_S, LONGEST_DELAY_S, STEP_S = 0.4, -0.35, 0.4, 0.05
AGE_MEMORY_S = 1.0
APART_S = 0.075  # totals further apart than this are rivals: 0.05 s cannot be distinguished
UNKNOWN_NM = 2.0  # moment that the model may miss at the start
CLOSE_S = 1e-6
NEVER_S = 1e6  # lag of thrust that does nothing
IDLE_AFTER_S = 1.0  # thrust must have had the time to act before it is taken to do nothing


class TimingBankSettings(FileModel):
    """When the estimated timing replaces the one in use."""

    enabled: bool = Field(default=True, description="off: lag and delay are believed as configured")
    least_start_lag_s: float = Field(default=0.1, ge=0, le=0.4, description="no shorter lag is believed at the start")
    moment_Nm: float = Field(
        default=0.08,
        gt=0,
        description="wander of the moments that the model misses, in a second",
        json_schema_extra=scales_with("moment"),
    )
    spread_sigmas: float = Field(default=8.0, gt=0, description="predictions so far apart count half, in gyro sigmas")
    slow_memory_s: float = Field(default=3.0, gt=0, description="memory of the score that finds small gains")
    slow_threshold: float = Field(default=0.5, gt=0, description="gain of the score that a switch takes")
    fast_memory_s: float = Field(default=0.6, gt=0, description="memory of the score that finds large gains")
    fast_threshold: float = Field(default=2.0, gt=0, description="gain of the fast score that a switch takes")
    early: float = Field(default=1.5, ge=0, description="more gain that a switch takes, over the informative samples")
    least_samples: float = Field(default=2.0, ge=1, description="informative ones before the first switch")
    pause_s: float = Field(default=0.1, ge=0, description="between two switches")
    prior_per_s: float = Field(default=0.3, ge=0, description="score against each second off the configuration")
    prior_most: float = Field(default=0.3, ge=0, description="the most that the configuration counts in the score")
    start_share: float = Field(default=0.6, gt=0, le=1, description="of the thrust until the timing is confirmed")
    start_N: float = Field(
        default=10.0,
        gt=0,
        description="and of each thruster no more than this",
        json_schema_extra=scales_with("input"),
    )
    start_certainty: float = Field(default=0.25, ge=0, le=1, description="that confirms it")
    start_s: float = Field(default=0.5, ge=0, description="after this long it counts as confirmed anyway")
    probe_Nm: float = Field(
        default=2.0,
        ge=0,
        description="yaw moment to and fro until the timing is confirmed",
        json_schema_extra=scales_with("moment"),
    )
    probe_s: float = Field(default=0.4, gt=0, description="one period of it")


@dataclass(frozen=True)
class TimingEstimate:
    """What is believed of time."""

    lag_s: float
    delay_s: float
    certainty: float = 0.0  # 0 to 1: how much worse timings explain the motion that are off by 0.1 s or more
    at_edge: bool = False  # of what can be estimated

    @property
    def total_s(self) -> float:
        """Lag and delay together."""
        return self.lag_s + self.delay_s


class TimingBank:
    """`command` whatever is sent, `measure` with each odometry; `estimate` is what to believe."""

    def __init__(
        self, vehicle: Vehicle, configured: TimingEstimate, rate_dps: float, settings: TimingBankSettings
    ) -> None:
        """`rate_dps`: one sigma of the measured body rates."""
        self.settings, self.configured = settings, configured
        lags_s = np.arange(0.0, LONGEST_LAG_S + CLOSE_S, STEP_S)
        delays_s = np.arange(SHORTEST_DELAY_S, LONGEST_DELAY_S + CLOSE_S, STEP_S)
        start = TimingEstimate(max(configured.lag_s, settings.least_start_lag_s), configured.delay_s)
        pairs = {(round(lag, 6), round(delay, 6) + 0.0) for lag in lags_s for delay in delays_s}
        pairs |= {(round(e.lag_s, 6), round(e.delay_s, 6) + 0.0) for e in (configured, start)}
        ordered = sorted(pairs, key=lambda pair: (pair[1], pair[0]))
        hypotheses = [*ordered, (NEVER_S, ordered[-1][1])]
        lag_s, delay_s = (np.array(column) for column in zip(*hypotheses, strict=True))
        off_s = np.abs(lag_s - configured.lag_s) + np.abs(delay_s - configured.delay_s)
        off_s[-1] = 0.0
        self._longest = float(lag_s[:-1].max()), float(delay_s.max())
        self._scores = make_scores(
            lag_s,
            delay_s,
            np.minimum(settings.prior_most, settings.prior_per_s * off_s),
            vehicle.input_count,
            math.radians(rate_dps),
            settings.spread_sigmas * math.radians(rate_dps),
            (settings.slow_memory_s, settings.fast_memory_s),
            APART_S,
        )
        self._confirmed = False  # by evidence, or because there was none for long enough
        self._shown = self._moved = False  # by evidence; whether motion has been asked for
        self._current = self._start = ordered.index((round(start.lag_s, 6), round(start.delay_s, 6)))
        self.set_vehicle(vehicle)
        self.restart()

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other numbers, the same thrusters."""
        structure = roomy_structure(vehicle)
        self._acceleration = Buffered(_angular_acceleration(structure))
        self._acceleration.inputs[2][:] = parameter_vector(vehicle, structure)
        inverse = np.linalg.inv(mass_matrix(vehicle))
        ratios = lag_ratios(vehicle.input_lag_s)
        self._scores.ratio[:] = -1.0 if ratios is None else ratios
        self._scores.thrust_to_rate[:] = (inverse @ vehicle.thrust_matrix)[3:6]
        fitted = VehicleScale.of(vehicle).fit(self.settings)
        self._probe_N, self._start_N = fitted.probe_Nm * _pure_yaw_N(vehicle), fitted.start_N
        self._per_moment = np.diag(inverse)[3:6]
        self._scores.wander[:] = (fitted.moment_Nm * self._per_moment) ** 2

    def restart(self) -> None:
        """The clock went back: what is timed is void, what was found out stays."""
        self._scores.given = 0
        self._scores.force[:] = 0.0
        self._stamp_s: float | None = None
        self._drift: Array | None = None
        self.age_s: float | None = None  # of odometry when it arrives, by its stamp
        self._switched_s, self._begun_s = -math.inf, math.inf
        self.estimate = self._estimate(0.0)

    def adopt(self, timing: TimingEstimate, thrust_N: Array) -> None:
        """Found out by one whose thrusters these are as well: believed from the start, as far as the bank has it."""
        self._current, self._confirmed, self._shown = self._nearest(timing), True, True
        self.restart()
        self._scores.force[:-1] = thrust_N

    def go_back(self, timing: TimingEstimate) -> None:
        """What was learnt since this was believed is void."""
        self._current = self._nearest(timing)
        self.estimate = self._estimate(0.0)

    def _nearest(self, timing: TimingEstimate) -> int:
        off_s = np.abs(self._scores.lag_s[:-1] - timing.lag_s) + np.abs(self._scores.delay_s[:-1] - timing.delay_s)
        return int(np.argmin(off_s))

    def command(self, t_s: float, thrust_N: Array) -> None:
        """Sent at `t_s`."""
        self._scores.command(t_s, thrust_N)

    @property
    def thrust_share(self) -> float:
        """Of the thrusters' limits: full thrust under a wrong timing tilts a vehicle by 40° within a second."""
        return 1.0 if self._confirmed else self.settings.start_share

    @property
    def thrust_most_N(self) -> float:
        """Of one thruster: strong ones would need a smaller share, for nothing is seen of thrust that acts late."""
        return math.inf if self._confirmed else self._start_N

    def move(self) -> None:
        """Motion is asked for. For the first time: a vehicle that only held so far has yet to show its timing."""
        if not self._moved and self._confirmed and not self._shown and self._stamp_s is not None:
            self._confirmed, self._begun_s = False, self._stamp_s
        self._moved = True

    @property
    def probes(self) -> bool:
        """Whether the timing is still to be shown."""
        return not self._confirmed and self._begun_s != math.inf and self.settings.probe_Nm > 0

    def probe_N(self, t_s: float) -> Array:
        """(n,) to add to a command: a yaw moment to and fro shows the timing and does not tilt the vehicle."""
        if not self.probes:
            return np.zeros(len(self._probe_N))
        phase = (t_s - self._begun_s) / self.settings.probe_s % 1.0
        forth = phase < 0.25 or phase >= 0.75  # a quarter forth, a half back, a quarter forth: the heading returns
        return self._probe_N if forth else -self._probe_N

    @property
    def force_N(self) -> Array:
        """(n,) of the thrusters at the last measurement, as the timing in use has it."""
        return self._scores.force[self._current].copy()

    def begin(self, stamp_s: float, rates: Array) -> None:
        """A measurement after a gap: nothing is known of the time before."""
        self._scores.begin(rates, UNKNOWN_NM * self._per_moment)
        self._stamp_s, self._drift = stamp_s, None
        self._begun_s = min(self._begun_s, stamp_s)

    def measure(self, t_s: float, stamp_s: float, measured: Array, state: Array, current_mps: Array) -> bool:
        """Odometry of `stamp_s` that is here at `t_s`; whether another timing is believed now.

        `measured` (13,) is what came, `state` (13,) the estimate that has taken it in.
        """
        s, drift = self.settings, self._drift_at(state, current_mps)
        if self._stamp_s is None or self._drift is None:
            if self._stamp_s is None:
                self.begin(stamp_s, measured[RATE])
            self._stamp_s, self._drift = stamp_s, drift
            return False
        h = stamp_s - self._stamp_s
        age_s = max(0.0, t_s - stamp_s)
        self.age_s = (
            age_s if self.age_s is None else self.age_s + (1 - math.exp(-h / AGE_MEMORY_S)) * (age_s - self.age_s)
        )
        span = self._stamp_s, stamp_s, -self.age_s - 0.1 * STEP_S
        report = self._scores.step(self._current, span, measured[RATE], (drift + self._drift) / 2)
        self._stamp_s, self._drift = stamp_s, drift
        switched = self._choose(stamp_s, report)
        self.estimate = self._estimate(report[6])
        if not self._confirmed:
            sure = self.estimate.certainty >= s.start_certainty and self._scores.informative[0] > s.least_samples
            self._shown = sure and not switched
            self._confirmed = self._shown or stamp_s >= self._begun_s + s.start_s
        return switched

    def _choose(self, stamp_s: float, report: list[float]) -> bool:
        s = self.settings
        if self._scores.informative[0] < s.least_samples or stamp_s < self._switched_s + s.pause_s:
            return False
        best_slow, gain_slow, idle_slow, best_fast, gain_fast, idle_fast = report[:6]
        early = s.early / self._scores.informative[0]  # a few samples may err
        if stamp_s < self._begun_s + IDLE_AFTER_S:
            idle_slow = idle_fast = 0.0
        if idle_slow > s.slow_threshold + max(0.0, gain_slow):
            # The vehicle is held, or its thrusters are dead: no timing can be learnt from that.
            best = self._start
            if best == self._current:
                return False
        elif gain_fast > s.fast_threshold + early and gain_fast > idle_fast:
            best = int(best_fast)
        elif gain_slow > s.slow_threshold + early and gain_slow > idle_slow:
            best = int(best_slow)
        else:
            return False
        self._current, self._switched_s = best, stamp_s
        return True

    def _estimate(self, margin: float) -> TimingEstimate:
        lag_s, delay_s = float(self._scores.lag_s[self._current]), float(self._scores.delay_s[self._current])
        at_edge = lag_s >= self._longest[0] or delay_s >= self._longest[1] or delay_s <= SHORTEST_DELAY_S + CLOSE_S
        certainty = 1 - math.exp(-max(0.0, margin)) if self._scores.informative[0] > 0 else 0.0
        return TimingEstimate(lag_s, delay_s, certainty, at_edge)

    def _drift_at(self, state: Array, current_mps: Array) -> Array:
        """(3,) angular acceleration of the model without thrust."""
        function = self._acceleration
        function.inputs[0][:], function.inputs[1][:] = state, current_mps
        function.call()
        return function.outputs[0].copy()


def _pure_yaw_N(vehicle: Vehicle) -> Array:
    """(n,) of one newton metre of yaw and nothing else; zeros for a vehicle that cannot do that."""
    wanted = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    thrust_N = np.asarray(np.linalg.pinv(vehicle.thrust_matrix) @ wanted)
    return thrust_N if np.allclose(vehicle.thrust_matrix @ thrust_N, wanted, atol=1e-6) else np.zeros_like(thrust_N)


@lru_cache(maxsize=8)
def _angular_acceleration(structure: Structure) -> ca.Function:
    """(x, current, theta) → (3,) without thrust."""
    dynamics = Dynamics(structure)
    x, current, theta = ca.SX.sym("x", 13), ca.SX.sym("current", 3), ca.SX.sym("theta", structure.length)
    x_dot = dynamics.quaternion_ode(structure.split(theta), x, ca.SX.zeros(6), current)
    return compiled(ca.Function("angular_acceleration", [x, current, theta], [ca.densify(x_dot[RATE])]))
