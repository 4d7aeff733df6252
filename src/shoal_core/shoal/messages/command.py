"""What one control step gives: thrust for the actuators, a plan for the others, health for everybody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.messages.health import Health
from shoal.messages.plan import Plan


@dataclass(frozen=True)
class Command:
    """The output of a vehicle's runtime."""

    thrust_N: NDArray[np.float64]  # (n,)
    plan: Plan
    health: Health
    compute_s: float = 0.0  # how long it took to work out
