"""Gains of the attitude law from one knob, the bandwidth ω_d (Ng 2024, ch. 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
KAPPA = 20.0  # N m s · (rad/s)²: additional damping κ/ω_d² (5.23)
# Effective linear yaw damping of the trimmed model. Not printed in Ng 2024; calibrated to its stated step responses
# together with a latency of 0.04 s and a thruster lag of 0.10 s.
YAW_DAMPING_NMS = 5.88


@dataclass(frozen=True)
class AttitudeGains:
    """Of roll, pitch and yaw."""

    proportional: Array  # (3,) N m/rad
    derivative: Array  # (3,) N m s/rad, additional damping included


def effective_damping(vehicle: Vehicle, yaw_Nms: float = YAW_DAMPING_NMS) -> Array:
    """B̌ (3,) of the linearised rotations: yaw's, in proportion to each axis' inertia."""
    inertia = np.diag(mass_matrix(vehicle))[3:]
    return np.asarray(yaw_Nms * inertia / inertia[2])


def attitude_gains(
    vehicle: Vehicle, omega_radps: float, kappa: float = KAPPA, damping: Array | None = None
) -> AttitudeGains:
    """kP = ω² (I + I_A) (5.17), kD = 2 ω (I + I_A) − B̌ (5.18) + κ/ω² (5.23)."""
    inertia = np.diag(mass_matrix(vehicle))[3:]
    linear = effective_damping(vehicle) if damping is None else damping
    return AttitudeGains(omega_radps**2 * inertia, 2 * omega_radps * inertia - linear + kappa / omega_radps**2)


def closed_loop(vehicle: Vehicle, omega_radps: float, axis: int = 2) -> tuple[Array, Array]:
    """Numerator and denominator of H_L(s) (5.22), highest power first; without additional damping, as in Ng 2024."""
    gains = attitude_gains(vehicle, omega_radps, kappa=0.0)
    inertia, linear = np.diag(mass_matrix(vehicle))[3 + axis], effective_damping(vehicle)[axis]
    kp, kd = float(gains.proportional[axis]), float(gains.derivative[axis])
    return np.array([kd, kp]), np.array([inertia, linear + kd, kp])
