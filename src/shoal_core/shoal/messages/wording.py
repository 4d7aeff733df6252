"""Health codes in words, in two tones: a log line with figures, and an operator's sentence without.

An operator's sentence has no figures because a sentence that changes ten times a second is not read.
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.messages.health import Code, Health, Issue, Mode

MODES = {
    Mode.CONTROLLER: "following",
    Mode.PREVIOUS_PLAN: "following the previous plan",
    Mode.STATION_KEEPING: "keeping station",
    Mode.ZERO_THRUST: "zero thrust",
}

# code: (operator's sentence, log line); {subject} and {value} are the issue's
WORDS: dict[Code, tuple[str, str]] = {
    Code.NO_ODOMETRY: ("no odometry", "no odometry"),
    Code.ODOMETRY_NOT_FINITE: ("odometry is not finite", "odometry is not finite"),
    Code.ODOMETRY_ATTITUDE_LENGTH: (
        "odometry has no valid attitude",
        "odometry quaternion has length {value:.3f}, expected 1",
    ),
    Code.ODOMETRY_TOO_FAST: ("odometry velocity is implausible", "odometry velocity is beyond 5 m/s or 20 rad/s"),
    Code.ODOMETRY_STALE: ("odometry is stale", "odometry is {value:.2f} s old"),
    Code.ODOMETRY_IN_FUTURE: ("odometry is stamped in the future", "odometry is stamped {value:.2f} s in the future"),
    Code.REFERENCE_NOT_FINITE: ("reference is not finite", "reference is not finite"),
    Code.SOLVER_FAILED: ("solver failed", "solver failed with status {value:.0f}"),
    Code.CONTROLLER_RAISED: ("controller failed", "controller raised {subject}"),
    Code.DEADLINE_MISSED: ("solver missed its deadline", "solver took {value:.0f} ms, more than the deadline"),
    Code.MODEL_MISMATCH: (
        "model does not match the vehicle: large unexplained force",
        "model does not match the vehicle: unexplained force of {value:.0f} N",
    ),
    Code.MASS_REPLACED: (
        "configured mass does not match the weight: using the estimated mass",
        "configured mass does not match the weight: using {value:.1f} kg",
    ),
    Code.POSITION_NOISE: (
        "position noise too high, holding until the estimate converges",
        "position noise too high (sigma {value:.2f} m), holding until the estimate converges",
    ),
    Code.TIMING_DIFFERS: (
        "thrust acts sooner or later than configured: using the estimated timing",
        "thrust acts {value:+.2f} s later than configured: using the estimated timing",
    ),
    Code.TIMING_AT_EDGE: (
        "lag and delay of the thrusters are at the limit of what can be estimated",
        "lag and delay of the thrusters are at the limit of what can be estimated: {value:.2f} s together",
    ),
    Code.LIMIT_INFEASIBLE: (
        "a hard limit on sight or distance cannot be kept",
        "a hard limit on sight or distance cannot be kept: planned violation {value:.3f}",
    ),
    Code.STALE_PLAN: ("stale plan from {subject}", "stale plan from {subject}: {value:.1f} s old"),
    Code.LOST_CONTACT: ("lost contact with {subject}", "lost contact with {subject}: no plan for {value:.1f} s"),
    Code.STOPPED: ("stopped by the operator", "stopped by {subject}"),
    Code.NO_REFERENCE: ("holding station: no reference", "holding station: no reference"),
    Code.STALE_REFERENCE: ("holding station: stale reference", "holding station: reference is {value:.1f} s old"),
    Code.NO_FORMATION: ("holding station: no formation", "holding station: no formation"),
    Code.NOT_IN_FORMATION: (
        "holding station: formation has no place for this vehicle",
        "holding station: formation has no place for this vehicle",
    ),
    Code.TWO_PUBLISHERS: ("more than one publisher of {subject}", "{value:.0f} publishers of {subject}"),
}


def sentence(issue: Issue) -> str:
    """For an operator: no figures."""
    return WORDS[issue.code][0].format(subject=issue.subject)


def log_line(issue: Issue) -> str:
    """For a log: with figures, where the issue has them."""
    short, long = WORDS[issue.code]
    if "{value" in long and issue.value is None:
        return short.format(subject=issue.subject)
    return long.format(subject=issue.subject, value=issue.value)


def sentences(issues: Iterable[Issue]) -> str:
    """Several, joined, each once."""
    return "; ".join(dict.fromkeys(map(sentence, issues)))


def summary(health: Health) -> str:
    """One line for an operator: what it does, and what is the matter."""
    trouble = sentences(health.issues)
    if health.mode is Mode.CONTROLLER:
        return trouble or MODES[health.mode]
    return f"{MODES[health.mode]}: {trouble}" if trouble else MODES[health.mode]
