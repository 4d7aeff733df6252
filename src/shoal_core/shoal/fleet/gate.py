"""The gate every command goes through: which odometry may be used, and who steers when the controller does not."""

from __future__ import annotations

import math

from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.messages.health import Code, Issue, Mode, Severity
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, RATE, VELOCITY

FASTEST_MPS, FASTEST_RADPS = 5.0, 20.0


class GateSettings(FileModel):
    """Times after which trust ends."""

    odometry_age_s: float = Field(default=0.5, gt=0, description="older odometry is stale, unless it is usually slow")
    longest_age_s: float = Field(default=3.0, gt=0, description="odometry that comes slowly may be as old as this")
    future_s: float = Field(default=0.8, ge=0, description="odometry may be stamped this far ahead of the clock")
    reset_s: float = Field(default=2.0, gt=0, description="after this long without odometry the estimate starts anew")
    unsure_m: float = Field(
        default=0.3, gt=0, description="one sigma of the estimated position, beyond which nobody swims by it"
    )
    plan_s: float = Field(default=1.0, ge=0, description="how long the previous plan is followed")
    deadline_periods: float = Field(default=1.0, gt=0, description="a solve that takes longer is late")


def check_odometry(
    odometry: Odometry, t_s: float, settings: GateSettings, age_limit_s: float | None = None
) -> Issue | None:
    """Why this odometry can't be used, or None. `age_limit_s`: instead of the settings' age."""
    if problem := check_contents(odometry):
        return problem
    age_s = t_s - odometry.stamp_s
    if age_s > (settings.odometry_age_s if age_limit_s is None else age_limit_s):
        return _refused(Code.ODOMETRY_STALE, age_s)
    if age_s < -settings.future_s:
        return _refused(Code.ODOMETRY_IN_FUTURE, -age_s)
    return None


def check_contents(odometry: Odometry) -> Issue | None:
    """What of it is absurd whenever it was measured, or None."""
    values = odometry.state.tolist()  # thirteen plain numbers are looked at sooner than arrays of three
    if not math.isfinite(sum(values) + odometry.stamp_s):
        return _refused(Code.ODOMETRY_NOT_FINITE)
    norm = math.hypot(*values[ATTITUDE])
    if abs(norm - 1.0) > 0.05:
        return _refused(Code.ODOMETRY_ATTITUDE_LENGTH, norm)
    if max(map(abs, values[VELOCITY])) > FASTEST_MPS or max(map(abs, values[RATE])) > FASTEST_RADPS:
        return _refused(Code.ODOMETRY_TOO_FAST)
    return None


def _refused(code: Code, value: float | None = None) -> Issue:
    return Issue(code, Severity.WARNING, value=value)


class Gate:
    """Remembers how long things have gone wrong: previous plan, then station keeping, then zero thrust."""

    def __init__(self, settings: GateSettings) -> None:
        self.settings = settings
        self._since_s: float | None = None

    def reset(self) -> None:
        """The controller is in charge again."""
        self._since_s = None

    def begin(self, since_s: float) -> None:
        """The trouble is older than its discovery."""
        if self._since_s is None:
            self._since_s = since_s

    def fallback(self, t_s: float, has_plan: bool, has_state: bool) -> Mode:
        """Who steers now."""
        if self._since_s is None:
            self._since_s = t_s
        failing_s = t_s - self._since_s
        if has_plan and failing_s < self.settings.plan_s:
            return Mode.PREVIOUS_PLAN
        return Mode.STATION_KEEPING if has_state else Mode.ZERO_THRUST
