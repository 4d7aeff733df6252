"""The numbers of a vehicle as one flat vector, so that one compiled function serves every vehicle of its structure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.frames import skew
from shoal.vehicles.description import Heave, Vehicle

Array = NDArray[np.float64]
INPUT_COUNTS = (8, 16, 32)
HULL_COUNTS = (0, *(2**k for k in range(1, 9)))  # an assembly's hulls are padded to one of these
# Entries of M⁻¹ of a body that is alike to port and starboard and fore and aft, with its CG above or below CO.
UPRIGHT = ((0, 0), (0, 4), (1, 1), (1, 3), (2, 2), (3, 1), (3, 3), (4, 0), (4, 4), (5, 5))
EVERY = tuple((i, j) for i in range(6) for j in range(6))


@dataclass(frozen=True)
class Structure:
    """What shapes the generated code; vehicles that share it share the compiled functions."""

    thruster_count: int
    full_added_mass: bool
    full_damping: bool
    directional_heave: bool
    added_mass_coriolis: bool
    inverse_mass_pattern: tuple[tuple[int, int], ...]  # non-zero entries of M⁻¹
    hulls: int = 0  # of an assembly, padded; 0: one body with its own damping
    waterplane: bool = False  # a vessel: the surface pushes it back
    surface: bool = False  # loses buoyancy and thrust above the surface; of the plant, near it

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Length of each block of the parameter vector, in order."""
        n6 = 36 if self.full_added_mass else 6
        d6 = 36 if self.full_damping else 6
        sizes = {"mass": 1, "weight": 1, "buoyancy": 1, "cg": 3, "cb": 3, "inertia": 6, "added_mass": n6}
        sizes |= {"linear": d6, "quadratic": d6, "inverse_mass": len(self.inverse_mass_pattern)}
        if self.directional_heave:
            sizes |= {"inverse_mass_rise": len(self.inverse_mass_pattern), "heave_rise": 2}
        if self.hulls:
            sizes |= {"hulls": self.hulls * (12 + 2 * d6)}  # place and rotation, linear and quadratic damping of each
        if self.waterplane:
            sizes |= {"waterplane": 9 if self.hulls else 3}
        if self.surface:
            sizes |= {"height": 1, "propeller": self.thruster_count, "places": 3 * self.thruster_count}
        return sizes | {"thrust": 6 * self.thruster_count}

    @property
    def length(self) -> int:
        """Length of the whole vector."""
        return sum(self.sizes.values())

    def split(self, vector: ca.SX) -> dict[str, ca.SX]:
        """The blocks of a symbolic vector by name."""
        blocks, start = {}, 0
        for name, size in self.sizes.items():
            blocks[name] = vector[start : start + size]
            start += size
        return blocks


def mass_matrix(vehicle: Vehicle, heave: Heave | None = None) -> Array:
    """M = M_RB + M_A (spec eq. 4.19, 4.21); `heave` replaces the heave added mass."""
    added = vehicle.added_mass.copy()
    if heave is not None:
        added[2, 2] = heave.added_mass_kg
    return np.asarray(rigid_body_mass(vehicle) + added)


def rigid_body_mass(vehicle: Vehicle) -> Array:
    """M_RB about CO."""
    m, lever = vehicle.mass_kg, skew(vehicle.cg_m)
    return np.block([[m * np.eye(3), -m * lever], [m * lever, vehicle.inertia_kgm2]])


def structure_of(vehicle: Vehicle, surface: bool = False) -> Structure:
    """The structure, from which entries are zero for good; `surface`: with what happens where the water ends.

    Assemblies have all entries, and a number of hulls rounded up, so that joining or parting rarely takes a compiler.
    """
    inverse = np.linalg.inv(mass_matrix(vehicle))
    pattern = np.abs(inverse) > 1e-12
    pattern[[0, 4, 1, 3], [4, 0, 3, 1]] = True  # a CG above or below CO couples surge-pitch and sway-roll
    np.fill_diagonal(pattern, True)
    if vehicle.hulls:
        pattern[:] = True
    hulls = vehicle.hulls or (vehicle,)
    return Structure(
        thruster_count=vehicle.input_count,
        full_added_mass=bool(vehicle.hulls) or _off_diagonal(vehicle.added_mass),
        full_damping=any(_off_diagonal(np.abs(h.linear_damping) + np.abs(h.quadratic_damping)) for h in hulls),
        directional_heave=vehicle.heave_dive is not None,
        added_mass_coriolis=vehicle.added_mass_coriolis,
        inverse_mass_pattern=tuple((int(i), int(j)) for i, j in np.argwhere(pattern)),
        hulls=next(n for n in HULL_COUNTS if n >= len(vehicle.hulls)),
        waterplane=vehicle.waterplane is not None,
        surface=surface and vehicle.waterplane is None,
    )


