"""Tasks with a goal: whether it was reached, and when."""

from __future__ import annotations

import math

from shoal.evaluation.metric import Bound, Metric, Value
from shoal.recordings.recording import Recording


def _reached(recording: Recording) -> Value | None:
    if recording.outcome is None:
        return None
    reached_s = recording.outcome.reached_s
    return Value(math.nan) if reached_s is None else Value(reached_s)


def _words(recording: Recording, value: Value, limit: float) -> str:
    outcome = recording.outcome
    assert outcome is not None
    return f"not reached: {outcome.goal}" + (f" ({outcome.why})" if outcome.why else "")


METRICS = (
    Metric("goal_s", "s", _reached, Bound(math.inf, "missed the goal", _words), label="goal reached after",
           group="", form=".1f", description="From when on the task's goal was met for good."),
)  # fmt: skip
