"""How a controller is doing, in codes. The words for them are made at the edge: see `messages.wording`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum


class Mode(IntEnum):
    """Who made the thrust, best first."""

    CONTROLLER = 0
    PREVIOUS_PLAN = 1
    STATION_KEEPING = 2
    ZERO_THRUST = 3


class Severity(IntEnum):
    """As the levels of diagnostic_msgs."""

    OK = 0
    WARNING = 1
    ERROR = 2


class Code(str, Enum):
    """What may be the matter. The subject and the value of each are listed in `messages.wording`."""

    # odometry
    NO_ODOMETRY = "no_odometry"
    ODOMETRY_NOT_FINITE = "odometry_not_finite"
    ODOMETRY_ATTITUDE_LENGTH = "odometry_attitude_length"
    ODOMETRY_TOO_FAST = "odometry_too_fast"
    ODOMETRY_STALE = "odometry_stale"
    ODOMETRY_IN_FUTURE = "odometry_in_future"
    ODOMETRY_FROZEN = "odometry_frozen"
    ODOMETRY_SLOW = "odometry_slow"
    ODOMETRY_OUTLIER = "odometry_outlier"
    MAP_CORRECTED = "map_corrected"
    # controller
    REFERENCE_NOT_FINITE = "reference_not_finite"
    SOLVER_FAILED = "solver_failed"
    CONTROLLER_RAISED = "controller_raised"
    DEADLINE_MISSED = "deadline_missed"
    SOLVER_COMPILING = "solver_compiling"
    LEFT_ITS_ROOM = "left_its_room"
    LEFT_ITS_DEPTH = "left_its_depth"
    TOO_CLOSE_TO_EXCITE = "too_close_to_excite"
    # still steering, but in trouble
    MODEL_MISMATCH = "model_mismatch"
    MODEL_ADAPTED = "model_adapted"
    POSITION_NOISE = "position_noise"
    TIMING_DIFFERS = "timing_differs"
    TIMING_AT_EDGE = "timing_at_edge"
    OSCILLATION = "oscillation"
    THRUSTER_SUSPECT = "thruster_suspect"
    THRUSTER_DEAD = "thruster_dead"
    THRUSTER_WEAK = "thruster_weak"
    THRUSTER_REVERSED = "thruster_reversed"
    THRUSTER_STUCK = "thruster_stuck"
    THRUSTER_OUT_OF_USE = "thruster_out_of_use"
    MODULE_SUSPECT = "module_suspect"
    MODULE_DEAD = "module_dead"
    ADRIFT = "adrift"
    LIMIT_INFEASIBLE = "limit_infeasible"
    STALE_PLAN = "stale_plan"
    LOST_CONTACT = "lost_contact"
    PLAN_DOUBTED = "plan_doubted"
    PLAN_REPEATED = "plan_repeated"
    HAZARD = "hazard"
    CLOCKS_APART = "clocks_apart"
    # not following
    STOPPED = "stopped"
    THRUSTERS_OFF = "thrusters_off"
    NO_REFERENCE = "no_reference"
    STALE_REFERENCE = "stale_reference"
    NO_FORMATION = "no_formation"
    NOT_IN_FORMATION = "not_in_formation"
    PILOT_SILENT = "pilot_silent"
    # guidance
    PATH_SLOWED = "path_slowed"
    REFERENCE_WAITS = "reference_waits"
    # the network
    TWO_PUBLISHERS = "two_publishers"


@dataclass(frozen=True)
class Issue:
    """One thing that is the matter."""

    code: Code
    severity: Severity
    subject: str = ""  # a neighbour, a topic, an exception
    value: float | None = None  # in the code's own unit

    @property
    def key(self) -> tuple[Code, str]:
        """Equal for the same trouble with another figure."""
        return self.code, self.subject


@dataclass(frozen=True)
class Health:
    """Which mode, and what is the matter."""

    mode: Mode
    issues: tuple[Issue, ...] = ()
    solve_ms: float = 0.0
    iterations: int = 0
    slack_soft: float = 0.0  # largest planned violation of a soft limit
    slack_hard: float = 0.0
    neighbour_age_s: Mapping[str, float] = field(default_factory=dict)
    overrun: bool = False
    committed: bool = True
    thruster_lag_s: float | None = None  # as believed
    actuation_delay_s: float | None = None
    timing_certainty: float | None = None  # 0 to 1, of the two

    @property
    def severity(self) -> Severity:
        """The worst of the issues; steering by fallback is a warning at least, not steering an error."""
        by_mode = {Mode.CONTROLLER: Severity.OK, Mode.ZERO_THRUST: Severity.ERROR}.get(self.mode, Severity.WARNING)
        return max([by_mode, *(issue.severity for issue in self.issues)])

    def has(self, code: Code) -> bool:
        """Whether that is the matter."""
        return any(issue.code is code for issue in self.issues)
