"""Sampled motion read between its samples: prepared once, asked many times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def prepare(times_s: Array, values: Array, slope_before: Array, slope_after: Array) -> Array:
    """Rows [time, values, slopes] (K+1, 1+2n): one per interval, with those before the first and after the last sample.

    Straight between the samples, the given slopes outside them.
    """
    count, n = values.shape
    rows = np.empty((count + 1, 1 + 2 * n))
    rows[1:, 0], rows[1:, 1 : n + 1] = times_s, values
    rows[0, : n + 1] = rows[1, : n + 1]
    rows[0, n + 1 :], rows[-1, n + 1 :] = slope_before, slope_after
    if count > 1:
        rows[1:-1, n + 1 :] = (values[1:] - values[:-1]) / (times_s[1:] - times_s[:-1])[:, None]
    return rows


def pick(own_s: Array, rows: Array, times_s: Array) -> Array:
    """The row of each time (M, 1+2n); `own_s` are the samples' times."""
    return rows.take(own_s.searchsorted(times_s, side="right"), axis=0)


def read(picked: Array, times_s: Array) -> Array:
    """Values (…, M, n) of picked rows (…, M, 1+2n) at their times (…, M) or (M,)."""
    n = picked.shape[-1] // 2
    return np.asarray(picked[..., 1 : n + 1] + (times_s[..., None] - picked[..., :1]) * picked[..., n + 1 :])
