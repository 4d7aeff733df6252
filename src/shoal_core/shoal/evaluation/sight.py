"""How well those that must see each other did."""

from __future__ import annotations

import numpy as np

from shoal.evaluation.arrays import worst_value
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.messages.geometry import fov_angles_deg
from shoal.recordings.recording import Recording

GROUP = "Path error and margins"


def _largest_angle(recording: Recording) -> Value | None:
    pairs = [f"{recording.names[a]} -> {recording.names[b]}" for a, b in recording.must_see]
    return worst_value(recording, fov_angles_deg(recording.states, recording.must_see), pairs)


def _beyond_soft(recording: Recording) -> float | None:
    angles = fov_angles_deg(recording.states, recording.must_see)
    if not angles.size:
        return None
    return float(np.mean(np.any(angles > recording.limits.sight_soft_deg, axis=1)))


def _limit(recording: Recording) -> float | None:
    """A run with a goal may start with its sight lost: then finding back is the test."""
    return None if recording.outcome is not None else recording.limits.sight_hard_deg


def _words(recording: Recording, value: Value, limit: float) -> str:
    return f"FOV {value.number:.1f} deg > {limit:g} deg at {value.at_s:.1f} s ({value.subject})"


METRICS = (
    Metric("fov_max_deg", "°", _largest_angle, Bound(_limit, "lost sight", _words),
           label="largest FOV angle", group=GROUP, form=".1f",
           description="Angle between a vehicle's bow and the direction to one it must see, in three dimensions."),
    Metric("fov_soft_share", "", _beyond_soft, label="beyond the soft angle", group="", form=".2%", shown=False,
           description="Share of instants with any pair beyond the soft angle."),
)  # fmt: skip
