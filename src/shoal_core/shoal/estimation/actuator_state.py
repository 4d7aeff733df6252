"""What the thrusters are doing: commands that take effect late and build up slowly."""

from __future__ import annotations

from collections import deque
from math import exp

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ActuatorState:
    """Commands with the time they take effect; gives the force over any later interval (first-order lag)."""

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

    def segments(
        self, start_s: float, end_s: float, force_N: Array, longest_s: float
    ) -> list[tuple[float, Array, Array]]:
        """(duration, mean force, force at its end) for pieces of [start, end] without a command change inside."""
        pieces = []
        begin = start_s
        for edge in [*[t for t, _ in self._commands if start_s < t < end_s], end_s]:
            if edge - begin > 1e-9:
                command = self._in_effect(begin)
                while edge - begin > 1e-9:
                    step = min(longest_s, edge - begin)
                    mean, force_N = self._lagged(command, force_N, step)
                    pieces.append((step, mean, force_N))
                    begin += step
            begin = edge
        return pieces

    def _in_effect(self, t_s: float) -> Array:
        for effective_s, thrust in reversed(self._commands):
            if effective_s <= t_s + 1e-9:
                return thrust
        return self._commands[0][1]

    def _lagged(self, command: Array, force: Array, duration_s: float) -> tuple[Array, Array]:
        """Mean force and force at the end of that time under a constant command."""
        if self.lag_s <= 1e-6:
            return command, command
        decay = exp(-duration_s / self.lag_s)
        left = np.array([[(1 - decay) * self.lag_s / duration_s], [decay]])  # of the gap: on average, at the end
        found = command + left * (force - command)
        return found[0], found[1]
