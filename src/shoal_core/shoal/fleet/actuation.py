"""From a command to a force: what is believed of lag and delay, and what the thrusters are doing by that."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from shoal.estimation.actuator_state import ActuatorState, Segment, lag_ratios, lead
from shoal.estimation.timing_bank import TimingBank, TimingBankSettings, TimingEstimate
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.state import RATE
from shoal.vehicles.allocation import allocate
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
DIFFERS_S = 0.1  # from the configuration, before it is reported
OLD_S = 0.05  # stamps younger than this on arrival are believed
KEPT = 60  # beliefs of late, one for each odometry
SURER_S = 0.05  # nearer to the configured delay, before the opposite is believed of the stamps


class Actuation:
    """`command` whatever is sent; `learn` from each odometry how late it acts."""

    def __init__(
        self,
        vehicle: Vehicle,
        configured: TimingEstimate,
        period_s: float,
        wanted_lead: float,
        rate_dps: float,
        settings: TimingBankSettings,
    ) -> None:
        """`wanted_lead`: overdrive of thrust changes against the lag; `rate_dps`: one sigma of the measured rates."""
        self.configured, self.lag_ratios = configured, lag_ratios(vehicle.input_lag_s)
        self._period_s, self._wanted_lead = period_s, wanted_lead
        self._bank = TimingBank(vehicle, configured, rate_dps, settings) if settings.enabled else None
        self.force_N = np.zeros(vehicle.input_count)  # at the odometry that the estimate stands on
        self.stamp_offset_s = 0.0  # of the odometry's stamps; negative: they are too old
        self._believe(configured if self._bank is None else self._bank.estimate)
        self.clear()

    def _believe(self, timing: TimingEstimate) -> None:
        self.timing = timing
        self.lead = lead(self._wanted_lead, self._period_s + timing.delay_s, self._period_s, timing.lag_s)

    def clear(self) -> None:
        """The clock went back: commands are void, what was found out about time stays."""
        self._actuators = ActuatorState(len(self.force_N), self.timing.lag_s, self.timing.delay_s, self.lag_ratios)
        self.stamp_offset_s = 0.0
        self._believed: deque[tuple[float, TimingEstimate]] = deque(maxlen=KEPT)
        if self._bank is not None:
            self._bank.restart()

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other numbers, the same thrusters: what they are doing does not change with the mass."""
        self.lag_ratios = self._actuators.ratios = lag_ratios(vehicle.input_lag_s)
        if self._bank is not None:
            self._bank.set_vehicle(vehicle)

    def go_on(self, timing: TimingEstimate, thrust_N: Array) -> None:
        """From what was known before other thrusters came or went: timing, and what they are doing (n,)."""
        self.force_N = thrust_N.copy()
        self.clear()
        if self._bank is not None:
            self._bank.adopt(timing, thrust_N)
            self._believe(self._bank.estimate)
            self._actuators.lag_s, self._actuators.delay_s = self.timing.lag_s, self.timing.delay_s

    def command(self, t_s: float, thrust_N: Array) -> None:
        """Sent at `t_s`."""
        self._actuators.command(t_s, thrust_N)
        if self._bank is not None:
            self._bank.command(t_s, thrust_N)

    def segments(self, start_s: float, end_s: float, longest_s: float) -> list[Segment]:
        """Pieces of [start, end] without a command change inside."""
        return self._actuators.segments(start_s, end_s, longest_s)

    def begin(self, odometry: Odometry) -> None:
        """The estimate starts anew from this."""
        if self._bank is not None:
            self._bank.begin(odometry.stamp_s, odometry.state[RATE])

    def go_back(self, to_s: float) -> None:
        """Believe what was believed at `to_s`: since then a broken thruster was taken for one that acts late."""
        earlier = [timing for stamp_s, timing in self._believed if stamp_s <= to_s]
        if self._bank is None or not earlier:
            return
        self._bank.go_back(earlier[-1])
        self._believe(self._bank.estimate)
        self._actuators.lag_s, self._actuators.delay_s = self.timing.lag_s, self.timing.delay_s
        self.force_N = self._bank.force_N

    def learn(self, t_s: float, odometry: Odometry, state: Array, current_mps: Array) -> None:
        """Odometry that is here at `t_s`, and the estimate (13,) with it; from now on other timing may be believed."""
        self._actuators.forget_before(odometry.stamp_s)
        if self._bank is None:
            return
        switched = self._bank.measure(t_s, odometry.stamp_s, odometry.state, state, current_mps)
        self._believed.append((odometry.stamp_s, self._bank.estimate))
        self._doubt_stamps()
        if not switched:
            self.timing = self._bank.estimate  # as sure as it is now
            return
        self._believe(self._bank.estimate)
        self._actuators.lag_s, self._actuators.delay_s = self.timing.lag_s, self.timing.delay_s
        self.force_N = self._bank.force_N

    def _doubt_stamps(self) -> None:
        """Odometry that is old on arrival came late, or its stamps are too old.

        Thrust that seems to act before it is commanded, or sooner than configured by just that age, says the latter.
        Estimate and forces stay in the time of the stamps; what is offset is when a predicted state will be true.
        """
        age_s = 0.0 if self._bank is None else self._bank.age_s or 0.0
        sooner_s = self.configured.delay_s - self.timing.delay_s
        late, wrong = abs(sooner_s), abs(sooner_s - age_s)  # s off the configured delay, if it came late; if it did not
        if age_s < OLD_S:
            self.stamp_offset_s = 0.0
        elif wrong < late - SURER_S or (self.stamp_offset_s < 0 and wrong < late + SURER_S):
            self.stamp_offset_s = -age_s
        else:
            self.stamp_offset_s = 0.0

    @property
    def probes(self) -> bool:
        """Whether commands are added to that show the timing."""
        return self._bank is not None and self._bank.probes

    def limited(
        self, t_s: float, thrust_N: Array, lower_N: Array, upper_N: Array, share: float, *, probe: bool
    ) -> Array:
        """Within the limits; while only a `share` of them may be used, in proportion: clipped forces are moments.

        `probe`: what shows the timing may be added until it is known.
        """
        if not all(map(math.isfinite, thrust_N.tolist())):
            return np.zeros(len(thrust_N))
        if probe and self._bank is not None:
            self._bank.move()
        share = min(share, 1.0 if self._bank is None else self._bank.thrust_share)
        if share < 1.0:
            used = float(np.max(np.where(thrust_N > 0, thrust_N / upper_N, thrust_N / lower_N)))
            most_N = math.inf if self._bank is None else self._bank.thrust_most_N
            largest_N = float(np.max(np.abs(thrust_N), initial=0.0))
            thrust_N = thrust_N * min(1.0, share / max(used, 1e-9), most_N / max(largest_N, 1e-9))
            if probe and self._bank is not None:
                thrust_N = thrust_N + self._bank.probe_N(t_s)
        return np.minimum(np.maximum(thrust_N, lower_N), upper_N)

    def issues(self) -> tuple[Issue, ...]:
        """What an operator should know of the timing."""
        if self._bank is None:
            return ()
        found: tuple[Issue, ...] = ()
        later_s = self.timing.total_s - self.configured.total_s
        if abs(later_s) > DIFFERS_S + 1e-6:
            found += (Issue(Code.TIMING_DIFFERS, Severity.WARNING, value=later_s),)
        if self.timing.at_edge:
            found += (Issue(Code.TIMING_AT_EDGE, Severity.WARNING, value=self.timing.total_s),)
        return found


def carried_over(old: Vehicle, new: Vehicle, inputs_N: Array) -> Array:
    """What another vehicle's inputs do at first: those of the same name go on, else all together push as before."""
    known = dict(zip(old.input_names, inputs_N.tolist(), strict=True))
    if known.keys().isdisjoint(new.input_names):
        return allocate(new, old.input_matrix @ inputs_N)
    given = np.array([known.get(name, 0.0) for name in new.input_names])
    return np.minimum(np.maximum(given, new.input_min_N), new.input_max_N)
