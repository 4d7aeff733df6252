"""A vessel's waterplane by what Gazebo has: boxes that its graded buoyancy cuts at the surface.

Gazebo cuts every collision as if it were level, at its own centre's height (gz-sim 8, Buoyancy::GradedFluidDensity). A
box of area A then pushes with ρ g A (h/2 - z), vertically, at its centre, and four of them around CO give

    heave  k_z = ρ g 4 A,    roll  k_z y²,    pitch  k_z x²,    each moment with the sine times the cosine of the angle

which is the core's energy of a waterplane. The contact plates count as well and are taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import frd_to_flu
from shoal.vehicles.actuators import Thruster
from shoal.vehicles.description import Vehicle

if TYPE_CHECKING:
    from shoal_gazebo.body import Plate, Water

Array = NDArray[np.float64]
AIR_KGPM3 = 1.2  # above the surface, as the shipped worlds have it
CORNERS = {"bow_port": (1, 1), "bow_starboard": (1, -1), "stern_port": (-1, 1), "stern_starboard": (-1, -1)}


def float_forces(boxes: Sequence[tuple[Array, Array]], water: Water) -> tuple[float, Array, Array]:
    """Of boxes (centre, size; FLU) with CO level in the surface: force (N), its moment arms (3,) N m, stiffness (3,).

    Arms: Σ F x, Σ F y, Σ F z. Stiffness in heave (N/m), roll, pitch (N m/rad), of weightless boxes alone.
    """
    force, arms, stiffness = 0.0, np.zeros(3), np.zeros(3)
    for center, size in boxes:
        x, y, z = center.tolist()
        area, height = float(size[0] * size[1]), float(size[2])
        wet = min(max(height / 2 - z, 0.0), height)
        lift = water.gravity_mps2 * area * (water.density_kgpm3 * wet + AIR_KGPM3 * (height - wet))
        force += lift
        arms += lift * center
        stiffness[1:] += lift * z  # a force that acts above CO rights, below it capsizes
        if 0.0 < wet < height:
            slope = water.gravity_mps2 * (water.density_kgpm3 - AIR_KGPM3) * area
            stiffness += slope * np.array([1.0, y * y, x * x])
    return force, arms, stiffness


def pontoons(vehicle: Vehicle, water: Water, plates: Sequence[Plate], make: type[Plate]) -> tuple[Plate, ...]:
    """Four boxes that make up, with the plates, for the vehicle's buoyancy and waterplane."""
    assert vehicle.waterplane is not None
    center = frd_to_flu(vehicle.cb_m)
    by_plates, _, plates_stiffness = float_forces([(p.center_m, p.size_m) for p in plates], water)
    heave, roll, pitch = (
        vehicle.waterplane + [0.0, *(vehicle.buoyancy_N * center[2],) * 2] - plates_stiffness
    ).tolist()
    rest = vehicle.buoyancy_N - by_plates
    if min(rest, heave, roll, pitch) <= 0 or np.abs(center[:2]).max() > 1e-9:
        raise ShoalError(
            f"{vehicle.name} ({vehicle.parameter_set}): buoyancy {vehicle.buoyancy_N:g} N with waterplane "
            f"{vehicle.waterplane.tolist()} leaves {rest:.3g} N, {heave:.3g} N/m, {roll:.3g} and {pitch:.3g} N m/rad "
            "beside the contact plates; expected more than nothing of each, and a centre of buoyancy amidships"
        )
    area = heave / (4 * water.gravity_mps2 * (water.density_kgpm3 - AIR_KGPM3))
    height = 2 * rest / (4 * area * water.gravity_mps2 * (water.density_kgpm3 + AIR_KGPM3))
    edge = float(np.sqrt(area))
    x, y = float(np.sqrt(pitch / heave)), float(np.sqrt(roll / heave))
    size = np.array([edge, edge, height])
    return tuple(make(f"pontoon_{n}", np.array([i * x, j * y, 0.0]), size) for n, (i, j) in CORNERS.items())


def fixed_thrusters(vehicle: Vehicle) -> tuple[Thruster, ...]:
    """One for each input: an azimuth is two fixed thrusters, along and across, as the controllers command it."""
    found: list[Thruster] = []
    for thruster in vehicle.thrusters:
        if thruster.kind == "fixed":
            found.append(thruster)
            continue
        low, high = thruster.limits_N
        found += [
            replace(thruster, name=name, direction=direction, kind="fixed", max_forward_N=high, max_reverse_N=-low)
            for name, direction in zip(thruster.input_names, thruster.directions, strict=True)
        ]
    return tuple(found)
