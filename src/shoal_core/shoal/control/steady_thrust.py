"""Thrust that keeps a wanted motion against weight, drag, current and what the model does not explain."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Buffered, compiled
from shoal.messages.state import TWIST, VELOCITY
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import Structure, mass_matrix, parameter_vector, structure_of

Array = NDArray[np.float64]
PARTS = {"velocity": 3, "yaw": 1, "current": 3, "wrench": 6}


@lru_cache(maxsize=8)
def _function(structure: Structure) -> ca.Function:
    """(velocity NED, yaw, current, wrench, theta, thrust against an acceleration n×6, least, most) → thrust."""
    n = structure.thruster_count
    velocity, yaw, current, wrench = (ca.SX.sym(name, size) for name, size in PARTS.items())
    theta, against = ca.SX.sym("theta", structure.length), ca.SX.sym("against", n, 6)
    lower, upper = ca.SX.sym("lower", n), ca.SX.sym("upper", n)
    c, s = ca.cos(yaw), ca.sin(yaw)
    x = ca.SX(13, 1)  # level, at the origin, not turning
    x[3], x[6] = ca.cos(yaw / 2), ca.sin(yaw / 2)
    x[VELOCITY] = ca.vertcat(c * velocity[0] + s * velocity[1], c * velocity[1] - s * velocity[0], velocity[2])
    acceleration = ode_function(structure)(x, ca.SX(n, 1), current, wrench, theta)[TWIST]
    thrust = ca.densify(ca.fmin(ca.fmax(against @ acceleration, lower), upper))
    return compiled(
        ca.Function("steady_thrust", [velocity, yaw, current, wrench, theta, against, lower, upper], [thrust])
    )


def wrench_to_inputs(vehicle: Vehicle) -> Array:
    """(n,6): the least inputs for a wrench, as far as there are any; axes that cannot be steered are left alone."""
    if len(vehicle.controlled_axes) == 6:
        return np.asarray(np.linalg.pinv(vehicle.input_matrix))
    return np.asarray(Allocator(vehicle).free_gain)


class SteadyThrust:
    """Feed-forward for level motion at a constant velocity."""

    def __init__(self, vehicle: Vehicle) -> None:
        structure = structure_of(vehicle)
        self._call = Buffered(_function(structure))
        against = -wrench_to_inputs(vehicle) @ mass_matrix(vehicle)  # thrust against an acceleration
        self._inputs = self._call.inputs[:4]
        fixed = parameter_vector(vehicle, structure), against.T.ravel(), vehicle.thrust_min_N, vehicle.thrust_max_N
        for buffer, value in zip(self._call.inputs[4:], fixed, strict=True):
            buffer[:] = value

    def __call__(self, velocity_mps: Array, yaw_rad: float, wrench: Array, current_mps: Array) -> Array:
        """(n,) within the limits; velocity NED."""
        i = self._inputs
        i[0][:], i[1][0], i[2][:], i[3][:] = velocity_mps, yaw_rad, current_mps, wrench
        self._call.call()
        return self._call.outputs[0].copy()
