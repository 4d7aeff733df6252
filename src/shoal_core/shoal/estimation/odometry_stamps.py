"""When odometry was measured, out of stamps that may be wrong and arrivals that may be late.

Two clocks tell it: the sensor's stamp and the time of arrival. What is known for certain is that nothing can have been
measured after it arrived; and measurements are taken evenly, so that of two clocks the more regular one is right about
the intervals. A link that delivers late leaves the stamps regular, stamps that jitter leave the arrivals regular.
"""

from __future__ import annotations

import math

AGE_MEMORY_S = 5.0  # of the mean age on arrival
AHEAD_MEMORY_S = 2.0  # stamps must be ahead of the clock for so long before they are put back further
UNEVEN_MEMORY = 10.0  # messages
UNEVEN_LEAST = 4  # changes of the interval before the stamps are judged
UNEVEN_FACTOR, UNEVEN_S = 2.0, 0.004  # a change of the interval that counts, against those of the arrivals
UNEVEN_SHARE = 0.5  # of the messages: a single one that was overtaken does not make the stamps wrong
CATCH_UP = 0.5  # of the time between arrivals, while the corrected stamps are ahead of where they should be
ABSURD_S = 1.0  # a stamp so far off the clock is no measure of anything


class StampCorrector:
    """`correct` each stamp with the time of arrival; both in seconds of the vehicle's clock."""

    def __init__(self, tick_s: float = 0.0) -> None:
        """`tick_s`: stamps may be so far ahead of a clock that ticks coarsely, and right."""
        self._tick_s = tick_s
        self._arrival_s: float | None = None  # of the last message
        self._elapsed_s, self._messages = 0.0, 0  # since the one before it; how many there were
        self._raw_s = math.nan
        self._newest: tuple[float, float] | None = None  # largest stamp so far, and its arrival
        self._arrivals_uneven_s = 0.0  # mean change from interval to interval
        self._uneven_share = 0.0  # of the messages whose stamps change it more than that
        self._count = 0
        self._mean_age_s = 0.0
        self._youngest_s = [-math.inf, -math.inf]  # largest age in this window and the last
        self._window_end_s = -math.inf
        self._corrected_s = -math.inf

    @property
    def uneven(self) -> bool:
        """Whether the stamps jitter more than the messages arrive: then the arrivals give the intervals."""
        return self._count >= UNEVEN_LEAST and self._uneven_share > UNEVEN_SHARE

    @property
    def ahead_s(self) -> float:
        """How far all stamps of late were ahead of the clock, beyond its tick."""
        ahead_s = -max(self._youngest_s)
        return ahead_s if self._tick_s < ahead_s < math.inf else 0.0

    def correct(self, stamp_s: float, now_s: float) -> float | None:
        """When the measurement that is here at `now_s` was taken; None when a later one has come before."""
        if stamp_s == self._raw_s:  # the same once more
            return None
        sane = abs(now_s - stamp_s) <= ABSURD_S
        if sane:
            self._learn(stamp_s, now_s)
        if not sane or not self.uneven:
            corrected_s = min(stamp_s - self.ahead_s, now_s + self._tick_s)
            if corrected_s <= self._corrected_s:
                return None
        else:
            corrected_s = now_s - max(0.0, self._mean_age_s)
            least_s = self._corrected_s + CATCH_UP * self._elapsed_s
            corrected_s = max(corrected_s, least_s)
        self._corrected_s = corrected_s
        return corrected_s

    def _learn(self, stamp_s: float, now_s: float) -> None:
        age_s = now_s - stamp_s
        self._messages += 1
        if self._arrival_s is None:
            self._mean_age_s = age_s
        else:
            before_s, self._elapsed_s = self._elapsed_s, max(0.0, now_s - self._arrival_s)
            if self._messages > 2:
                share = max(1.0 / UNEVEN_MEMORY, 1.0 / (self._messages - 2))
                self._arrivals_uneven_s += share * (abs(self._elapsed_s - before_s) - self._arrivals_uneven_s)
            share = max(1 - math.exp(-self._elapsed_s / AGE_MEMORY_S), 1.0 / (self._messages + 1))
            self._mean_age_s += share * (age_s - self._mean_age_s)
        # Messages that were overtaken, or come from elsewhere, do not make the newer ones uneven: those judge.
        if self._newest is None or stamp_s > self._newest[0]:
            if self._newest is not None:
                self._judge(stamp_s - self._newest[0], now_s - self._newest[1])
            self._newest = stamp_s, now_s
        self._arrival_s, self._raw_s = now_s, stamp_s
        if now_s >= self._window_end_s:
            # The last window counts on: what one message shows is not forgotten with the next.
            self._youngest_s = [age_s, self._youngest_s[0]]
            self._window_end_s = now_s + AHEAD_MEMORY_S
        self._youngest_s[0] = max(self._youngest_s[0], age_s)

    def _judge(self, stamps_s: float, arrivals_s: float) -> None:
        """Intervals of two newest ones that differ by more than arrivals do among themselves: the stamps are uneven."""
        self._count += 1
        share = max(1.0 / UNEVEN_MEMORY, 1.0 / self._count)
        uneven = abs(stamps_s - arrivals_s) > UNEVEN_FACTOR * self._arrivals_uneven_s + UNEVEN_S
        self._uneven_share += share * (uneven - self._uneven_share)
