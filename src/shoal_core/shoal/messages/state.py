"""A vehicle's state with named parts: position in NED, attitude body to NED, velocities in the body frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SIZE = 13

# The parts of a state array (…, 13): `states[..., POSITION]`. They work on CasADi's vectors as well.
POSITION = slice(0, 3)  # m, NED
ATTITUDE = slice(3, 7)  # [eta e1 e2 e3], body to NED
VELOCITY = slice(7, 10)  # m/s, body
RATE = slice(10, 13)  # rad/s, body
TWIST = slice(7, 13)  # velocity and rate


@dataclass(frozen=True)
class State:
    """Named views over one array (…, 13); writing to a view writes to the array."""

    array: Array  # (…, 13)

    @property
    def position_m(self) -> Array:
        """(…, 3) NED."""
        return self.array[..., POSITION]

    @property
    def attitude(self) -> Array:
        """(…, 4) quaternion [eta e1 e2 e3], body to NED."""
        return self.array[..., ATTITUDE]

    @property
    def velocity_mps(self) -> Array:
        """(…, 3) body."""
        return self.array[..., VELOCITY]

    @property
    def rate_radps(self) -> Array:
        """(…, 3) body."""
        return self.array[..., RATE]

    @staticmethod
    def at_rest(position_m: Array | tuple[float, float, float], yaw_rad: float = 0.0) -> State:
        """Level and still."""
        array = np.zeros(SIZE)
        array[POSITION], array[3], array[6] = position_m, math.cos(yaw_rad / 2), math.sin(yaw_rad / 2)
        return State(array)
