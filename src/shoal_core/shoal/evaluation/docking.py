"""Docking: what the task has measured on the true states, with the bounds that it is judged by."""

from __future__ import annotations

from collections.abc import Callable

from shoal.evaluation.metric import Bound, Computed, Metric
from shoal.recordings.recording import Recording

GROUP = "Docking"


def _measured(name: str) -> Callable[[Recording], Computed]:
    def of(recording: Recording) -> Computed:
        return None if recording.outcome is None else recording.outcome.measured.get(name)

    return of


def _metric(name: str, unit: str, label: str, words: str, bound: Bound | None = None, form: str = ".3g") -> Metric:
    return Metric(name, unit, _measured(name), bound, label=label, description=words, group=GROUP, form=form)


METRICS = (
    _metric("dock_bearing_deg", "°", "largest bearing", "Of either marker off the other camera's axis, from the "
            "beginning of the approach until the latch closed.", Bound(22.0, "left the cone"), ".1f"),
    _metric("dock_speed_mps", "m/s", "contact speed", "Of the ports against each other when the latch closed, or "
            "of the hardest touch before.", Bound(0.1, "hit the port too fast")),
    _metric("dock_angle_deg", "°", "contact angle", "Between the ports when the latch closed.",
            Bound(2.0, "latched askew")),
    _metric("dock_gap_m", "m", "contact offset", "Between the ports when the latch closed."),
    _metric("dock_tries", "", "tries", "Of the follower, the successful one included.", form=".0f"),
    _metric("dock_beside", "", "touches beside the port", "Contacts of the hulls anywhere but at the ports.",
            Bound(0.0, "touched beside the port"), ".0f"),
    _metric("dock_kbps", "kbit/s", "traffic", "Plans of both vehicles, points as 32-bit numbers without headers.",
            form=".1f"),
    _metric("dock_distance_m", "m", "least distance", "Between the origins."),
    _metric("dock_watch_deg", "°", "bearing of the inspected object", "Off the axis of the leader's other camera, at "
            "most, until the latch closed.", Bound(25.0, "lost the object from sight"), ".1f"),
    _metric("dock_watch_m", "m", "distance of the inspected object", "From the leader, at most, until the latch "
            "closed.", Bound(3.0, "left the object"), ".2f"),
)  # fmt: skip
