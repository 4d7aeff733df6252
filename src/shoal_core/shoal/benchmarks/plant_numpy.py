"""The plant step as one would write it in plain numpy: what the compiled one is measured against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.frames import skew
from shoal.messages.state import ATTITUDE, TWIST
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix, rigid_body_mass

Array = NDArray[np.float64]


class NumpyPlant:
    """One vehicle (same added mass and damping in both heave directions), its thrusters with lag, limits, dead band."""

    def __init__(self, vehicle: Vehicle) -> None:
        self.vehicle = vehicle
        self.inverse_mass = np.linalg.inv(mass_matrix(vehicle))
        self.rigid, self.added, self.b = rigid_body_mass(vehicle), vehicle.added_mass, vehicle.thrust_matrix
        self.linear, self.quadratic = np.diag(vehicle.linear_damping), np.diag(vehicle.quadratic_damping)
        self.lower, self.upper = vehicle.thrust_min_N, vehicle.thrust_max_N
        self.lag = np.maximum([t.time_constant_s for t in vehicle.thrusters], 1e-9)
        self.dead_band = np.array([t.dead_band_N for t in vehicle.thrusters])

    def step(self, x: Array, forces: Array, command: Array, current: Array, dt: float) -> tuple[Array, Array]:
        """One RK4 step of the body (13,), exact step of the lag (n,)."""
        target = np.clip(command, self.lower, self.upper)
        target = np.where(np.abs(target) < self.dead_band, 0.0, target)
        decay = np.exp(-dt / self.lag)
        forces_next = target + (forces - target) * decay
        tau = self.b @ (target + (forces - target) * (1 - decay) * self.lag / dt)
        k1 = self._ode(x, tau, current)
        k2 = self._ode(x + dt / 2 * k1, tau, current)
        k3 = self._ode(x + dt / 2 * k2, tau, current)
        k4 = self._ode(x + dt * k3, tau, current)
        x_next = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        x_next[ATTITUDE] /= np.linalg.norm(x_next[ATTITUDE])
        return x_next, forces_next

    def _ode(self, x: Array, tau: Array, current: Array) -> Array:
        v = self.vehicle
        q, nu = x[ATTITUDE], x[TWIST]
        s = skew(q[1:4])
        r = np.eye(3) + 2 * q[0] * s + 2 * s @ s
        water = r.T @ current
        nu_r = np.concatenate([nu[:3] - water, nu[3:]])
        down = r[2]
        weight, buoyancy = v.weight_N * down, -v.buoyancy_N * down
        restoring = np.concatenate([weight + buoyancy, np.cross(v.cg_m, weight) + np.cross(v.cb_m, buoyancy)])
        load = tau + restoring - _coriolis(self.rigid + self.added, nu_r) @ nu_r
        load -= self.linear * nu_r + self.quadratic * np.abs(nu_r) * nu_r
        nu_dot = self.inverse_mass @ load
        nu_dot[:3] -= np.cross(nu[3:], water)
        q_dot = 0.5 * np.concatenate([[-q[1:4] @ nu[3:]], q[0] * nu[3:] + s @ nu[3:]])
        return np.concatenate([r @ nu[:3], q_dot, nu_dot])


def _coriolis(m: Array, nu: Array) -> Array:
    linear = skew(m[:3] @ nu)
    return np.block([[np.zeros((3, 3)), -linear], [-linear, -skew(m[3:] @ nu)]])
