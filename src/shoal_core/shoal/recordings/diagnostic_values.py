"""A controller's health as the key and value pairs of a DiagnosticStatus, and back.

The simulator's recordings and the controller node use the same pairs, so that what is read from a recording is what
happened, whoever wrote it. `issues` holds the codes as JSON: [[code, severity, subject, value], …].
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from shoal.messages.health import Code, Health, Issue, Mode, Severity
from shoal.messages.wording import log_line
from shoal.recordings.older import mode_of

AGE = "age_s "  # followed by the neighbour's name
TIMING = ("thruster_lag_s", "actuation_delay_s", "timing_certainty")  # as believed; missing where nobody estimates
OLDEST = "neighbour_age_s"  # where only the oldest is known


def status_name(vehicle: str) -> str:
    """`name` of the DiagnosticStatus; its `hardware_id` is the vehicle."""
    return f"shoal: {vehicle} controller"


def mode_values(mode: Mode, issues: tuple[Issue, ...]) -> dict[str, str]:
    """The part that an event is made of."""
    rows = [[i.code.value, int(i.severity), i.subject, _finite(i.value)] for i in issues]
    return {"mode": mode.name.lower(), "issues": json.dumps(rows, separators=(",", ":"))}


def health_values(health: Health, ages_s: Mapping[str, float] | None = None, overruns: int = 0) -> dict[str, str]:
    """All of it; `ages_s` of the neighbours' plans where they are known better than at the last step."""
    ages = health.neighbour_age_s if ages_s is None else ages_s
    return {
        **mode_values(health.mode, health.issues),
        "reason": "; ".join(map(log_line, health.issues)),
        "solve_ms": repr(float(health.solve_ms)),
        "iterations": str(health.iterations),
        "slack": repr(float(health.slack_soft)),
        "slack_hard": repr(float(health.slack_hard)),
        "committed": str(int(health.committed)),
        "overrun": str(int(health.overrun)),
        "overruns": str(overruns),
        **{key: repr(float(value)) for key in TIMING if (value := getattr(health, key)) is not None},
        **{f"{AGE}{name}": repr(float(age)) for name, age in ages.items()},
    }


def health_from_values(values: Mapping[str, str]) -> Health:
    """The other way round. What is missing or cannot be read gets not-a-number, or what it is by default."""
    ages = {key.removeprefix(AGE): number(values, key) for key in values if key.startswith(AGE)}
    if OLDEST in values:
        ages[""] = number(values, OLDEST)
    return Health(
        mode=_mode(values),
        issues=_issues(values.get("issues", "")),
        solve_ms=number(values, "solve_ms"),
        iterations=_integer(values, "iterations", 0),
        slack_soft=number(values, "slack", "slack_max"),
        slack_hard=number(values, "slack_hard", "slack_hard_max"),
        neighbour_age_s=ages,
        overrun=bool(_integer(values, "overrun", 0)),
        committed=bool(_integer(values, "committed", 1)),
        **{key: number(values, key) for key in TIMING if key in values},
    )


def number(values: Mapping[str, str], *keys: str) -> float:
    """The first of the keys that holds a number."""
    for key in keys:
        try:
            return float(values[key])
        except (KeyError, ValueError):
            continue
    return math.nan


def _integer(values: Mapping[str, str], key: str, otherwise: int) -> int:
    value = number(values, key)
    return int(value) if math.isfinite(value) else otherwise


def _mode(values: Mapping[str, str]) -> Mode:
    """Older recordings of the simulator have it as the first word of their message."""
    found = mode_of(values.get("mode", ""))
    return found if found is not None else mode_of(values.get("message", "")) or Mode.CONTROLLER


def _issues(text: str) -> tuple[Issue, ...]:
    """None of older recordings, which had sentences; codes of newer versions that we do not know are left out."""
    try:
        rows = json.loads(text)
    except ValueError:
        return ()
    return tuple(issue for row in rows if (issue := _issue(row)) is not None) if isinstance(rows, list) else ()


def _issue(row: Any) -> Issue | None:
    try:
        code, severity, subject, value = row
        return Issue(Code(code), Severity(severity), str(subject), None if value is None else float(value))
    except (TypeError, ValueError):
        return None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
