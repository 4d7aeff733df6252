"""When a message came, in simulated time, although it is only looked at some milliseconds later."""

from __future__ import annotations


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
