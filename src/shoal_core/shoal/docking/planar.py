"""The planar vehicle of Nielsen 2018 (8.3–8.5): x = [N E ψ u v r], M ν̇ + D ν = τ, η̇ = R(ψ) ν. RK4, one force a step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Buffered
from shoal.vehicles.dynamics import rk4

Array = NDArray[np.float64]
Triple = tuple[float, float, float]
NX, NU = 6, 3


@dataclass(frozen=True)
class PlanarVehicle:
    """Table 8.1; the same number for each vehicle there."""

    mass: Triple = (10.0, 10.0, 1.0)  # kg, kg, kg m²
    damping: Triple = (30.0, 30.0, 1.0)  # N s/m, N s/m, N m s
    limits: Triple = (5.0, 5.0, 1.5)  # N, N, N m


class Prediction:
    """States over a horizon, and how they depend on the forces."""

    def __init__(self, vehicle: PlanarVehicle, horizon: int, period_s: float) -> None:
        self.horizon = horizon
        self._rollout = Buffered(_rollout(vehicle, horizon, period_s))

    def __call__(self, state: Array, forces: Array) -> tuple[Array, Array]:
        """States (N,6) after each step and their derivatives (6N,3N), of forces (N,3)."""
        self._rollout.inputs[0][:] = state
        self._rollout.inputs[1][:] = forces.ravel()
        self._rollout.call()
        states, jacobian = self._rollout.outputs
        size = self.horizon
        return states.reshape(size, NX).copy(), jacobian.reshape(NU * size, NX * size).T


@cache
def _rollout(vehicle: PlanarVehicle, horizon: int, period_s: float) -> ca.Function:
    start, forces = ca.SX.sym("x", NX), ca.SX.sym("u", NU, horizon)
    x, states = start, []
    for k in range(horizon):
        u = forces[:, k]
        x = rk4(lambda y, u=u: _ode(vehicle, y, u), x, period_s)  # type: ignore[misc]
        states.append(x)
    everything = ca.vertcat(*states)
    jacobian = ca.densify(ca.jacobian(everything, ca.vec(forces)))
    return ca.Function("planar_rollout", [start, ca.vec(forces)], [everything, jacobian])


def _ode(vehicle: PlanarVehicle, x: ca.SX, u: ca.SX) -> ca.SX:
    c, s = ca.cos(x[2]), ca.sin(x[2])
    north_east_yaw = ca.vertcat(c * x[3] - s * x[4], s * x[3] + c * x[4], x[5])
    return ca.vertcat(north_east_yaw, (u - ca.DM(vehicle.damping) * x[3:6]) / ca.DM(vehicle.mass))


@dataclass(frozen=True)
class Camera:
    """A cone in the plane (8.9, 8.10)."""

    axis_rad: float  # φ, from the bow, positive to starboard
    half_angle_rad: float = math.radians(25.0)  # α

    def bearing_rad(self, states: Array, targets_m: Array) -> Array:
        """Off the axis, (…); states (…,6), targets (…,2)."""
        away = targets_m - states[..., :2]
        angle = np.arctan2(away[..., 1], away[..., 0]) - states[..., 2] - self.axis_rad
        return np.asarray((angle + math.pi) % (2 * math.pi) - math.pi)

    def rows(self, states: Array, targets_m: Array) -> tuple[Array, Array, Array]:
        """Both half-planes at each of K steps: values (K,2), ≤ 0 inside, by own pose (K,2,3), by the target (K,2,2).

        n⁺e = d sin(β − ξ − α) and n⁻e = d sin(ξ − α − β): metres outside the cone's edge.
        """
        xi, alpha = states[:, 2] + self.axis_rad, self.half_angle_rad
        normals = np.stack(
            [
                np.stack([-np.sin(xi + alpha), np.cos(xi + alpha)], axis=1),
                np.stack([np.sin(xi - alpha), -np.cos(xi - alpha)], axis=1),
            ],
            axis=1,
        )  # (K,2,2)
        by_heading = np.stack(
            [
                np.stack([-np.cos(xi + alpha), -np.sin(xi + alpha)], axis=1),
                np.stack([np.cos(xi - alpha), np.sin(xi - alpha)], axis=1),
            ],
            axis=1,
        )
        away = targets_m - states[:, :2]
        values = np.einsum("kri,ki->kr", normals, away)
        turned = np.einsum("kri,ki->kr", by_heading, away)
        return values, np.concatenate([-normals, turned[:, :, None]], axis=2), normals
