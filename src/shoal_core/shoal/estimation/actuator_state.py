"""What the thrusters are doing: commands that take effect late and build up slowly."""

from __future__ import annotations

from collections import deque
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EDGE_S = 1e-9


class Segment(NamedTuple):
    """A time under one command, to which the force of the thrusters closes up."""

    duration_s: float
    command_N: Array  # (n,)
    left_on_average: float  # of the gap between the force at the beginning and the command
    left_at_end: float

    @staticmethod
    def lagged(command_N: Array, duration_s: float, lag_s: float) -> Segment:
        """First-order lag with that time constant."""
        if lag_s <= 1e-6:
            return Segment(duration_s, command_N, 0.0, 0.0)
        decay = exp(-duration_s / lag_s)
        return Segment(duration_s, command_N, (1 - decay) * lag_s / duration_s, decay)

    @staticmethod
    def steady(force_N: Array, duration_s: float) -> Segment:
        """Nothing changes."""
        return Segment(duration_s, force_N, 0.0, 0.0)

    def mean_N(self, force_N: Array) -> Array:
        """(n,) over the segment, from `force_N` at its beginning."""
        return self.command_N + self.left_on_average * (force_N - self.command_N)

    def end_N(self, force_N: Array) -> Array:
        """(n,) at its end."""
        return self.command_N + self.left_at_end * (force_N - self.command_N)


class ActuatorState:
    """Commands with the time they take effect; gives the segments of any later interval."""

    def __init__(self, count: int, lag_s: float) -> None:
        self.lag_s = lag_s
        self._commands: deque[tuple[float, Array]] = deque([(-np.inf, np.zeros(count))], maxlen=256)

    def command(self, effective_s: float, thrust_N: Array) -> None:
        """A command that reaches the thrusters at `effective_s`; one that would take effect earlier is overruled."""
        while len(self._commands) > 1 and self._commands[-1][0] >= effective_s:
            self._commands.pop()
        self._commands.append((effective_s, np.array(thrust_N, dtype=float)))

    def forget_before(self, t_s: float) -> None:
        """Drop what no later question can need."""
        while len(self._commands) > 1 and self._commands[1][0] <= t_s:
            self._commands.popleft()

    def segments(self, start_s: float, end_s: float, longest_s: float) -> list[Segment]:
        """Pieces of [start, end] without a command change inside."""
        pieces: list[Segment] = []
        if end_s - start_s <= EDGE_S:
            return pieces
        begin = start_s
        for edge in [*[t for t, _ in self._commands if start_s < t < end_s], end_s]:
            if edge - begin > EDGE_S:
                command = self._in_effect(begin)
                while edge - begin > EDGE_S:
                    step = min(longest_s, edge - begin)
                    pieces.append(Segment.lagged(command, step, self.lag_s))
                    begin += step
            begin = edge
        return pieces

    def _in_effect(self, t_s: float) -> Array:
        for effective_s, thrust in reversed(self._commands):
            if effective_s <= t_s + EDGE_S:
                return thrust
        return self._commands[0][1]
