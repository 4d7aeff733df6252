"""How well the controllers knew their own timing, soon after the start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.metric import Metric, Value
from shoal.recordings.recording import Recording

GROUP = "Health"
AFTER_S = 1.0
CLOSE_S = 0.075  # less cannot be told apart, nor does it harm
EDGE_S = 1e-6


def _early_error_s(recording: Recording) -> NDArray[np.float64] | None:
    """(V,) after a second; None: the run is shorter, the truth not known or nothing believed."""
    if recording.timing_error_s is None or recording.duration_s < AFTER_S - EDGE_S:
        return None
    k = int(np.searchsorted(recording.times_s, recording.times_s[0] + AFTER_S - EDGE_S))
    error = recording.timing_error_s[k]
    return error if np.isfinite(error).all() else None


def _largest(recording: Recording) -> Value | None:
    error = _early_error_s(recording)
    if error is None:
        return None
    v = int(np.argmax(np.abs(error)))
    return Value(float(error[v]), subject=recording.names[v])


def _share(recording: Recording) -> float | None:
    error = _early_error_s(recording)
    return None if error is None else float(np.mean(np.abs(error) <= CLOSE_S + EDGE_S))


METRICS = (
    Metric("timing_error_s", "s", _largest, worst="abs", label="timing error", group=GROUP, form="+.3f", shown=False,
           description=f"Believed lag and delay together less the true ones, {AFTER_S:g} s after the start; of the "
                       "vehicle with the largest."),
    Metric("timing_known_share", "", _share, worst="min", label="timing known", group=GROUP, form=".0%", shown=False,
           description=f"Share of vehicles that know lag and delay together within {CLOSE_S * 1e3:g} ms by then."),
)  # fmt: skip
