"""From a wanted wrench to thruster forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


def allocate(vehicle: Vehicle, wrench: Array) -> Array:
    """Thrust (n,) that gives the body wrench (6,): the least there is, or as much of the wrench as the limits allow.

    Too large a wrench keeps its direction: a vehicle that asks for too much goes slower, not elsewhere.
    """
    thrust = np.linalg.pinv(vehicle.thrust_matrix) @ wrench
    if np.all(thrust <= vehicle.thrust_max_N) and np.all(thrust >= vehicle.thrust_min_N):
        return np.asarray(thrust)
    return largest(vehicle, wrench, 1.0)[0]


def largest(vehicle: Vehicle, wrench: Array, most: float | None = None) -> tuple[Array, float]:
    """Thrust (n,) and the largest factor ≤ `most` for which `factor · wrench` is within the thrusters' limits."""
    count = len(vehicle.thrusters)
    result = linprog(
        np.append(np.zeros(count), -1.0),
        A_eq=np.column_stack([vehicle.thrust_matrix, -wrench]),
        b_eq=np.zeros(6),
        bounds=[*zip(vehicle.thrust_min_N, vehicle.thrust_max_N, strict=True), (0, most)],
    )
    return np.asarray(result.x[:count]), float(result.x[-1])
