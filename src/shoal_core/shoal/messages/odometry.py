"""One vehicle's measured motion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Odometry:
    """Pose in NED, twist in the body frame, as measured at `stamp_s`."""

    stamp_s: float
    position_m: Array  # (3,) NED
    quaternion: Array  # (4,) [eta e1 e2 e3], body to NED
    velocity_mps: Array  # (3,) body
    rate_radps: Array  # (3,) body

    @cached_property
    def state(self) -> Array:
        """The 13-vector [p q v w]; not to be written to."""
        return np.concatenate([self.position_m, self.quaternion, self.velocity_mps, self.rate_radps])

    @staticmethod
    def from_state(stamp_s: float, state: Array) -> Odometry:
        """Split a 13-vector."""
        return Odometry(stamp_s, state[0:3].copy(), state[3:7].copy(), state[7:10].copy(), state[10:13].copy())
