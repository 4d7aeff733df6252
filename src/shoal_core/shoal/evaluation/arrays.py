"""Worst values with instant and subject, and sums that leave out what is not a number; for metrics."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.metric import Value
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

SETTLE_S = 10.0  # starts are up to 2 m off; errors and time shifts are read after this


def settled(recording: Recording) -> NDArray[np.bool_]:
    """(T,) the part of the run after settling; of a short run the second half."""
    return recording.times_s >= recording.times_s[0] + min(SETTLE_S, 0.5 * recording.duration_s)


def worst_value(recording: Recording, values: Array, subjects: Sequence[str], worst: str = "max") -> Value | None:
    """Of values (T,P), one column per subject; None without columns, not-a-number when nothing else is there."""
    if not values.size:
        return None
    if np.all(np.isnan(values)):
        return Value(np.nan)
    arg = np.nanargmin(values) if worst == "min" else np.nanargmax(values)
    instant, column = np.unravel_index(int(arg), values.shape)
    return Value(float(values[instant, column]), float(recording.times_s[instant]), subjects[int(column)])


def largest(values: Array) -> float | None:
    """Of the finite ones."""
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else None


def rms(values: Array) -> float | None:
    """Root mean square of those that are numbers."""
    with warnings.catch_warnings(), np.errstate(invalid="ignore", over="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        result = float(np.sqrt(np.nanmean(np.square(values))))
    return result if np.isfinite(result) else None
