"""How level the vehicles stayed."""

from __future__ import annotations

import numpy as np

from shoal.evaluation.arrays import worst_value
from shoal.evaluation.metric import Metric, Value
from shoal.frames import rotation_matrix
from shoal.messages.state import ATTITUDE
from shoal.recordings.recording import Recording


def _tilt(recording: Recording) -> Value | None:
    """Angle between each vehicle's own down and the world's."""
    count, vehicles, _ = recording.states.shape
    with np.errstate(invalid="ignore"):
        down = rotation_matrix(recording.states[:, :, ATTITUDE].reshape(-1, 4))[:, :, 2]  # (T·V,3)
    tilt = np.degrees(np.arctan2(np.linalg.norm(down[:, :2], axis=1), down[:, 2])).reshape(count, vehicles)
    return worst_value(recording, tilt, recording.names)


METRICS = (
    Metric("tilt_max_deg", "°", _tilt, label="largest tilt", group="Effort and attitude", form=".1f",
           description="Angle between a vehicle's vertical axis and the world's: roll and pitch together."),
)  # fmt: skip
