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
OWN_GROUP = "Each vehicle and the formation"
OWN_BOUND_M = 1.0  # half the distance that two vehicles keep: farther off, a vehicle is not in its place
PATH_BOUND_M = 2.0  # farther from the setpoint after settling is not following: the "ready" distance of Fosso 2023
_AFTER = f"after {SETTLE_S:g} s of settling"


def _centroid_error_m(recording: Recording) -> Array:
    """(T,) of the formation's centroid against the common setpoint."""
    return np.asarray(np.linalg.norm(recording.centroid_m - recording.reference_m, axis=1))


def _offsets_m(recording: Recording) -> Array:
    """(T,V,3) from each vehicle's own place to the vehicle; not-a-number before settling."""
    offsets = recording.states[:, :, POSITION] - recording.setpoints_m
    offsets[~settled(recording)] = np.nan
    return np.asarray(offsets)


def _own_error_m(recording: Recording) -> Array:
    """(T,V) of each vehicle against its own setpoint."""
    return np.asarray(np.linalg.norm(_offsets_m(recording), axis=2))


def _formation_error_m(recording: Recording) -> Array | None:
    """(T,V) of each vehicle's place among the others: what is left when the whole formation is moved to fit best."""
    if len(recording.names) < 2:
        return None
    offsets = _offsets_m(recording)
    return np.asarray(np.linalg.norm(offsets - offsets.mean(axis=1, keepdims=True), axis=2))


def _settled_rms(recording: Recording) -> float | None:
    return rms(_centroid_error_m(recording)[settled(recording)])


def _settled_mean(recording: Recording) -> float | None:
    error = _centroid_error_m(recording)[settled(recording)]
    return float(np.nanmean(error)) if np.isfinite(error).any() else None


def _settled_p95(recording: Recording) -> float | None:
    error = _centroid_error_m(recording)[settled(recording)]
    return float(np.nanpercentile(error, 95)) if np.isfinite(error).any() else None


def _settled_max(recording: Recording) -> Value | None:
    error = np.where(settled(recording), _centroid_error_m(recording), np.nan)
    return worst_value(recording, np.where(np.isfinite(error), error, np.nan)[:, None], [""])


def _worst_rms(recording: Recording, errors: Array | None) -> Value | None:
    """Of the vehicle with the largest."""
    if errors is None:
        return None
    known = {name: rms(error) for name, error in zip(recording.names, errors.T, strict=True)}
    found = {name: number for name, number in known.items() if number is not None}
    if not found:
        return None
    vehicle = max(found, key=lambda name: found[name])
    return Value(found[vehicle], subject=vehicle)


def _own_max(recording: Recording) -> Value | None:
    """None where nobody recorded whose place is where."""
    if np.all(np.isnan(recording.setpoints_m[settled(recording)])):
        return None
    return worst_value(recording, _own_error_m(recording), recording.names)


def _formation_max(recording: Recording) -> Value | None:
    errors = _formation_error_m(recording)
    return None if errors is None else worst_value(recording, errors, recording.names)


def _own_limit(recording: Recording) -> float | None:
    """On the way to a goal nobody is in its place yet: then arriving is the test."""
    return None if recording.outcome is not None else OWN_BOUND_M


def _own_words(recording: Recording, value: Value, limit: float) -> str:
    return f"{value.subject} {value.number:.2f} m from its place > {limit:g} m at {value.at_s:.1f} s"


def _words(recording: Recording, value: Value, limit: float) -> str:
    return f"centroid {value.number:.2f} m from the setpoint > {limit:g} m at {value.at_s:.1f} s"


# Start poses are drawn up to 2 m off the path: how far is the seed's doing, not the controller's, and over a whole run
# it would hide all else. That is why errors are read after settling.
METRICS = (
    Metric("rmse_m", "m", _settled_rms, label="path error RMS, settled", group=GROUP, form=".3f",
           description=f"Formation centroid against the common setpoint, {_AFTER}."),
    Metric("path_error_mean_m", "m", _settled_mean, label="path error mean, settled", group=GROUP, form=".4f",
           shown=False, description=f"Of the centroid, {_AFTER}."),
    Metric("path_error_p95_m", "m", _settled_p95, label="path error, 95th percentile", group=GROUP, form=".4f",
           shown=False, description=f"Of the centroid, {_AFTER}."),
    Metric("rmse_whole_m", "m", lambda r: rms(_centroid_error_m(r)), label="path error RMS, whole run", group=GROUP,
           form=".3f", shown=False, description="The same over the whole run, from poses up to 2 m off."),
    Metric("path_error_max_m", "m", _settled_max, Bound(PATH_BOUND_M, "left the path", _words),
           label="largest path error", group=GROUP, form=".3f", description=f"Of the centroid, {_AFTER}."),
    Metric("setpoint_error_rms_m", "m", lambda r: _worst_rms(r, _own_error_m(r)), label="own error RMS",
           group=OWN_GROUP, form=".3f",
           description=f"Each vehicle against its own place, {_AFTER}; of the vehicle with the largest."),
    Metric("setpoint_error_max_m", "m", _own_max, Bound(_own_limit, "left their places", _own_words),
           label="largest own error", group=OWN_GROUP, form=".3f",
           description=f"Any vehicle against its own place, {_AFTER}."),
    Metric("formation_error_rms_m", "m", lambda r: _worst_rms(r, _formation_error_m(r)), label="formation error RMS",
           group=OWN_GROUP, form=".3f", description="Each vehicle's place among the others, wherever the whole "
           f"formation is, {_AFTER}; of the vehicle with the largest."),
    Metric("formation_error_max_m", "m", _formation_max, label="largest formation error", group=OWN_GROUP, form=".3f",
           description=f"Of any vehicle, {_AFTER}."),
)  # fmt: skip
