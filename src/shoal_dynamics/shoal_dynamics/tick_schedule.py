"""How the plant's time goes with the wall's: the step of a tick, and when the next one is due. No ROS, no clock."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import ShoalError

MOST_TICKS_HZ = 200.0  # wall; a /clock message costs every node about 0.2 ms
SLACK_S = 0.02  # wall; being later than this is forgiven, not made up for


@dataclass(frozen=True)
class TickSchedule:
    """Whole numbers of plant substeps, so that odometry falls on ticks exactly."""

    substep_s: float
    tick: int  # substeps a tick
    period: int  # substeps between two odometry messages

    @property
    def tick_s(self) -> float:
        return self.tick * self.substep_s

    @property
    def period_s(self) -> float:
        return self.period * self.substep_s


def choose_schedule(period_s: float, substep_s: float, rate: float, whole: bool = False) -> TickSchedule:
    """The shortest tick that divides the period and does not come more often than `MOST_TICKS_HZ`; rate 0: no limit.

    `whole`: one tick a period. That is enough, and cheapest, where commands only ever act with the next odometry.
    """
    period = round(period_s / substep_s)
    if period < 1 or abs(period * substep_s - period_s) > 1e-9:
        raise ShoalError(f"odometry period = {period_s:.6g} s; expected a multiple of the plant's step, {substep_s} s")
    for tick in range(1, period + 1):
        if period % tick == 0 and rate > 0 and not whole and tick * substep_s / rate >= 1.0 / MOST_TICKS_HZ - 1e-9:
            return TickSchedule(substep_s, tick, period)
    return TickSchedule(substep_s, period, period)


class Pacer:
    """When the next tick is due, in wall seconds of whatever clock the caller reads."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._due_s: float | None = None

    def next(self, now_s: float, tick_s: float) -> float:
        """Called after a tick. A machine that is too slow slips: simulated time never hurries to catch up."""
        if self.rate <= 0:
            return now_s
        due = (now_s if self._due_s is None else self._due_s) + tick_s / self.rate
        self._due_s = max(due, now_s - SLACK_S)
        return self._due_s

    def restart(self) -> None:
        """After a pause."""
        self._due_s = None
