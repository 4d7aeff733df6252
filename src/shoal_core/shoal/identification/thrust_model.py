"""From commanded to acting thrust: gains, a common scale, delay and lag, and how the force changes with each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LOAD_N = 100.0  # of thrust, for which the sag is given
OFF_S = 1e-3  # step of the differences in lag and delay
FINEST_S = 0.026  # a force is taken to be constant for at most so long: over 0.05 s that cost 0.3 % of every mass


@dataclass(frozen=True)
class ThrustTiming:
    """Of all thrusters alike. A delay may be negative: logs are often late."""

    lag_s: float
    delay_s: float


def mean_forces(commands_N: Array, step_s: float, timing: ThrustTiming, dead_band_N: Array) -> Array:
    """Mean force (T,n) over each step, for unit gains. Commands hold from their instant on; exact for any lag."""
    held = np.where(np.abs(commands_N) < dead_band_N, 0.0, commands_N)
    whole, part = divmod(timing.delay_s / step_s, 1.0)
    late = _shifted(held, int(whole)), _shifted(held, int(whole) + 1)
    # Within a step the older command acts for the first `part` of it, then the newer one.
    older_s, newer_s = part * step_s, (1 - part) * step_s
    lag_s = max(timing.lag_s, 1e-6)
    force, found = late[1][0].copy(), np.empty_like(held)
    for k in range(len(held)):
        total = np.zeros_like(force)
        for target, span_s in ((late[1][k], older_s), (late[0][k], newer_s)):
            if span_s > 0:
                decay = np.exp(-span_s / lag_s)
                total += target * span_s + (force - target) * lag_s * (1 - decay)
                force = target + (force - target) * decay
        found[k] = total / step_s
    return found


def parts_of(step_s: float) -> int:
    """Into how many a step is cut, so that the force's course within it is followed."""
    return max(1, int(np.ceil(step_s / FINEST_S - 1e-9)))


def force_sensitivities(
    commands_N: Array, step_s: float, timing: ThrustTiming, dead_band_N: Array, sag: float = 0.0
) -> tuple[Array, Array, Array, Array]:
    """Mean forces (T,S,n) over the S parts of each step, and their derivatives by lag, delay (differences over a
    millisecond) and sag."""
    none, parts = np.zeros_like(dead_band_N), parts_of(step_s)
    given, by_sag = sagging(np.where(np.abs(commands_N) < dead_band_N, 0.0, commands_N), sag)

    def forces(commands: Array, lag_s: float, delay_s: float) -> Array:
        fine = mean_forces(np.repeat(commands, parts, axis=0), step_s / parts, ThrustTiming(lag_s, delay_s), none)
        return fine.reshape(len(commands), parts, -1)

    def at(lag_s: float, delay_s: float) -> Array:
        return forces(given, lag_s, delay_s)

    lag_s, delay_s = timing.lag_s, timing.delay_s
    low = max(lag_s - OFF_S, 1e-4)
    by_lag = (at(lag_s + OFF_S, delay_s) - at(low, delay_s)) / (lag_s + OFF_S - low)
    by_delay = (at(lag_s, delay_s + OFF_S) - at(lag_s, delay_s - OFF_S)) / (2 * OFF_S)
    return at(lag_s, delay_s), by_lag, by_delay, forces(by_sag, lag_s, delay_s)


def sagging(commands_N: Array, sag: float) -> tuple[Array, Array]:
    """What the thrusters give when the battery's voltage drops with the load, and its derivative by `sag`.

    F / (1 + sag ΣF/100 N): to first order `sag` is the share lost per 100 N of all thrusters together.
    """
    load = np.abs(commands_N).sum(axis=1, keepdims=True) / LOAD_N
    given = commands_N / (1 + sag * load)
    return given, -given * load / (1 + sag * load)


def _shifted(commands: Array, steps: int) -> Array:
    """The command that was given `steps` earlier; the ends hold."""
    index = np.clip(np.arange(len(commands)) - steps, 0, len(commands) - 1)
    return commands[index]
