"""Whether a long run ends as it began."""

from __future__ import annotations

import numpy as np

from shoal.evaluation.arrays import SETTLE_S
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording

STRETCH_S = 600.0  # at the beginning and at the end
BOUND_M = 0.02


def _growth(recording: Recording) -> Value | None:
    """Of the vehicle whose error has grown most; None: too short to have a beginning and an end."""
    t = recording.times_s - recording.times_s[0]
    if t[-1] < 2 * STRETCH_S + SETTLE_S:
        return None
    square = np.sum((recording.states[:, :, POSITION] - recording.setpoints_m) ** 2, axis=2)  # (T,V)
    first, last = (t >= SETTLE_S) & (t < SETTLE_S + STRETCH_S), t > t[-1] - STRETCH_S
    growth = np.sqrt(np.nanmean(square[last], axis=0)) - np.sqrt(np.nanmean(square[first], axis=0))
    worst = int(np.argmax(growth))
    return Value(float(growth[worst]), subject=recording.names[worst])


METRICS = (
    Metric("error_growth_m", "m", _growth, Bound(BOUND_M, "grew less exact"), label="growth of the error", form="+.4f",
           group="Each vehicle and the formation",
           description="RMS error of a vehicle against its own setpoint in the last 10 min less that in the first 10 "
                       "min after settling; of runs that are longer than both."),
)  # fmt: skip
