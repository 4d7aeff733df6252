"""How well each pair of thruster lag and command delay explains the body rates: in C, or in numpy without a compiler.

Every hypothesis has its own lagged thrust and a Kalman filter with two states on each body rate: the rate, and the
angular acceleration that the model misses. All share the filter's gains; what differs is the innovation.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.codegen import FLAGS, as_bytes, doubles, load_library

Array = NDArray[np.float64]
SOURCE = Path(__file__).with_name("timing_bank.c")
MOST_COMMANDS = 512  # kept; half of them are dropped when they are full
MOST_THRUSTERS = 256  # of timing_bank.c
EDGE_S = 1e-9


class TimingScores(ABC):
    """The numbers of a bank; `step` moves them on by one measurement of the body rates."""

    def __init__(
        self,
        lag_s: Array,
        delay_s: Array,
        prior: Array,
        thrusters: int,
        gyro_sigma: float,
        spread_sigma: float,
        memories_s: tuple[float, float],
        apart_s: float,
    ) -> None:
        """Hypotheses (H,), sorted by delay, the last one that thrust does nothing: it never wins. Sigmas in rad/s.

        `apart_s`: totals that differ by more are rivals.
        """
        count = len(lag_s)
        self.lag_s, self.delay_s, self.prior = (np.ascontiguousarray(a, dtype=float) for a in (lag_s, delay_s, prior))
        self.gyro_variance, self.spread_variance = gyro_sigma**2, spread_sigma**2
        self.memories_s, self.apart_s = memories_s, apart_s
        self.thrust_to_rate, self.wander = np.zeros((3, thrusters)), np.zeros(3)
        self.ratio = np.full(thrusters, -1.0)  # each thruster's lag to the hypothesis's; negative: all are alike
        self.force = np.zeros((count, thrusters))
        self.rate, self.accel = np.zeros((count, 3)), np.zeros((count, 3))
        self.slow, self.fast = np.zeros((count, 3)), np.zeros((count, 3))
        self.covariance = np.zeros((3, 3))  # of each axis: rate; rate and acceleration; acceleration
        self.informative = np.zeros(1)  # samples, weighted by what they tell
        self.command_s, self.command_N = np.zeros(MOST_COMMANDS), np.zeros((MOST_COMMANDS, thrusters))
        self.given = 0

    def command(self, t_s: float, thrust_N: Array) -> None:
        """A command given at `t_s`; it replaces any that was given later."""
        while self.given and self.command_s[self.given - 1] >= t_s - EDGE_S:
            self.given -= 1
        if self.given == MOST_COMMANDS:
            half = MOST_COMMANDS // 2
            self.command_s[:half], self.command_N[:half] = self.command_s[half:], self.command_N[half:]
            self.given = half
        self.command_s[self.given], self.command_N[self.given] = t_s, thrust_N
        self.given += 1

    def begin(self, rates: Array, accel_sigma: Array) -> None:
        """Rates (3,) measured after a time of which nothing is known; scores stay."""
        self.rate[:], self.accel[:] = rates, 0.0
        self.covariance[:] = 0.0
        self.covariance[:, 0], self.covariance[:, 2] = self.gyro_variance, accel_sigma**2

    @abstractmethod
    def step(self, current: int, span: tuple[float, float, float], measured: Array, drift: Array) -> list[float]:
        """Over `span` (from, to, smallest delay that counts) to the `measured` rates (3,).

        `drift` (3,) is the angular acceleration without thrust. Returns: best by the slow score, by how much it beats
        `current`, by how much thrust that does nothing would; the same by the fast score; the slow score's margin over
        rivals; how informative the sample was.
        """


class NumpyScores(TimingScores):
    """The plain form."""

    def step(self, current: int, span: tuple[float, float, float], measured: Array, drift: Array) -> list[float]:
        start_s, end_s, earliest_s = span
        h = end_s - start_s
        first, second = self._gains(h)
        impulse = np.empty_like(self.force)
        for delay_s in np.unique(self.delay_s):
            chosen = self.delay_s == delay_s
            impulse[chosen], self.force[chosen] = self._lagged(chosen, start_s - delay_s, end_s - delay_s)
        predicted = self.rate + (drift + self.accel) * h + impulse @ self.thrust_to_rate.T
        allowed = self.delay_s >= earliest_s
        allowed[-1] = False
        gap = predicted[allowed] - predicted[current]
        spread = float(np.max(np.sum(gap**2, axis=1), initial=0.0))
        weight = spread / (spread + self.spread_variance)
        self.informative += weight
        error = measured - predicted
        self.rate[:], self.accel[:] = predicted + first * error, self.accel + second * error
        for squares, memory_s in zip((self.slow, self.fast), self.memories_s, strict=True):
            if weight > 0:  # while the memory is not full, the mean of all so far
                squares += max(weight * (1 - np.exp(-h / memory_s)), weight / self.informative[0]) * (
                    error**2 - squares
                )
        allowed[current] = True
        report: list[float] = []
        for squares in (self.slow, self.fast):
            scores = np.log(np.prod(squares + self.gyro_variance / 4, axis=1)) + self.prior
            best = int(np.argmin(np.where(allowed, scores, np.inf)))
            report += [float(best), float(scores[current] - scores[best]), float(scores[current] - scores[-1])]
        scores = np.log(np.prod(self.slow + self.gyro_variance / 4, axis=1)) + self.prior
        total = self.lag_s + self.delay_s
        rivals = allowed & (np.abs(total - total[current]) > self.apart_s)
        margin = np.min(scores[rivals], initial=np.inf) - scores[current]
        return [*report, float(margin), weight]

    def _gains(self, h: float) -> tuple[Array, Array]:
        """Of rate and acceleration (3,); the covariances move on."""
        p = self.covariance
        p00 = p[:, 0] + h * (2 * p[:, 1] + h * p[:, 2]) + h**3 / 3 * self.wander
        p01, p11 = p[:, 1] + h * p[:, 2] + h**2 / 2 * self.wander, p[:, 2] + h * self.wander
        first, second = p00 / (p00 + self.gyro_variance), p01 / (p00 + self.gyro_variance)
        p[:, 0], p[:, 1], p[:, 2] = p00 - first * p00, p01 - first * p01, p11 - second * p01
        return first, second

    def _lagged(self, chosen: NDArray[np.bool_], begin_s: float, end_s: float) -> tuple[Array, Array]:
        """Impulse and final force (h,n) of hypotheses that share a delay; times as the commands were given."""
        force, lag = self.force[chosen], self.lag_s[chosen, None] * np.where(self.ratio[0] < 0, 1.0, self.ratio)
        impulse = np.zeros_like(force)
        times = self.command_s[: self.given]
        inside = times[(times > begin_s + EDGE_S) & (times < end_s)]
        for until_s in [*inside, end_s]:
            duration = until_s - begin_s
            if duration <= EDGE_S:
                continue
            k = int(np.searchsorted(times, begin_s + EDGE_S, side="right")) - 1
            command = self.command_N[k] if k >= 0 else np.zeros(force.shape[1])
            decay = np.where(lag > 1e-6, np.exp(-duration / np.maximum(lag, 1e-6)), 0.0)
            impulse += command * duration + np.where(lag > 1e-6, lag * (1 - decay), 0.0) * (force - command)
            force = command + decay * (force - command)
            begin_s = until_s
        return impulse, force


class _Bank(ctypes.Structure):
    """As in timing_bank.c."""

    _fields_ = (
        [(name, ctypes.c_int) for name in ("hypotheses", "thrusters")]
        + [(name, ctypes.c_double) for name in ("gyro_variance", "spread_variance", "slow_s", "fast_s", "apart_s")]
        + [(name, ctypes.c_void_p) for name in ("lag_s", "delay_s", "prior", "thrust_to_rate", "ratio")]
        + [(name, ctypes.c_void_p) for name in ("wander", "force")]
        + [(name, ctypes.c_void_p) for name in ("rate", "accel", "slow", "fast", "covariance", "informative")]
        + [(name, ctypes.c_void_p) for name in ("command_s", "command_N")]
    )


class CompiledScores(TimingScores):
    """The loops of timing_bank.c on the same arrays."""

    def load(self, library: ctypes.PyDLL) -> CompiledScores:
        """With the machine code; the arrays must stay where they are from now on."""
        self._step, self._report = library.timing_bank_step, doubles(8)
        pointers = {name: getattr(self, name).ctypes.data for name, kind in _Bank._fields_ if kind is ctypes.c_void_p}
        count, thrusters = self.force.shape
        numbers = (self.gyro_variance, self.spread_variance, *self.memories_s, self.apart_s)
        self._numbers = ctypes.byref(_Bank(count, thrusters, *numbers, **pointers))
        return self

    def step(self, current: int, span: tuple[float, float, float], measured: Array, drift: Array) -> list[float]:
        given = as_bytes(np.array(span)), as_bytes(measured), as_bytes(drift)
        self._step(self._numbers, self.given, current, *given, self._report)
        return list(self._report)


def make_scores(
    lag_s: Array,
    delay_s: Array,
    prior: Array,
    thrusters: int,
    gyro_sigma: float,
    spread_sigma: float,
    memories_s: tuple[float, float],
    apart_s: float,
) -> TimingScores:
    """The fastest there is."""
    given = lag_s, delay_s, prior, thrusters, gyro_sigma, spread_sigma, memories_s, apart_s
    library = load_library(SOURCE, FLAGS) if thrusters <= MOST_THRUSTERS else None
    return NumpyScores(*given) if library is None else CompiledScores(*given).load(library)
