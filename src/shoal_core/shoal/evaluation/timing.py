"""How long control steps and the run took, on the machine that ran it.

Steps of a simulation are measured in CPU time, for other programs on the machine are no part of them; those of nodes by
the clock, for their thrust waits as well.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from shoal.evaluation.metric import Metric, Value
from shoal.recordings.recording import Recording

GROUP = "Solver"


def _solve_ms(percent: float, recording: Recording) -> Value | None:
    known = recording.solve_ms[np.isfinite(recording.solve_ms)]
    return Value(float(np.percentile(known, percent)), subject=f"{known.size} steps") if known.size else None


def _samples(recording: Recording) -> float | None:
    known = int(np.count_nonzero(np.isfinite(recording.solve_ms)))
    return float(known) if known else None


def _wall_s(recording: Recording) -> float | None:
    return recording.about.wall_s or None


def _real_time_factor(recording: Recording) -> float | None:
    wall_s = _wall_s(recording)
    return recording.duration_s / wall_s if wall_s else None


METRICS = (
    *(
        Metric(f"solve_ms_{part}", "ms", partial(_solve_ms, percent), label="control step",
               part=part, group=GROUP, form=".2f", reproducible=False, description=f"{text}, of all vehicles' steps.")
        for part, percent, text in (("median", 50, "Median"), ("p99", 99, "99th percentile"), ("max", 100, "Longest"))
    ),
    Metric("solve_samples", "", _samples, worst="min", label="control steps measured", group=GROUP, form=".0f",
           shown=False, reproducible=False, description="How many the percentiles are of, in one run."),
    Metric("wall_s", "s", _wall_s, label="wall time", group="", form=".2f", shown=False, reproducible=False,
           description="Of the whole run."),
    Metric("real_time_factor", "× real time", _real_time_factor, worst="min", label="speed", group=GROUP, form=".1f",
           reproducible=False, description="Simulated seconds per second of wall time."),
)  # fmt: skip
