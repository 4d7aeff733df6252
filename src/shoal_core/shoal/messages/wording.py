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
    Code.ODOMETRY_FROZEN: (
        "odometry is frozen: it repeats itself",
        "odometry is frozen: it has repeated itself for {value:.2f} s",
    ),
    Code.ODOMETRY_SLOW: (
        "odometry is slow: steering with less vigour",
        "odometry is slow ({value:.1f} Hz): steering with less vigour",
    ),
    Code.ODOMETRY_OUTLIER: (
        "odometry has an outlier: {subject} ignored",
        "odometry has an outlier: {subject} is {value:.2f} off, ignored",
    ),
    Code.MAP_CORRECTED: (
        "odometry has jumped: following the new {subject}",
        "odometry has jumped by {value:.2f}: following the new {subject}",
    ),
    Code.REFERENCE_NOT_FINITE: ("reference is not finite", "reference is not finite"),
    Code.LEFT_ITS_ROOM: (
        "left its room",
        "is {value:.1f} m from where the excitation began; zero thrust",
    ),
    Code.LEFT_ITS_DEPTH: (
        "left the depths that the excitation may use",
        "is at a depth of {value:.1f} m, outside those that the excitation may use; zero thrust",
    ),
    Code.TOO_CLOSE_TO_EXCITE: (
        "another vehicle is too close for an excitation",
        "another vehicle is {value:.1f} m away, too close for an excitation; zero thrust",
    ),
    Code.SOLVER_FAILED: ("solver failed", "solver failed with status {value:.0f}"),
    Code.CONTROLLER_RAISED: ("controller failed", "controller raised {subject}"),
    Code.DEADLINE_MISSED: ("solver missed its deadline", "solver took {value:.0f} ms, more than the deadline"),
    Code.SOLVER_COMPILING: (
        "solver is being compiled for this vehicle: a PID steers until then",
        "solver is being compiled for this vehicle: a PID steers until then",
    ),
    Code.MODEL_MISMATCH: (
        "model does not match the vehicle: large unexplained force",
        "model does not match the vehicle: unexplained force of {value:.0f} N (shoal identify finds its numbers)",
    ),
    Code.MODEL_ADAPTED: (
        "configured mass or drag does not match the motion: using estimates",
        "configured mass or drag does not match the motion: using {value:.1f} kg (shoal identify finds all numbers)",
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
    Code.OSCILLATION: (
        "vehicle oscillates: control slowed down",
        "vehicle oscillates: control slowed down until {value:.0f} s without",
    ),
    Code.THRUSTER_SUSPECT: (
        "{subject} does not do what it is asked: out of use until it is tested",
        "{subject} does not do what it is asked ({value:.0f} % sure): out of use until it is tested",
    ),
    Code.THRUSTER_DEAD: (
        "{subject} gives no thrust: out of use",
        "{subject} gives no thrust ({value:.0f} % sure): out of use",
    ),
    Code.THRUSTER_WEAK: (
        "{subject} gives too little thrust: out of use",
        "{subject} gives too little thrust ({value:.0f} % sure): out of use",
    ),
    Code.THRUSTER_REVERSED: (
        "{subject} pushes the wrong way: out of use",
        "{subject} pushes the wrong way ({value:.0f} % sure): out of use",
    ),
    Code.THRUSTER_STUCK: (
        "{subject} pushes whatever it is asked: out of use",
        "{subject} pushes whatever it is asked ({value:.0f} % sure): out of use",
    ),
    Code.MODULE_SUSPECT: (
        "all thrusters of module {subject} seem to do nothing; they are tested",
        "all thrusters of module {subject} seem to do nothing; they are tested",
    ),
    Code.MODULE_DEAD: (
        "module {subject} is dead: the others go on without it",
        "module {subject} is dead: the others go on without it",
    ),
    Code.THRUSTER_OUT_OF_USE: ("{subject} is out of use by order", "{subject} is out of use by order"),
    Code.ADRIFT: (
        "too little thrust to hold its place: drifts, level",
        "too little thrust to hold its place: drifts off it at {value:.2f} m/s, level",
    ),
    Code.LIMIT_INFEASIBLE: (
        "a hard limit on sight or distance cannot be kept",
        "a hard limit on sight or distance cannot be kept: planned violation {value:.3f}",
    ),
    Code.STALE_PLAN: ("stale plan from {subject}", "stale plan from {subject}: {value:.1f} s old"),
    Code.LOST_CONTACT: ("lost contact with {subject}", "lost contact with {subject}: no plan for {value:.1f} s"),
    Code.PLAN_DOUBTED: (
        "plan of {subject} disagrees with what is seen: using what is seen",
        "plan of {subject} disagrees with what is seen by {value:.1f} m: using what is seen",
    ),
    Code.PLAN_REPEATED: (
        "{subject} repeats the same plan: taken for silent",
        "{subject} repeats the same plan: taken for silent",
    ),
    Code.HAZARD: (
        "keeping clear of where {subject} was last seen",
        "keeping clear of where {subject} was last seen, {value:.1f} m from here",
    ),
    Code.CLOCKS_APART: (
        "the clock of {subject} differs from ours: its times are translated",
        "the clock of {subject} differs from ours by {value:+.2f} s: its times are translated",
    ),
    Code.STOPPED: ("stopped by the operator", "stopped by {subject}"),
    Code.THRUSTERS_OFF: (
        "commands do not reach the thrusters: not armed",
        "commands do not reach the thrusters: not armed",
    ),
    Code.NO_REFERENCE: ("holding station: no reference", "holding station: no reference"),
    Code.STALE_REFERENCE: ("holding station: stale reference", "holding station: reference is {value:.1f} s old"),
    Code.NO_FORMATION: ("holding station: no formation", "holding station: no formation"),
    Code.NOT_IN_FORMATION: (
        "holding station: formation has no place for this vehicle",
        "holding station: formation has no place for this vehicle",
    ),
    Code.PILOT_SILENT: (
        "no input from the pilot: sticks count as centred, what is held stays held",
        "no input from the pilot for {value:.1f} s: sticks count as centred, what is held stays held",
    ),
    Code.PATH_SLOWED: (
        "path is faster than the vehicles: slowed",
        "path is faster than the vehicles: slowed to {value:.0f} % of its speed",
    ),
    Code.REFERENCE_WAITS: (
        "reference waits for {subject}",
        "reference waits for {subject}, {value:.1f} m behind",
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
