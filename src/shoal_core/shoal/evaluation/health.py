"""Whether controllers were in their normal mode, and what they knew."""

from __future__ import annotations

import numpy as np

from shoal.evaluation.arrays import largest
from shoal.evaluation.metric import Bound, Metric
from shoal.recordings.recording import Recording

GROUP = "Health"


def _broken(recording: Recording) -> float:
    return float(np.mean(~np.all(np.isfinite(recording.states), axis=(1, 2))))


_FINITE = Bound(0.0, "had a state that is not a number", lambda *_: "a state is not a number")
NOT_A_NUMBER = Metric(
    "not_a_number_share", "", _broken, _FINITE,
    label="states that are not a number", group="", form=".2%", shown=False,
    description="Share of instants. Such a run has failed in everything that applies to it.",
)  # fmt: skip
METRICS = (
    Metric("fallbacks", "", lambda r: float(np.count_nonzero(r.mode)), label="fallback steps", group="", form=".0f",
           description="Control steps that the controller did not decide, over all vehicles."),
    Metric("fallback_share", "", lambda r: float(np.mean(r.mode != 0)), label="fallback", group=GROUP, form=".2%",
           shown=False, description="Share of control steps that the controller did not decide."),
    Metric("slack_max", "", lambda r: largest(r.slack_max), label="largest slack", group=GROUP, shown=False,
           description="Largest planned violation of a soft limit."),
    Metric("neighbour_age_max_s", "s", lambda r: largest(r.neighbour_age_s), label="oldest neighbour plan",
           group=GROUP, form=".2f", shown=False, description="Age of the oldest plan in use."),
)  # fmt: skip
