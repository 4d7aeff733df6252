"""Two mixers of ArduSub, from normalised axes u (6) in −1 … 1 to device signals, to compare the allocation with.

P. J. Ng, MSc thesis, University of Hawaii at Manoa 2024, appendix B. Algorithm 1 is ArduSub's own up to 4.5, a
heuristic; Algorithm 2 takes u as a share of the largest wrench, through the pseudo-inverse and the thrust curve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.curves import Curve, load_table
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
HALF_RANGE_US = 400.0
MixerName = Literal["bounded", "quantitative", "heuristic"]
_PLANE = (0, 1, 5)  # surge, sway, yaw: one group of the heuristic, the others are the second


def device_matrix(vehicle: Vehicle) -> Array:
    """T (6×n) for forces along each device's own positive direction."""
    return vehicle.input_matrix * np.array([-1.0 if t.reversed else 1.0 for t in vehicle.thrusters])


def largest_wrench(vehicle: Vehicle) -> Array:
    """τ_max (6,): every thruster at the limit whose sign helps the axis, whatever else it does (Ng 2024, 3.3)."""
    matrix = np.where(_signs(vehicle.input_matrix) != 0, vehicle.input_matrix, 0.0)
    helps = matrix * np.where(matrix > 0, vehicle.input_max_N, vehicle.input_min_N)
    return np.asarray(helps.sum(axis=1))


def heuristic(vehicle: Vehicle, axes: Array, neutral_us: float = 1500.0) -> Array:
    """Algorithm 1: signs instead of levers, each group shortened to its own largest, effort taken for force."""
    signs = _signs(device_matrix(vehicle))
    planes = np.isin(np.arange(6), _PLANE)
    effort = np.zeros(signs.shape[1])
    for group in (~planes, planes):
        share = axes[group] @ signs[group]
        effort += share / max(1.0, float(np.abs(share).max()))
    return neutral_us + HALF_RANGE_US * np.clip(effort, -1.0, 1.0)


def quantitative(vehicle: Vehicle, axes: Array, largest: Array, curve: Curve) -> Array:
    """Algorithm 2 (B.3): m = T⁺ diag(τ_max) u through the inverse thrust curve; what is too much is cut off."""
    return curve.signal(np.linalg.pinv(device_matrix(vehicle)) @ (largest * axes))


def mixer(vehicle: Vehicle, name: MixerName = "bounded") -> Callable[[Array], Array]:
    """From a body wrench (6,) to forces (n,) of the inputs.

    `bounded`: least squares within the limits. `quantitative`: Algorithm 2 with the curve known exactly, so that only
    the cut-off is left of it. `heuristic`: Algorithm 1 on T200 thrusters with the vehicle's limits.
    """
    if name == "bounded":
        return Allocator(vehicle)
    lower, upper = vehicle.input_min_N, vehicle.input_max_N
    if len(vehicle.thrusters) != vehicle.input_count:
        raise ShoalError(f"mixer = '{name}': vehicle '{vehicle.name}' has azimuth thrusters; expected bounded")
    if name == "quantitative":
        inverse = np.linalg.pinv(vehicle.input_matrix)
        return lambda wrench: np.minimum(np.maximum(inverse @ wrench, lower), upper)
    largest, curve = largest_wrench(vehicle), load_table("t200").at(16.0)
    ahead = np.array([-1.0 if t.reversed else 1.0 for t in vehicle.thrusters])
    forward, backward = np.where(ahead > 0, upper, -lower), np.where(ahead > 0, -lower, upper)

    def by_signs(wrench: Array) -> Array:
        axes = np.divide(wrench, largest, out=np.zeros(6), where=largest > 0)
        force = curve.force_N(np.trunc(heuristic(vehicle, np.clip(axes, -1.0, 1.0))))
        share = np.where(force > 0, force / curve.forces_N[-1] * forward, -force / curve.forces_N[0] * backward)
        return np.asarray(ahead * share)

    return by_signs


def produced(vehicle: Vehicle, signals: Array, curve: Curve) -> Array:
    """The body wrench (6,) of signals to the devices."""
    return np.asarray(device_matrix(vehicle) @ curve.force_N(signals))


def _signs(matrix: Array) -> Array:
    """±1 where a thruster is meant for an axis: small couplings do not count (Ng 2024, B.1)."""
    strong = np.abs(matrix) >= 0.6 * np.abs(matrix).max(axis=1, keepdims=True)
    return np.where(strong & (np.abs(matrix) > 1e-9), np.sign(matrix), 0.0)
