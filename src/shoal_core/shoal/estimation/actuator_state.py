"""What the thrusters are doing: commands that take effect late and build up slowly."""

from __future__ import annotations

from collections import deque
from math import ceil, exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EDGE_S = 1e-9
LEAST_LAG_S = 1e-6  # below, thrust follows at once
KEPT_S = 0.5  # commands are kept at least so long: the delay may turn out to be longer


class Segment(NamedTuple):
    """A time under one command, to which the force of the thrusters closes up."""

    duration_s: float
    command_N: Array  # (n,)
    left_on_average: float | Array  # of the gap between the force at the beginning and the command; of all, or (n,)
    left_at_end: float | Array

    @staticmethod
    def lagged(command_N: Array, duration_s: float, lag_s: float, ratios: Array | None = None) -> Segment:
        """First-order lag with that time constant, times each thruster's ratio (n,) if they differ."""
        if ratios is not None:
            lags_s = np.maximum(lag_s * ratios, LEAST_LAG_S)
            decays = np.exp(-duration_s / lags_s)
            return Segment(duration_s, command_N, (1 - decays) * lags_s / duration_s, decays)
        if lag_s <= LEAST_LAG_S:
            return Segment(duration_s, command_N, 0.0, 0.0)
        decay = exp(-duration_s / lag_s)
        return Segment(duration_s, command_N, (1 - decay) * lag_s / duration_s, decay)

    @staticmethod
    def steady(force_N: Array, duration_s: float) -> Segment:
        """Nothing changes."""
        return Segment(duration_s, force_N, 0.0, 0.0)

    @staticmethod
    def constant(force_N: Array, duration_s: float, longest_s: float) -> list[Segment]:
        """Nothing changes for a while, in pieces none of which is longer than that."""
        pieces = ceil(duration_s / longest_s - EDGE_S) if duration_s > EDGE_S else 0
        return [Segment.steady(force_N, duration_s / pieces) for _ in range(pieces)]

    def mean_N(self, force_N: Array) -> Array:
        """(n,) over the segment, from `force_N` at its beginning."""
        return self.command_N + self.left_on_average * (force_N - self.command_N)

    def end_N(self, force_N: Array) -> Array:
        """(n,) at its end."""
        return self.command_N + self.left_at_end * (force_N - self.command_N)


class ActuatorState:
    """Commands with the time they were given; gives the segments of any later interval: delay, then lag."""

    def __init__(self, count: int, lag_s: float, delay_s: float, ratios: Array | None = None) -> None:
        """`ratios` (n,): each thruster's lag to the common one; None: all are alike."""
        self.ratios = ratios
        self.lag_s, self.delay_s = lag_s, delay_s  # may change: the commands are kept as they were given
        self._commands: deque[tuple[float, Array]] = deque([(-np.inf, np.zeros(count))], maxlen=256)

    def command(self, given_s: float, thrust_N: Array) -> None:
        """A command that reaches the thrusters `delay_s` later; any given later than this one is overruled."""
        while len(self._commands) > 1 and self._commands[-1][0] >= given_s:
            self._commands.pop()
        self._commands.append((given_s, np.array(thrust_N, dtype=float)))

    def forget_before(self, t_s: float) -> None:
        """Drop what no later question can need, with this delay or another."""
        oldest_s = t_s - max(KEPT_S, self.delay_s)
        while len(self._commands) > 1 and self._commands[1][0] <= oldest_s:
            self._commands.popleft()

    def segments(self, start_s: float, end_s: float, longest_s: float) -> list[Segment]:
        """Pieces of [start, end] without a command change inside."""
        pieces: list[Segment] = []
        if end_s - start_s <= EDGE_S:
            return pieces
        begin, end = start_s - self.delay_s, end_s - self.delay_s
        for edge in [*[t for t, _ in self._commands if begin < t < end], end]:
            if edge - begin > EDGE_S:
                command = self._in_effect(begin)
                while edge - begin > EDGE_S:
                    step = min(longest_s, edge - begin)
                    pieces.append(Segment.lagged(command, step, self.lag_s, self.ratios))
                    begin += step
            begin = edge
        return pieces

    def _in_effect(self, given_s: float) -> Array:
        for t_s, thrust in reversed(self._commands):
            if t_s <= given_s + EDGE_S:
                return thrust
        return self._commands[0][1]


def lead(wanted: float, blind_s: float, period_s: float, lag_s: float) -> float:
    """How much a change of thrust is overdriven against the lag: as wished, but at a slow rate less.

    The force must not shoot past what was wanted before a command that has seen it acts, `blind_s` later; at 10 Hz and
    1 m/s it did, and the vehicle rolled ever harder. A period is blind at least, also where the delay is negative.
    """
    if lag_s <= 1e-6:
        return 1.0
    return min(wanted, 1.0 / (1.0 - exp(-max(blind_s, period_s) / lag_s)))


def lag_ratios(lags_s: Array) -> Array | None:
    """(n,) of each thruster's lag to their mean; None where all are alike, as they mostly are."""
    mean_s = float(np.mean(lags_s)) if len(lags_s) else 0.0
    if mean_s <= LEAST_LAG_S or np.allclose(lags_s, mean_s, rtol=1e-6):
        return None
    return np.asarray(lags_s / mean_s)
