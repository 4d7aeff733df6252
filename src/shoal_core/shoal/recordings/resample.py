"""Values that came when they came, at the instants one wants."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.messages.state import ATTITUDE

Array = NDArray[np.float64]


def in_order(times_s: Array, rows: Array) -> tuple[Array, Array]:
    """Sorted by time; of several at one time the last that came."""
    order = np.argsort(times_s, kind="stable")
    times, values = times_s[order], rows[order]
    last = np.append(np.diff(times) > 0, True)
    return times[last], values[last]


def linear(wanted_s: Array, times_s: Array, rows: Array) -> Array:
    """(T,...) from (N,...): straight between, constant outside."""
    flat = rows.reshape(len(rows), -1)
    made = np.stack([np.interp(wanted_s, times_s, column) for column in flat.T], axis=1)
    return made.reshape(len(wanted_s), *rows.shape[1:])


def states(wanted_s: Array, times_s: Array, rows: Array) -> Array:
    """13-states: positions and velocities straight between, attitudes the short way round."""
    made = rows.copy()
    turns = np.sum(made[1:, ATTITUDE] * made[:-1, ATTITUDE], axis=1) < 0  # q and -q are one attitude
    made[1:, ATTITUDE] *= np.where(np.cumsum(turns) % 2, -1.0, 1.0)[:, None]
    result = linear(wanted_s, times_s, made)
    length = np.linalg.norm(result[:, ATTITUDE], axis=1, keepdims=True)
    result[:, ATTITUDE] /= np.where(length > 0, length, 1.0)
    return result


def held(wanted_s: Array, times_s: Array, rows: Array, before: float) -> Array:
    """The last value by then; `before` where there was none yet."""
    index = np.searchsorted(times_s, wanted_s + 1e-9, side="right") - 1
    known = rows[np.maximum(index, 0)] if len(rows) else np.full((len(wanted_s), *rows.shape[1:]), before)
    missing = (index < 0).reshape(-1, *[1] * (rows.ndim - 1))
    return np.where(missing, before, known)
