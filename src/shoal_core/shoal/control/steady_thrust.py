"""Thrust that a wanted motion needs, against weight, drag, current and what the model does not explain."""

from __future__ import annotations

import math
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Buffered, compiled
from shoal.messages.state import TWIST, VELOCITY
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import Structure, mass_matrix, parameter_vector, roomy_structure

Array = NDArray[np.float64]
JUMP_MPS2 = 0.5  # a reference that changes its speed faster than this is one that jumps
PARTS = {"velocity": 3, "acceleration": 3, "attitude": 4, "current": 3, "wrench": 6}


@lru_cache(maxsize=16)
def _function(structure: Structure, points: int = 1) -> ca.Function:
    """Thrust (n) for each of so many points of a motion.

    Velocity (NED), acceleration (NED) and attitude (of which the heading counts) of each point; current, wrench,
    theta, thrust against an acceleration n×6, least and most of all of them.
    """
    n = structure.thruster_count
    velocity, pace, attitude, current, wrench = (ca.SX.sym(name, size) for name, size in PARTS.items())
    theta, against = ca.SX.sym("theta", structure.length), ca.SX.sym("against", n, 6)
    lower, upper = ca.SX.sym("lower", n), ca.SX.sym("upper", n)
    w, i, j, k = ca.vertsplit(attitude)
    yaw = ca.atan2(2 * (w * k + i * j), 1 - 2 * (j**2 + k**2))
    c, s = ca.cos(yaw), ca.sin(yaw)

    def level(v: ca.SX) -> ca.SX:
        return ca.vertcat(c * v[0] + s * v[1], c * v[1] - s * v[0], v[2])

    x = ca.SX(13, 1)  # level, at the origin, not turning
    x[3], x[6] = ca.cos(yaw / 2), ca.sin(yaw / 2)
    x[VELOCITY] = level(velocity)
    unforced = ode_function(structure)(x, ca.SX(n, 1), current, wrench, theta)[TWIST]
    missing = unforced - ca.vertcat(level(pace), ca.SX(3, 1))
    thrust = ca.densify(ca.fmin(ca.fmax(against @ missing, lower), upper))
    arguments = [velocity, pace, attitude, current, wrench, theta, against, lower, upper]
    one = ca.Function("thrust_along", arguments, [thrust])
    if points == 1:
        return compiled(one)
    given = [ca.MX.sym(f"a{i}", v.shape[0], points if i < 3 else v.shape[1]) for i, v in enumerate(arguments)]
    along = one.map(f"thrust_along_{points}", "serial", points, list(range(3, len(given))), [])
    return compiled(ca.Function(f"thrust_along_{points}", given, along.call(given)))


def wrench_to_inputs(vehicle: Vehicle) -> Array:
    """(n,6): the least inputs for a wrench, as far as there are any; axes that cannot be steered are left alone."""
    if len(vehicle.controlled_axes) == 6:
        return np.asarray(np.linalg.pinv(vehicle.input_matrix))
    return np.asarray(Allocator(vehicle).free_gain)


class ThrustAlong:
    """Feed-forward for level motion through a number of points: weight, water, what is unexplained, and inertia."""

    def __init__(self, vehicle: Vehicle, points: int) -> None:
        structure = roomy_structure(vehicle)
        self._call = Buffered(_function(structure, points))
        against = -wrench_to_inputs(vehicle) @ mass_matrix(vehicle)  # thrust against an acceleration
        self._shape, self._count = (points, structure.thruster_count), vehicle.input_count
        self._inputs = self._call.inputs[:5]
        spare = structure.thruster_count - self._count  # inputs that only fill up
        limits_N = [np.pad(limit_N, (0, spare)) for limit_N in (vehicle.thrust_min_N, vehicle.thrust_max_N)]
        fixed = parameter_vector(vehicle, structure), np.pad(against.T, ((0, 0), (0, spare))).ravel(), *limits_N
        for buffer, value in zip(self._call.inputs[5:], fixed, strict=True):
            buffer[:] = value

    def __call__(
        self, velocities_mps: Array, accelerations_mps2: Array, attitudes: Array, wrench: Array, current_mps: Array
    ) -> Array:
        """(K,n) within the limits; velocities and accelerations (K,3) in NED, attitudes (K,4)."""
        given = velocities_mps, accelerations_mps2, attitudes, current_mps, wrench
        for buffer, value in zip(self._inputs, given, strict=True):
            buffer[:] = value.ravel()
        self._call.call()
        return self._call.outputs[0].reshape(self._shape)[:, : self._count].copy()


class SteadyThrust:
    """Feed-forward for level motion at a constant velocity."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._along = ThrustAlong(vehicle, 1)

    def __call__(self, velocity_mps: Array, yaw_rad: float, wrench: Array, current_mps: Array) -> Array:
        """(n,) within the limits; velocity NED."""
        attitude = np.array([math.cos(yaw_rad / 2), 0.0, 0.0, math.sin(yaw_rad / 2)])
        return np.asarray(self._along(velocity_mps, np.zeros(3), attitude, wrench, current_mps)[0])


def accelerations(velocities_mps: Array, steps_s: Array) -> Array:
    """(K,3) over each of so many steps, of velocities (K+1,3); none where the velocity jumps."""
    found = np.diff(velocities_mps, axis=0) / steps_s[:, None]
    found[np.einsum("ij,ij->i", found, found) > JUMP_MPS2**2] = 0.0
    return np.asarray(found)
