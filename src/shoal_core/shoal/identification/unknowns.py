"""What a fit may change of a vehicle: each unknown with its prior, and the way to the model's numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.description import AXES, Heave, Vehicle

Array = NDArray[np.float64]
RELATIVE = 0.3  # one sigma of a coefficient from a vehicle file
WAYS = ("heave_dive", "heave_rise")
OF_HEAVE = {
    "added_mass": "added_mass_kg", "linear_damping": "linear_Nspm", "quadratic_damping": "quadratic_Ns2pm2",
}  # fmt: skip
FLOOR = 0.1  # … of the largest of its kind, for coefficients that the file has as zero


@dataclass(frozen=True)
class Unknown:
    """One number to be found."""

    name: str
    unit: str
    prior: float
    sigma: float
    apply: Callable[[Vehicle, float], Vehicle] | None  # None: not a number of the vehicle
    axis: int | None = None  # which has to be moved for it to be seen
    least: float = -np.inf  # it never gets below this


def vehicle_unknowns(vehicle: Vehicle) -> list[Unknown]:
    """Added masses, linear and quadratic damping, net weight, righting arm."""
    found = []
    for key, units in (
        ("added_mass", ("kg", "kg m²")),
        ("linear_damping", ("N s/m", "N m s")),
        ("quadratic_damping", ("N s²/m²", "N m s²")),
    ):
        diagonal = np.diag(getattr(vehicle, key))
        for i, axis in enumerate(AXES):
            largest = float(diagonal[3 * (i // 3) : 3 * (i // 3) + 3].max())
            sigma = max(RELATIVE * float(diagonal[i]), FLOOR * largest, 1e-6)
            least = 0.0
            if key == "added_mass":  # the mass in the file may be off as well
                dry = vehicle.mass_kg if i < 3 else float(vehicle.inertia_kgm2[i - 3, i - 3])
                sigma, least = max(sigma, 0.2 * dry), -0.9 * dry
            found.append(
                Unknown(
                    f"{axis} {key.replace('_', ' ')}", units[i // 3], float(diagonal[i]), sigma, _diagonal(key, i), i,
                    least,
                )
            )  # fmt: skip
    # The mass couples surge with pitch and sway with roll where the CG is off the origin. Held at a wrong value it
    # would set the scale of all thrust.
    found.append(Unknown("mass", "kg", vehicle.mass_kg, 0.2 * vehicle.mass_kg, _mass, least=0.1 * vehicle.mass_kg))
    net_N = vehicle.weight_N - vehicle.buoyancy_N
    found.append(Unknown("net weight", "N", net_N, 3.0, _net_weight, 2))
    arm_m = float(vehicle.cg_m[2] - vehicle.cb_m[2])
    found.append(Unknown("righting arm", "m", arm_m, max(0.3 * abs(arm_m), 0.005), _righting_arm))
    return found


def apply_all(vehicle: Vehicle, unknowns: list[Unknown], values: Array) -> Vehicle:
    """The vehicle with these values."""
    for unknown, value in zip(unknowns, values.tolist(), strict=True):
        if unknown.apply is not None:
            vehicle = unknown.apply(vehicle, value)
    return vehicle


def _diagonal(key: str, i: int) -> Callable[[Vehicle, float], Vehicle]:
    def apply(vehicle: Vehicle, value: float) -> Vehicle:
        matrix = getattr(vehicle, key).copy()
        was, matrix[i, i] = float(matrix[i, i]), value
        changed: dict[str, Array | Heave | None] = {key: matrix}
        if AXES[i] == "heave" and was != 0:  # where diving and rising differ, these are what the model moves by
            for way in WAYS:
                changed[way] = _multiplied(getattr(vehicle, way), OF_HEAVE[key], value / was)
        return replace(vehicle, **changed)  # type: ignore[arg-type]  # one of the three matrices, and heave

    return apply


def _multiplied(heave: Heave | None, name: str, by: float) -> Heave | None:
    return heave and replace(heave, **{name: by * getattr(heave, name)})


def _mass(vehicle: Vehicle, value: float) -> Vehicle:
    """Weight and buoyancy stay: they are found by themselves."""
    return replace(vehicle, mass_kg=value)


def _net_weight(vehicle: Vehicle, value: float) -> Vehicle:
    return replace(vehicle, weight_N=vehicle.buoyancy_N + value)


def _righting_arm(vehicle: Vehicle, value: float) -> Vehicle:
    centre = vehicle.cb_m.copy()
    centre[2] = vehicle.cg_m[2] - value
    return replace(vehicle, cb_m=centre)
