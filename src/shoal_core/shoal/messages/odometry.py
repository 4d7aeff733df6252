"""One vehicle's measured motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Odometry:
    """Pose in NED, twist in the body frame, as measured at `stamp_s`."""

    stamp_s: float
    state: Array  # (13,) see messages.state; not to be written to

    @property
    def position_m(self) -> Array:
        """(3,) NED."""
        return self.state[POSITION]

    @property
    def attitude(self) -> Array:
        """(4,) [eta e1 e2 e3], body to NED."""
        return self.state[ATTITUDE]

    @property
    def velocity_mps(self) -> Array:
        """(3,) body."""
        return self.state[VELOCITY]

    @property
    def rate_radps(self) -> Array:
        """(3,) body."""
        return self.state[RATE]

    @cached_property
    def is_finite(self) -> bool:
        """Whether it can be computed with; one number that is not finite spoils the sum."""
        return math.isfinite(float(self.state.sum()) + self.stamp_s)

    @staticmethod
    def of_parts(
        stamp_s: float, position_m: Array, attitude: Array, velocity_mps: Array, rate_radps: Array
    ) -> Odometry:
        """From arrays of three, four, three and three."""
        return Odometry(stamp_s, np.concatenate([position_m, attitude, velocity_mps, rate_radps]))
