"""How much of its thrust a vehicle needs for a motion: what says whether a path is too fast for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]


class MotionEffort:
    """Of a level vehicle that swims without turning, in still water."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._mass = mass_matrix(vehicle)[:, :3]  # (6,3)
        self._linear, self._quadratic = vehicle.linear_damping[:, :3].copy(), vehicle.quadratic_damping[:, :3].copy()
        heave = [h for h in (vehicle.heave_dive, vehicle.heave_rise) if h is not None]
        if heave:  # the worse direction counts
            self._linear[2, 2] = max(h.linear_Nspm for h in heave)
            self._quadratic[2, 2] = max(h.quadratic_Ns2pm2 for h in heave)
        self._net_N = np.array([0.0, 0.0, vehicle.buoyancy_N - vehicle.weight_N, 0.0, 0.0, 0.0])
        self._inputs = np.linalg.pinv(vehicle.input_matrix)  # (n,6)
        self._most, self._least = vehicle.input_max_N, vehicle.input_min_N

    def share(self, velocity_mps: Array, acceleration_mps2: Array, yaw_rad: float) -> Array:
        """Of the limits (K,), 1: all of the busiest thruster's; velocity and acceleration (K,3) NED."""
        c, s = np.cos(yaw_rad), np.sin(yaw_rad)
        body = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]).T
        v, a = velocity_mps @ body, acceleration_mps2 @ body
        wrench = a @ self._mass.T + v @ self._linear.T + (np.abs(v) * v) @ self._quadratic.T + self._net_N
        thrust = wrench @ self._inputs.T  # (K,n)
        limit = np.where(thrust > 0, self._most, -self._least)
        shares: Array = np.max(np.abs(thrust) / np.maximum(limit, 1e-9), axis=1)
        return shares
