"""Health as the key-value pairs of a diagnostic status, and back: the same from the simulator and from a node."""

from __future__ import annotations

import json
from collections.abc import Mapping

from shoal.messages.health import Health
from shoal.messages.wording import log_line


def health_values(health: Health, ages_s: Mapping[str, float], overruns: int = 0) -> dict[str, object]:
    """Figures beside the sentence."""
    issues = [[i.code.value, int(i.severity), i.subject, i.value] for i in health.issues]
    return {
        "mode": health.mode.name.lower(),
        "reason": "; ".join(log_line(issue) for issue in health.issues),
        "issues": json.dumps(issues),
        "solve_ms": health.solve_ms,
        "iterations": health.iterations,
        "slack": health.slack_soft,
        "slack_hard": health.slack_hard,
        "committed": int(health.committed),
        "overrun": int(health.overrun),
        "overruns": overruns,
        **{f"age_s {name}": age for name, age in ages_s.items()},
    }
