"""What a controller that still steers should report: it can be at work and in trouble all the same."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.messages.health import Code, Issue, Severity
from shoal.vehicles.scale import scales_with


class MonitorSettings(FileModel):
    """From where on something is reported."""

    unexplained_N: float = Field(
        default=60.0,
        gt=0,
        description="about all that the thrusters of a BlueROV2 can lift",
        json_schema_extra=scales_with("force"),
    )
    unexplained_Nm: float = Field(
        default=15.0,
        gt=0,
        json_schema_extra=scales_with("moment"),
        description="moment that the model does not explain, from which it is reported",
    )
    late_s: float = Field(default=2.0, gt=0, description="age of a neighbour's plan")
    hard_slack: float = Field(default=0.02, gt=0, description="planned violation, in metres or as a cosine")
    linger_s: float = Field(default=2.0, ge=0, description="how long an issue stands after its reason has gone")


class HealthMonitor:
    """Keeps issues standing for a while, so that what comes and goes ten times a second is one message."""

    def __init__(self, settings: MonitorSettings) -> None:
        self.settings = settings
        self._standing: dict[tuple[Code, str], tuple[Issue, float]] = {}  # issue, until when

    def note(self, t_s: float, issue: Issue) -> None:
        """Something that has happened: stands for a while."""
        self._standing[issue.key] = (issue, t_s + self.settings.linger_s)

    def check(
        self, t_s: float, wrench: NDArray[np.float64], ages_s: dict[str, float], slack_hard: float
    ) -> tuple[Issue, ...]:
        """The issues of now, and those that linger."""
        s = self.settings
        values = wrench.tolist()
        force_N = math.hypot(*values[:3])
        found = []
        if force_N > s.unexplained_N or math.hypot(*values[3:]) > s.unexplained_Nm:
            found.append(Issue(Code.MODEL_MISMATCH, Severity.WARNING, value=force_N))
        if slack_hard > s.hard_slack:
            found.append(Issue(Code.LIMIT_INFEASIBLE, Severity.WARNING, value=slack_hard))
        found += [Issue(Code.STALE_PLAN, Severity.WARNING, n, age) for n, age in ages_s.items() if age > s.late_s]
        if not found and not self._standing:
            return ()
        for issue in found:
            self._standing[issue.key] = (issue, t_s + s.linger_s)
        self._standing = {k: v for k, v in self._standing.items() if t_s <= v[1] <= t_s + s.linger_s}
        return tuple(issue for issue, _ in self._standing.values())
