"""How level the vehicles stayed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.evaluation.arrays import worst_value
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.frames import rotation_matrix
from shoal.messages.state import ATTITUDE
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

GROUP = "Effort and attitude"
TUMBLE_DEG = 60.0  # more than any manoeuvre or wave asks for: the vehicle has tumbled
SETTLED_DEG = 45.0  # waves of 0.5 m/s tilt a vehicle by 30°
AFTER_S = 5.0  # start poses are gone by then


def _tilts_deg(recording: Recording) -> Array:
    """(T,V) angle between each vehicle's own down and the world's."""
    count, vehicles, _ = recording.states.shape
    with np.errstate(invalid="ignore"):
        down = rotation_matrix(recording.states[:, :, ATTITUDE].reshape(-1, 4))[:, :, 2]  # (T·V,3)
    return np.degrees(np.arctan2(np.linalg.norm(down[:, :2], axis=1), down[:, 2])).reshape(count, vehicles)


def _tilt(recording: Recording) -> Value | None:
    return worst_value(recording, _tilts_deg(recording), recording.names)


def _settled_tilt(recording: Recording) -> Value | None:
    """After 5 s, of a short run in its second half; of a run with a goal after the goal as well."""
    begin = min(AFTER_S, 0.5 * recording.duration_s)
    if recording.outcome is not None and recording.outcome.reached_s is not None:
        begin = max(begin, recording.outcome.reached_s - recording.times_s[0])
    tilts = _tilts_deg(recording)
    tilts[recording.times_s < recording.times_s[0] + begin] = np.nan
    return worst_value(recording, tilts, recording.names)


METRICS = (
    Metric("tilt_max_deg", "°", _tilt, Bound(TUMBLE_DEG, "tumbled"), label="largest tilt", group=GROUP, form=".1f",
           description="Angle between a vehicle's vertical axis and the world's: roll and pitch together."),
    Metric("tilt_settled_max_deg", "°", _settled_tilt, Bound(SETTLED_DEG, "did not come to rest level"),
           label="largest tilt, settled", group=GROUP, form=".1f",
           description=f"The same after {AFTER_S:g} s; in a run with a goal, after the goal was reached."),
)  # fmt: skip