def padded(count: int) -> int:
    """The number of inputs that code is made for: 8, 16, 32, and multiples of 32 from there on."""
    return next((n for n in INPUT_COUNTS if count <= n), -(-count // INPUT_COUNTS[-1]) * INPUT_COUNTS[-1])


def roomy_structure(vehicle: Vehicle, surface: bool = False) -> Structure:
    """As `structure_of`; of an assembly with room for more inputs, so that few of them take a compiler."""
    own = structure_of(vehicle, surface)
    return replace(own, thruster_count=padded(own.thruster_count)) if own.hulls else own


def common_structure(vehicle: Vehicle, inputs: int) -> Structure:
    """One of the few structures that serve all vehicles: the upright body's, or the one without any zeros."""
    own = structure_of(vehicle)
    if own.hulls:  # an assembly's is common already
        return replace(own, thruster_count=inputs)
    if own.full_added_mass or own.full_damping or not set(own.inverse_mass_pattern) <= set(UPRIGHT):
        own = replace(own, full_added_mass=True, full_damping=True, inverse_mass_pattern=EVERY)
    else:
        own = replace(own, inverse_mass_pattern=UPRIGHT)
    return replace(own, thruster_count=inputs)


def parameter_vector(vehicle: Vehicle, structure: Structure, input_matrix: Array | None = None) -> Array:
    """The vehicle's numbers in the structure's order; `input_matrix` (6×n): other inputs than the vehicle's own.

    Inputs that only fill up have no effect.
    """

    def matrix(m: Array, full: bool) -> Array:
        return m.ravel() if full else np.diag(m)

    def inverse(heave: Heave | None) -> Array:
        full = np.linalg.inv(mass_matrix(vehicle, heave))
        return np.array([full[i, j] for i, j in structure.inverse_mass_pattern])

    thrust = vehicle.input_matrix if input_matrix is None else input_matrix
    spare = structure.thruster_count - thrust.shape[1]
    linear, quadratic = vehicle.linear_damping.copy(), vehicle.quadratic_damping.copy()
    if vehicle.heave_dive is not None:
        linear[2, 2], quadratic[2, 2] = vehicle.heave_dive.linear_Nspm, vehicle.heave_dive.quadratic_Ns2pm2
    i = vehicle.inertia_kgm2
    blocks = {
        "mass": [vehicle.mass_kg],
        "weight": [vehicle.weight_N],
        "buoyancy": [vehicle.buoyancy_N],
        "cg": vehicle.cg_m,
        "cb": vehicle.cb_m,
        "inertia": [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]],
        "added_mass": matrix(vehicle.added_mass, structure.full_added_mass),
        "linear": matrix(linear, structure.full_damping),
        "quadratic": matrix(quadratic, structure.full_damping),
        "inverse_mass": inverse(vehicle.heave_dive),
        "thrust": (np.pad(thrust, ((0, 0), (0, spare))) if spare else thrust).ravel(),
    }
    if vehicle.waterplane is not None:
        coupling = np.zeros(6) if vehicle.waterplane_coupling is None else vehicle.waterplane_coupling
        blocks["waterplane"] = [*vehicle.waterplane, *coupling] if structure.hulls else vehicle.waterplane
    if structure.surface:
        blocks["height"] = [vehicle.size_m[2]]
        blocks["propeller"] = np.append(vehicle.input_propeller_m, np.zeros(spare))
        blocks["places"] = np.append(vehicle.input_places_m.ravel(), np.zeros(3 * spare))
    if structure.directional_heave:
        rise = vehicle.heave_rise
        assert rise is not None
        blocks["inverse_mass_rise"] = inverse(rise)
        blocks["heave_rise"] = [rise.linear_Nspm, rise.quadratic_Ns2pm2]
    if structure.hulls:
        blocks["hulls"] = _hull_numbers(vehicle, structure)
    return np.concatenate([np.asarray(blocks[name], dtype=float) for name in structure.sizes])


def _hull_numbers(vehicle: Vehicle, structure: Structure) -> Array:
    """Hull after hull; those that only fill up have no drag."""
    numbers = np.zeros((structure.hulls, structure.sizes["hulls"] // structure.hulls))
    for row, hull in zip(numbers, vehicle.hulls, strict=False):
        damping = [
            m.ravel() if structure.full_damping else np.diag(m) for m in (hull.linear_damping, hull.quadratic_damping)
        ]
        row[:] = np.concatenate([hull.position_m, hull.rotation.ravel(), *damping])
    return numbers.ravel()


def _off_diagonal(matrix: Array) -> bool:
    return bool(np.any(np.abs(matrix - np.diag(np.diag(matrix))) > 0))
