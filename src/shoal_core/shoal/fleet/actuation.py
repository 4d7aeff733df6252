"""From a command to a force: what is believed of lag and delay, and what the thrusters are doing by that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.estimation.actuator_state import ActuatorState, Segment, lead
from shoal.estimation.timing_bank import TimingBank, TimingBankSettings, TimingEstimate
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.state import RATE
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
DIFFERS_S = 0.1  # from the configuration, before it is reported


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
        self.configured = configured
        self._period_s, self._wanted_lead = period_s, wanted_lead
        self._bank = TimingBank(vehicle, configured, rate_dps, settings) if settings.enabled else None
        self.force_N = np.zeros(len(vehicle.thrusters))  # at the odometry that the estimate stands on
        self._believe(configured if self._bank is None else self._bank.estimate)
        self.clear()

    def _believe(self, timing: TimingEstimate) -> None:
        self.timing = timing
        self.lead = lead(self._wanted_lead, self._period_s + timing.delay_s, self._period_s, timing.lag_s)

    def clear(self) -> None:
        """The clock went back: commands are void, what was found out about time stays."""
        self._actuators = ActuatorState(len(self.force_N), self.timing.lag_s, self.timing.delay_s)
        if self._bank is not None:
            self._bank.restart()

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other numbers, the same thrusters: what they are doing does not change with the mass."""
        if self._bank is not None:
            self._bank.set_vehicle(vehicle)

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

    def learn(self, t_s: float, odometry: Odometry, state: Array, current_mps: Array) -> None:
        """Odometry that is here at `t_s`, and the estimate (13,) with it; from now on other timing may be believed."""
        self._actuators.forget_before(odometry.stamp_s)
        if self._bank is None:
            return
        switched = self._bank.measure(t_s, odometry.stamp_s, odometry.state, state, current_mps)
        if not switched:
            self.timing = self._bank.estimate  # as sure as it is now
            return
        self._believe(self._bank.estimate)
        self._actuators.lag_s, self._actuators.delay_s = self.timing.lag_s, self.timing.delay_s
        self.force_N = self._bank.force_N

    @property
    def thrust_share(self) -> float:
        """How much of the thrust may be used."""
        return 1.0 if self._bank is None else self._bank.thrust_share

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
