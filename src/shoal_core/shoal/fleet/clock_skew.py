"""How far a sender's clock is from ours, judged by the stamps of what it sends.

A message stamped s that arrives at a took a − s = skew + delay, where the skew is what must be added to the sender's
times to make them ours. A delay is never negative: skew ≤ a − s (1). From one direction alone nothing more follows: a
clock that is behind looks like a slow link. If the sender echoes a message of ours, stamped o and held for h before
the answer left, the round trip r = (a − o) − h is the sum of both delays, so skew ≥ a − s − r (2). The middle of (1)
and (2) is exact where both ways are equally slow, and off by r/2 at most.
"""

from __future__ import annotations

import math

from shoal.messages.echo import Echo

AGREE_S = 0.25  # simulated clocks tick coarsely and late: within this, stamps cannot tell clocks apart
AGREE_SHARE = 0.05  # of the round trip, by which its two ways may differ
WINDOW_S = 10.0  # the quickest message of this long counts; at 100 ppm clocks part by 1 ms in it
SETTLED_S = 0.05  # an estimate is not moved for less: plans would shake
GUESSED_DELAY_S = 0.1  # of the quickest message where nobody echoes
LONGEST_ECHO_S = 120.0  # round trip, beyond which an echo is an absurd number
CERTAIN_MESSAGES, CERTAIN_S = 5, 1.0  # a stream, not a single message


class ClockSkew:
    """Of one sender. Clocks are taken to agree unless the stamps contradict it."""

    def __init__(self, symmetric: bool, latest_s: float) -> None:
        """`symmetric`: both ways are equally slow. `latest_s`: a delay nobody believes, where nothing is echoed."""
        self._symmetric, self._latest_s = symmetric, latest_s
        self.skew_s = 0.0  # added to the sender's times, it makes them ours
        self.uncertain_s = 0.0  # by how much that may be wrong, while it is not zero
        self.quickest_s: float | None = None  # least a − s of the window
        self._trips: list[tuple[float, float, float]] = []  # (r, a − s, arrived), best of this and of the last window
        self._least: list[tuple[float, float]] = []  # (a − s, arrived), likewise
        self._count, self._began_s = 0, math.inf

    def message(self, arrived_s: float, stamp_s: float, echo: Echo | None) -> None:
        """One has come; `arrived_s` in our clock, `stamp_s` in the sender's."""
        took_s = arrived_s - stamp_s
        self._count, self._began_s = self._count + 1, min(self._began_s, arrived_s)
        self._least = [x for x in self._least if x[0] < took_s and arrived_s - x[1] < WINDOW_S][:1] + [
            (took_s, arrived_s)
        ]
        self.quickest_s = self._least[0][0]
        if echo is not None:
            trip_s = arrived_s - echo.stamp_s - echo.held_s
            if echo.held_s >= 0 and -AGREE_S <= trip_s <= LONGEST_ECHO_S:
                best = [x for x in self._trips if x[0] < trip_s and arrived_s - x[2] < WINDOW_S][:1]
                self._trips = [*best, (max(trip_s, 0.0), took_s, arrived_s)]
        self._estimate(arrived_s)

    def _estimate(self, now_s: float) -> None:
        low_s, high_s, certain_s = self._bounds(now_s)
        middle_s = 0.5 * (low_s + high_s)
        if self._symmetric and math.isfinite(low_s):
            agree = abs(middle_s) <= AGREE_S + AGREE_SHARE * (high_s - low_s)
        else:
            agree = low_s - AGREE_S <= 0.0 <= high_s + AGREE_S
        if agree:
            self.skew_s, self.uncertain_s = 0.0, 0.0
            return
        if not math.isfinite(low_s):
            middle_s = high_s - GUESSED_DELAY_S
        self.uncertain_s = certain_s
        if self.skew_s == 0.0 or abs(middle_s - self.skew_s) > SETTLED_S:
            self.skew_s = middle_s

    def _bounds(self, now_s: float) -> tuple[float, float, float]:
        """Equations (1) and (2), and half of what lies between."""
        if self._trips:
            trip_s, took_s, _ = self._trips[0]
            return took_s - trip_s, took_s, 0.5 * trip_s
        assert self.quickest_s is not None
        high_s = self.quickest_s
        stream = self._count >= CERTAIN_MESSAGES and now_s - self._began_s >= CERTAIN_S
        # So late for so long, and nobody echoes: a clock that is behind, not a link.
        low_s = high_s - 2 * GUESSED_DELAY_S if stream and high_s > self._latest_s else -math.inf
        return low_s, high_s, GUESSED_DELAY_S
