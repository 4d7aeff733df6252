"""Thrust that keeps a wanted motion against weight, drag, current and what the model does not explain."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Buffered, compiled
from shoal.messages.state import TWIST, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]


class SteadyThrust:
    """Feed-forward for level motion at a constant velocity."""

    def __init__(self, vehicle: Vehicle) -> None:
        model = VehicleModel(vehicle)
        self._ode = Buffered(compiled(model.ode))
        self._ode.inputs[4][:] = model.theta
        self._against = -np.linalg.pinv(vehicle.thrust_matrix) @ mass_matrix(vehicle)  # thrust against an acceleration
        self._lower, self._upper = vehicle.thrust_min_N, vehicle.thrust_max_N

    def __call__(self, velocity_mps: Array, yaw_rad: float, wrench: Array, current_mps: Array) -> Array:
        """(n,) within the limits; velocity NED."""
        c, s = math.cos(yaw_rad), math.sin(yaw_rad)
        north, east, down = velocity_mps.tolist()
        i = self._ode.inputs  # level, at the origin, not turning; thrust, the second input, stays zero
        i[0][3], i[0][6] = math.cos(yaw_rad / 2), math.sin(yaw_rad / 2)
        i[0][VELOCITY] = c * north + s * east, c * east - s * north, down
        i[2][:], i[3][:] = current_mps, wrench
        self._ode.call()
        thrust = self._against @ self._ode.outputs[0][TWIST]
        return np.minimum(np.maximum(thrust, self._lower), self._upper)
