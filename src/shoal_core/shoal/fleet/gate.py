"""The gate every command goes through: what may be believed, and who steers when the solver does not."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict, Field

from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, RATE, VELOCITY


class GateSettings(BaseModel):
    """Times after which trust ends."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    odometry_age_s: float = Field(default=0.5, gt=0, description="older odometry is stale")
    future_s: float = Field(default=0.2, ge=0, description="odometry may be stamped this far ahead of the clock")
    reset_s: float = Field(default=2.0, gt=0, description="after this long without odometry the estimate starts anew")
    unsure_m: float = Field(
        default=0.3, gt=0, description="one sigma of the estimated position, beyond which nobody swims by it"
    )
    plan_s: float = Field(default=1.0, ge=0, description="how long the last plan is played on")
    blind_s: float = Field(default=1.0, ge=0, description="without a state: zero thrust after this long")
    deadline_periods: float = Field(default=1.0, gt=0, description="a solve that takes longer is late")


def refuse(odometry: Odometry, t_s: float, settings: GateSettings) -> str | None:
    """Why this odometry can't be used, or None."""
    values = odometry.state.tolist()  # thirteen plain numbers are looked at sooner than arrays of three
    if not all(map(math.isfinite, values)) or not math.isfinite(odometry.stamp_s):
        return "odometry is not finite"
    norm = math.hypot(*values[ATTITUDE])
    if abs(norm - 1.0) > 0.05:
        return f"odometry quaternion has length {norm:.3f}, expected 1"
    if max(map(abs, values[VELOCITY])) > 5 or max(map(abs, values[RATE])) > 20:
        return "odometry velocity is beyond 5 m/s or 20 rad/s"
    age = t_s - odometry.stamp_s
    if age > settings.odometry_age_s:
        return f"odometry is {age:.2f} s old, expected at most {settings.odometry_age_s:.2f} s"
    if age < -settings.future_s:
        return f"odometry is stamped {-age:.2f} s in the future"
    return None


class Gate:
    """Remembers how long things have gone wrong: last plan, then station keeping, then zero thrust."""

    def __init__(self, settings: GateSettings) -> None:
        self.settings = settings
        self._since_s: float | None = None

    def fine(self) -> None:
        """The solver is in charge again."""
        self._since_s = None

    def fallback(self, t_s: float, has_plan: bool, has_state: bool) -> Mode:
        """Who steers now."""
        if self._since_s is None:
            self._since_s = t_s
        gone_s = t_s - self._since_s
        if has_plan and gone_s < self.settings.plan_s:
            return Mode.SHIFTED_PLAN
        return Mode.STATION_KEEPING if has_state else Mode.ZERO_THRUST
