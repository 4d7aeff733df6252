"""How close vehicles came to each other, and how far apart they were."""

from __future__ import annotations

from shoal.evaluation.arrays import worst_value
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.messages.geometry import all_pairs
from shoal.recordings.recording import Recording

GROUP = "Path error and margins"


def _pairs(recording: Recording) -> list[str]:
    return [f"{recording.names[a]} - {recording.names[b]}" for a, b in all_pairs(len(recording.names))]


def _smallest(recording: Recording) -> Value | None:
    return worst_value(recording, recording.distances_m, _pairs(recording), "min")


def _largest(recording: Recording) -> Value | None:
    return worst_value(recording, recording.distances_m, _pairs(recording))


def _words(recording: Recording, value: Value, limit: float) -> str:
    return f"distance {value.number:.2f} m < {limit:g} m at {value.at_s:.1f} s ({value.subject})"


METRICS = (
    Metric("distance_min_m", "m", _smallest, Bound(lambda r: r.limits.distance_hard_m, "came too close", _words),
           worst="min", label="smallest distance", group=GROUP, form=".2f",
           description="Between any two vehicles: of long or joined ones, between their nearest points."),
    Metric("distance_max_m", "m", _largest, label="largest distance", group="", form=".2f", shown=False,
           description="Between any two vehicles: of long or joined ones, between their nearest points."),
)  # fmt: skip
