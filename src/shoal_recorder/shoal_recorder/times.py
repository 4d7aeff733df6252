"""When a message came, in simulated time, although it is only looked at some milliseconds later."""

from __future__ import annotations

from bisect import bisect_right

KEPT = 20_000  # ticks; nothing waits for as long as that


class ArrivalTimes:
    """The middleware notes each arrival in wall time. Between two looks at both clocks simulated time is taken to run
    evenly, which holds at any rate. A clock that jumped back, or has just begun, gives its present value."""

    def __init__(self) -> None:
        self._before = self._now = (0, 0)  # wall, simulated; 0: not looked yet

    def look(self, wall_ns: int, simulated_ns: int) -> None:
        """Both clocks, now."""
        self._before, self._now = self._now, (wall_ns, simulated_ns)

    def of(self, arrived_wall_ns: int) -> int:
        """Simulated time of an arrival; those before the last but one look count as then."""
        (wall_before, before), (wall, now) = self._before, self._now
        if not 0 < wall_before < wall or not 0 < before <= now:
            return now
        share = (arrived_wall_ns - wall_before) / (wall - wall_before)
        return before + round(min(max(share, 0.0), 1.0) * (now - before))


class ClockSteps:
    """In lock step the clock stands while controllers answer: a message belongs to the last tick published before it.

    By the publishers' own stamps: an answer is always sent after the tick it answers, while of two arrivals either may
    be first, and at full speed several ticks pass between two looks at the clock.
    """

    def __init__(self) -> None:
        self._published: list[int] = []
        self._ticks: list[int] = []

    def tick(self, published_wall_ns: int, simulated_ns: int) -> None:
        """The next message on /clock."""
        self._published.append(published_wall_ns)
        self._ticks.append(simulated_ns)
        if len(self._ticks) > 2 * KEPT:
            del self._published[:KEPT], self._ticks[:KEPT]

    def of(self, published_wall_ns: int) -> int | None:
        """Simulated time of a message; None before the first tick."""
        index = bisect_right(self._published, published_wall_ns) - 1
        return self._ticks[index] if index >= 0 else None
