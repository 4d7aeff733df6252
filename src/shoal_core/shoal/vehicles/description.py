"""Typed vehicle descriptions: YAML in, frozen and validated numbers out.

A file holds the thrusters' geometry once and one or more *parameter sets* (mass, hydrodynamics, thrust limits),
each with its source, because the published values for one and the same vehicle differ by factors.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.config.files import find_config, load_yaml
from shoal.errors import ShoalError, ShoalWarning
from shoal.vehicles.vehicle_file import HeaveDirection, VehicleFile

Array = NDArray[np.float64]
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")


@dataclass(frozen=True)
class Thruster:
    """A fixed thruster: force = clip(command, −reverse, forward), first-order lag, nothing inside the dead band."""

    name: str
    position_m: Array  # (3,) FRD from CO
    direction: Array  # (3,) unit vector of positive force
    max_forward_N: float
    max_reverse_N: float
    time_constant_s: float
    dead_band_N: float


@dataclass(frozen=True)
class Heave:
    """Heave coefficients of one direction: added mass, linear and quadratic damping."""

    added_mass_kg: float
    linear_Nspm: float
    quadratic_Ns2pm2: float


@dataclass(frozen=True)
class Vehicle:
    """A vehicle's numbers, ready for the dynamics. Positive coefficients throughout; body frame FRD from CO."""

    name: str
    parameter_set: str
    size_m: tuple[float, float, float]
    mass_kg: float
    weight_N: float
    buoyancy_N: float
    inertia_kgm2: Array  # (3,3)
    cg_m: Array  # (3,)
    cb_m: Array  # (3,)
    added_mass: Array  # (6,6) M_A
    linear_damping: Array  # (6,6) D_L
    quadratic_damping: Array  # (6,6) D_Q: D_NL(ν)ν = D_Q (|ν|∘ν)
    heave_dive: Heave | None
    heave_rise: Heave | None
    added_mass_coriolis: bool
    thrusters: tuple[Thruster, ...]

    @property
    def thrust_matrix(self) -> Array:
        """B (6×n): thruster forces to body wrench, from geometry."""
        directions = np.array([t.direction for t in self.thrusters])
        positions = np.array([t.position_m for t in self.thrusters])
        return np.vstack([directions.T, np.cross(positions, directions).T])

    @property
    def thrust_max_N(self) -> Array:
        """Upper limits (n,)."""
        return np.array([t.max_forward_N for t in self.thrusters])

    @property
    def thrust_min_N(self) -> Array:
        """Lower limits (n,), negative."""
        return -np.array([t.max_reverse_N for t in self.thrusters])

    def lost_axes(self) -> list[str]:
        """Axes without thrust, as many as the thrust matrix lacks in rank (none for a fully actuated vehicle).

        Of the wrenches out of reach, the axis most in their direction is named: six vectored thrusters below the origin
        lose pitch, though strictly what they cannot do is pitch without surge.
        """
        left, values, _ = np.linalg.svd(self.thrust_matrix)
        rank = int(np.sum(values > 1e-9 * values[0]))
        lost, out_of_reach = [], left[:, rank:] @ left[:, rank:].T
        for _ in range(6 - rank):
            worst = int(np.argmax(np.diag(out_of_reach)))
            column = out_of_reach[:, worst]
            out_of_reach = out_of_reach - np.outer(column, column) / column[worst]
            lost.append(worst)
        return [AXES[i] for i in sorted(lost)]

    def with_thrust_limit(self, limit_N: float) -> Vehicle:
        """The same vehicle with every thruster limited to ±`limit_N`."""
        return replace(
            self, thrusters=tuple(replace(t, max_forward_N=limit_N, max_reverse_N=limit_N) for t in self.thrusters)
        )

    def scaled(self, mass: float = 1.0, added_mass: float = 1.0, damping: float = 1.0, inertia: float = 1.0) -> Vehicle:
        """The same vehicle with scaled coefficients; weight goes with the mass, buoyancy stays (it is the hull's)."""

        def heave(h: Heave | None) -> Heave | None:
            return h and Heave(h.added_mass_kg * added_mass, h.linear_Nspm * damping, h.quadratic_Ns2pm2 * damping)

        return replace(
            self,
            mass_kg=self.mass_kg * mass,
            weight_N=self.weight_N * mass,
            inertia_kgm2=self.inertia_kgm2 * inertia,
            added_mass=self.added_mass * added_mass,
            linear_damping=self.linear_damping * damping,
            quadratic_damping=self.quadratic_damping * damping,
            heave_dive=heave(self.heave_dive),
            heave_rise=heave(self.heave_rise),
        )


def load_vehicle(name_or_path: str | Path, parameter_set: str | None = None) -> Vehicle:
    """A vehicle type by name or file, with one of its parameter sets (the file's default if none is named)."""
    path = find_config("vehicles", name_or_path)
    file = load_yaml(path, VehicleFile)
    chosen = parameter_set or file.default_set
    if chosen not in file.sets:
        raise ShoalError(f"{path}: sets: '{chosen}' is unknown; expected one of {', '.join(file.sets)}")
    vehicle = build_vehicle(file, chosen)
    if lost := vehicle.lost_axes():
        warnings.warn(
            f"{path}: thrusters: thrust matrix has rank {np.linalg.matrix_rank(vehicle.thrust_matrix)} < 6: "
            f"no thrust along {', '.join(lost)}; expected rank 6 for a fully actuated vehicle",
            ShoalWarning,
            stacklevel=2,
        )
    return vehicle


def build_vehicle(file: VehicleFile, set_name: str) -> Vehicle:
    """Merge the geometry with one parameter set."""
    s = file.sets[set_name]
    forward, reverse = (
        np.broadcast_to(q.array, len(file.thrusters)).tolist() for q in (s.max_forward_thrust, s.max_reverse_thrust)
    )
    thrusters = tuple(
        Thruster(
            name=t.name,
            position_m=np.array(t.position_m),
            direction=np.array(t.direction) / np.linalg.norm(t.direction),
            max_forward_N=t.max_forward_N or forward[i],
            max_reverse_N=t.max_reverse_N or reverse[i],
            time_constant_s=s.thruster_time_constant.number,
            dead_band_N=s.thruster_dead_band.number,
        )
        for i, t in enumerate(file.thrusters)
    )
    return Vehicle(
        name=file.name,
        parameter_set=set_name,
        size_m=file.size_m,
        mass_kg=s.mass.number,
        weight_N=s.weight.number,
        buoyancy_N=s.buoyancy.number,
        inertia_kgm2=s.inertia.matrix,
        cg_m=s.center_of_gravity.array,
        cb_m=s.center_of_buoyancy.array,
        added_mass=s.added_mass.matrix,
        linear_damping=s.linear_damping.matrix,
        quadratic_damping=s.quadratic_damping.matrix,
        heave_dive=_heave(s.heave_dive),
        heave_rise=_heave(s.heave_rise),
        added_mass_coriolis=s.added_mass_coriolis,
        thrusters=thrusters,
    )


def _heave(entry: HeaveDirection | None) -> Heave | None:
    if entry is None:
        return None
    return Heave(entry.added_mass.number, entry.linear_damping.number, entry.quadratic_damping.number)
