"""What a controller that still steers has to say: it can be at work and in trouble all the same."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

MODEL = "the model does not fit the vehicle: a large force is unexplained"
WEIGHED = "the described mass does not fit the weight: another one is used"
UNSURE = "the measured position scatters: waiting for a better estimate"
LIMIT = "a hard limit of sight or distance cannot be kept"


class MonitorSettings(BaseModel):
    """From where on something is worth a word."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    unexplained_N: float = Field(default=60.0, gt=0, description="about all that the thrusters of a BlueROV2 can lift")
    unexplained_Nm: float = Field(default=15.0, gt=0)
    weigh_N: float = Field(
        default=260.0, gt=0, description="unexplained weight, four times what can be lifted: the mass must be wrong"
    )
    late_s: float = Field(default=2.0, gt=0, description="age of a neighbour's plan")
    hard_slack: float = Field(default=0.02, gt=0, description="planned violation, in metres or as a cosine")
    linger_s: float = Field(default=2.0, ge=0, description="how long a word stands after its reason has gone")


class HealthMonitor:
    """Says things for a while, so that what comes and goes ten times a second is one piece of news."""

    def __init__(self, settings: MonitorSettings) -> None:
        self.settings = settings
        self._until_s: dict[str, float] = {}

    def check(
        self, t_s: float, wrench: NDArray[np.float64], ages_s: dict[str, float], slack_hard: float
    ) -> tuple[str, ...]:
        """Sentences, without figures: one that changes would be news each time."""
        s = self.settings
        values = wrench.tolist()
        found = []
        if math.hypot(*values[:3]) > s.unexplained_N or math.hypot(*values[3:]) > s.unexplained_Nm:
            found.append(MODEL)
        if slack_hard > s.hard_slack:
            found.append(LIMIT)
        found += [late(name) for name, age in ages_s.items() if age > s.late_s]
        if not found and not self._until_s:
            return ()
        for sentence in found:
            self._until_s[sentence] = t_s + s.linger_s
        self._until_s = {w: until for w, until in self._until_s.items() if t_s <= until <= t_s + s.linger_s}
        return tuple(self._until_s)


def late(name: str) -> str:
    """What is said of a neighbour whose news is old."""
    return f"plans of {name} come late"
