"""What the thrusters had to do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.arrays import rms
from shoal.evaluation.metric import Metric
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

GROUP = "Effort and attitude"
AT_BOUND = 1e-3  # of the range between least and most thrust: nearer to either is saturated


def _thrust_N(recording: Recording) -> Array:
    """(T,N) of all thrusters of all vehicles."""
    return np.concatenate([recording.thrust_N[name] for name in recording.names], axis=1)


def _saturated(recording: Recording) -> float | None:
    if any(name not in recording.thrust_bounds_N for name in recording.names):
        return None
    thrust = _thrust_N(recording)
    least, most = np.concatenate([recording.thrust_bounds_N[name] for name in recording.names], axis=1)
    known = np.isfinite(thrust)
    if not known.any():
        return None
    margin = AT_BOUND * (most - least)
    at_bound = (thrust <= least + margin) | (thrust >= most - margin)
    return float(np.count_nonzero(at_bound & known) / np.count_nonzero(known))


def _activity(recording: Recording) -> float | None:
    thrust = _thrust_N(recording)
    return rms(np.diff(thrust, axis=0)) if len(thrust) > 1 else None


METRICS = (
    Metric("thrust_rms_N", "N", lambda r: rms(_thrust_N(r)), label="thrust RMS", group=GROUP, form=".2f",
           description="Commanded, per thruster."),
    Metric("thrust_saturated_share", "", _saturated, label="thrust at its limit", group=GROUP, form=".2%",
           description="Share of all thrusters' commands at the least or most they can give."),
    Metric("thrust_activity_N", "N", _activity, label="thrust change per period", group=GROUP, form=".3f",
           description="RMS change of a thruster's command from one recorded instant to the next."),
)  # fmt: skip
