"""How far the formation was from the common setpoint, and each vehicle from its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.arrays import SETTLE_S, rms, settled, worst_value
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

GROUP = "Path error and margins"
PATH_BOUND_M = 2.0  # farther from the setpoint after settling is not following: the "ready" distance of Fosso 2023
_AFTER = f"after {SETTLE_S:g} s of settling"


def _centroid_error_m(recording: Recording) -> Array:
    """(T,) of the formation's centroid against the common setpoint."""
    return np.asarray(np.linalg.norm(recording.centroid_m - recording.reference_m, axis=1))


def _own_error_m(recording: Recording) -> Array:
    """(T,V) of each vehicle against its own setpoint; not-a-number before settling."""
    error = np.linalg.norm(recording.states[:, :, POSITION] - recording.setpoints_m, axis=2)
    error[~settled(recording)] = np.nan
    return np.asarray(error)


def _settled_rms(recording: Recording) -> float | None:
    return rms(_centroid_error_m(recording)[settled(recording)])


def _settled_max(recording: Recording) -> Value | None:
    error = np.where(settled(recording), _centroid_error_m(recording), np.nan)
    return worst_value(recording, np.where(np.isfinite(error), error, np.nan)[:, None], [""])


def _own_rms(recording: Recording) -> Value | None:
    known = {name: rms(error) for name, error in zip(recording.names, _own_error_m(recording).T, strict=True)}
    found = {name: number for name, number in known.items() if number is not None}
    if not found:
        return None
    vehicle = max(found, key=lambda name: found[name])
    return Value(found[vehicle], subject=vehicle)


def _own_max(recording: Recording) -> Value | None:
    return worst_value(recording, _own_error_m(recording), recording.names)


def _words(recording: Recording, value: Value, limit: float) -> str:
    return f"centroid {value.number:.2f} m from the setpoint > {limit:g} m at {value.at_s:.1f} s"


# Start poses are drawn up to 2 m off the path: how far is the seed's doing, not the controller's, and over a whole run
# it would hide all else. That is why errors are read after settling.
METRICS = (
    Metric("rmse_m", "m", _settled_rms, label="path error RMS, settled", group=GROUP, form=".3f",
           description=f"Formation centroid against the common setpoint, {_AFTER}."),
    Metric("rmse_whole_m", "m", lambda r: rms(_centroid_error_m(r)), label="path error RMS, whole run", group=GROUP,
           form=".3f", shown=False, description="The same over the whole run, from poses up to 2 m off."),
    Metric("path_error_max_m", "m", _settled_max, Bound(PATH_BOUND_M, "left the path", _words),
           label="largest path error", group=GROUP, form=".3f", description=f"Of the centroid, {_AFTER}."),
    Metric("setpoint_error_rms_m", "m", _own_rms, label="own setpoint error RMS", group=GROUP, form=".3f",
           description=f"Each vehicle against its own setpoint, {_AFTER}; of the vehicle with the largest."),
    Metric("setpoint_error_max_m", "m", _own_max, label="largest own setpoint error", group=GROUP, form=".3f",
           description=f"Any vehicle against its own setpoint, {_AFTER}."),
)  # fmt: skip
