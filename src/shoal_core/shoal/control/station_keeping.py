"""The simple controller behind the clever one: hold position and heading, level, by PD."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.control.steady_thrust import wrench_to_inputs
from shoal.frames import from_yaw, matrix, multiply, yaw_of
from shoal.messages.state import ATTITUDE, POSITION, TWIST
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]


class StationKeeping:
    """Holds the pose it was engaged at. Gains are per unit of the vehicle's own inertia, so any vehicle will do."""

    def __init__(self, vehicle: Vehicle, frequency_radps: float = 0.8, damping: float = 1.0) -> None:
        inertia = np.diag(mass_matrix(vehicle))
        self._stiffness = inertia * frequency_radps**2
        self._drag = inertia * 2 * damping * frequency_radps
        self._allocation = wrench_to_inputs(vehicle)
        self._lower, self._upper = vehicle.thrust_min_N, vehicle.thrust_max_N
        self._target: tuple[Array, float] | None = None

    def release(self) -> None:
        """The next call holds wherever the vehicle then is."""
        self._target = None

    def thrust(self, state: Array, steady_N: Array) -> Array:
        """Thrust (n,) within the limits; `steady_N` (n,) is what weight, water and model errors need at rest."""
        if self._target is None:
            self._target = (state[POSITION].copy(), yaw_of(state[ATTITUDE]))
        position, yaw = self._target
        r_bn = matrix(state[ATTITUDE])
        offset = position - state[POSITION]
        length = float(np.linalg.norm(offset))
        offset = offset * min(1.0, 1.0 / max(length, 1e-9))  # from afar: come back gently
        conjugate = state[ATTITUDE] * np.array([1, -1, -1, -1])
        error = multiply(conjugate, from_yaw(np.array([yaw]))[0])
        angle = 2 * np.sign(error[0] or 1.0) * error[1:]
        pull = self._stiffness * np.concatenate([r_bn.T @ offset, angle])
        thrust = steady_N + self._allocation @ (pull - self._drag * state[TWIST])
        worst = np.max(thrust / np.where(thrust >= 0, self._upper, self._lower))
        return np.asarray(thrust / max(1.0, worst))  # scaled as a whole: the direction of the wrench is kept
