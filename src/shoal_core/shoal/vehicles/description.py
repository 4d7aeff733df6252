"""Typed vehicle descriptions: YAML in, frozen and validated numbers out.

A file holds the thrusters' geometry once and one or more *parameter sets* (mass, hydrodynamics, thrust limits),
each with its source, because the published values for one and the same vehicle differ by factors.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.config.files import find_config
from shoal.errors import ShoalError, ShoalWarning, in_file
from shoal.vehicles.actuators import Thruster
from shoal.vehicles.ports import Port
from shoal.vehicles.vehicle_file import ActuatorEntry, HeaveDirection, Quantity, ThrusterEntry, VehicleFile
from shoal.vehicles.vehicle_file_v1 import load_vehicle_file

Array = NDArray[np.float64]
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")


@dataclass(frozen=True)
class Heave:
    """Heave coefficients of one direction: added mass, linear and quadratic damping."""

    added_mass_kg: float
    linear_Nspm: float
    quadratic_Ns2pm2: float


@dataclass(frozen=True)
class Hull:
    """One hull of several: quadratic drag acts at its own velocity, for which no common 6×6 matrix can stand."""

    position_m: Array  # (3,) of its frame, FRD from CO
    rotation: Array  # (3,3) its frame to the body's
    linear_damping: Array  # (6,6) in its own frame
    quadratic_damping: Array  # (6,6)


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
    hulls: tuple[Hull, ...] = ()  # of an assembly; the damping above then holds for motion along one axis only
    waterplane: Array | None = None  # (3,) stiffness in heave (N/m), roll, pitch (N m/rad); None: submerged
    # (6,) of joined vessels, E = ½ k z² + z s·d + ½ dᵀ Q d, d the view of down: s (N), Q_xy, Q_xz, Q_yz (N m)
    waterplane_coupling: Array | None = None
    ports: tuple[Port, ...] = ()

    @property
    def input_count(self) -> int:
        """Inputs of a controller, n: one for a fixed thruster, two for an azimuth."""
        return sum(t.inputs for t in self.thrusters)

    @property
    def input_names(self) -> tuple[str, ...]:
        """One for each input, in order."""
        return tuple(name for t in self.thrusters for name in t.input_names)

    @property
    def input_matrix(self) -> Array:
        """B (6×n): inputs in N to body wrench, from geometry."""
        directions = np.concatenate([t.directions for t in self.thrusters])
        return np.vstack([directions.T, np.cross(self.input_places_m, directions).T])

    @property
    def input_max_N(self) -> Array:
        """Upper limits (n,)."""
        return self._of_inputs([t.limits_N[1] for t in self.thrusters])

    @property
    def input_min_N(self) -> Array:
        """Lower limits (n,), negative."""
        return self._of_inputs([t.limits_N[0] for t in self.thrusters])

    @property
    def input_lag_s(self) -> Array:
        """First-order time constants (n,)."""
        return self._of_inputs([t.time_constant_s for t in self.thrusters])

    @property
    def input_places_m(self) -> Array:
        """Where each input's force acts, (n,3) FRD from CO."""
        return self._of_inputs([t.position_m for t in self.thrusters])

    @property
    def input_propeller_m(self) -> Array:
        """Diameters (n,)."""
        return self._of_inputs([t.propeller_m for t in self.thrusters])

    def _of_inputs(self, values: Sequence[float] | Sequence[Array]) -> Array:
        """A value of each thruster as one of each of its inputs."""
        return np.repeat(np.array(values, dtype=float), [t.inputs for t in self.thrusters], axis=0)

    @property
    def thrust_matrix(self) -> Array:
        """B (6×n), as `input_matrix`."""
        return self.input_matrix

    @property
    def thrust_max_N(self) -> Array:
        """As `input_max_N`."""
        return self.input_max_N

    @property
    def thrust_min_N(self) -> Array:
        """As `input_min_N`."""
        return self.input_min_N

    @property
    def controlled_axes(self) -> frozenset[str]:
        """Axes that the inputs push along; all six for a fully actuated vehicle."""
        return frozenset(AXES) - frozenset(self.lost_axes())

    def lost_axes(self) -> list[str]:
        """Axes without thrust, as many as the input matrix lacks in rank (none for a fully actuated vehicle).

        Of the wrenches out of reach, the axis most in their direction is named: six vectored thrusters below the origin
        lose pitch, though strictly what they cannot do is pitch without surge.
        """
        left, values, _ = np.linalg.svd(self.input_matrix)
        rank = int(np.sum(values > 1e-9 * values[0]))
        lost, out_of_reach = [], left[:, rank:] @ left[:, rank:].T
        for _ in range(6 - rank):
            worst = int(np.argmax(np.diag(out_of_reach)))
            column = out_of_reach[:, worst]
            out_of_reach = out_of_reach - np.outer(column, column) / column[worst]
            lost.append(worst)
        return [AXES[i] for i in sorted(lost)]

    def returning_axes(self) -> list[str]:
        """Axes along which a level vehicle comes back by itself: by waterplane, or weight below buoyancy."""
        heave, roll, pitch = (0.0, 0.0, 0.0) if self.waterplane is None else self.waterplane.tolist()
        righting = self.weight_N * self.cg_m[2] - self.buoyancy_N * self.cb_m[2]
        if self.waterplane_coupling is not None:  # z s·d, once more: d_z falls with the square of the tilt
            righting -= self.floating_depth_m * float(self.waterplane_coupling[2])
        stiffness = {"heave": heave, "roll": roll + righting, "pitch": pitch + righting}
        return [axis for axis in AXES if stiffness.get(axis, 0.0) > 0.0]

    @property
    def floating_depth_m(self) -> float:
        """Of CO, level and at rest; of a vessel only."""
        if self.waterplane is None:
            raise ValueError(f"{self.name} does not float by a waterplane")
        lift_N = 0.0 if self.waterplane_coupling is None else float(self.waterplane_coupling[2])
        return (self.weight_N - self.buoyancy_N - lift_N) / float(self.waterplane[0])

    def limited_as(self, other: Vehicle) -> Vehicle:
        """The same vehicle with the thrust limits of another parameter set of its type."""
        known = {t.name: t for t in other.thrusters}
        limited = [
            replace(t, max_forward_N=known[t.name].max_forward_N, max_reverse_N=known[t.name].max_reverse_N)
            for t in self.thrusters
        ]
        return replace(self, thrusters=tuple(limited))

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
            hulls=tuple(
                replace(h, linear_damping=h.linear_damping * damping, quadratic_damping=h.quadratic_damping * damping)
                for h in self.hulls
            ),
        )


def load_vehicle(name_or_path: str | Path, parameter_set: str | None = None) -> Vehicle:
    """A vehicle type by name or file, with one of its parameter sets (the file's default if none is named)."""
    path = find_config("vehicles", name_or_path)
    file = load_vehicle_file(path)
    chosen = parameter_set or file.default_set
    if chosen not in file.sets:
        raise ShoalError(f"{path}: sets: '{chosen}' is unknown; expected one of {', '.join(file.sets)}")
    with in_file(path):
        vehicle = build_vehicle(file, chosen)
    if lost := [axis for axis in vehicle.lost_axes() if axis not in vehicle.returning_axes()]:
        warnings.warn(
            f"{path}: thrusters: thrust matrix has rank {np.linalg.matrix_rank(vehicle.input_matrix)} < 6: "
            f"no thrust along {', '.join(lost)}, and nothing else brings the vehicle back there; expected thrust or "
            "a righting force along every axis",
            ShoalWarning,
            stacklevel=2,
        )
    return vehicle


def build_vehicle(file: VehicleFile, set_name: str) -> Vehicle:
    """Merge the geometry with one parameter set."""
    s = file.sets[set_name]
    actuators = s.by_thruster([t.name for t in file.thrusters])
    thrusters = tuple(_thruster(t, actuators[t.name]) for t in file.thrusters)
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
        waterplane=None if s.waterplane is None else s.waterplane.array,
        ports=tuple(entry.build() for entry in file.ports),
    )


def _thruster(entry: ThrusterEntry, actuator: ActuatorEntry) -> Thruster:
    curve = actuator.curve.build()
    forward_N, reverse_N = actuator.limits_N(curve)

    def number(quantity: Quantity | None) -> float:
        return quantity.number if quantity is not None else 0.0

    return Thruster(
        name=entry.name,
        position_m=np.array(entry.position_m),
        direction=np.array(entry.direction) / np.linalg.norm(entry.direction),
        max_forward_N=forward_N,
        max_reverse_N=reverse_N,
        time_constant_s=actuator.lag.number,
        dead_band_N=number(actuator.dead_band),
        propeller_m=number(actuator.propeller_diameter),
        inflow_loss=number(actuator.inflow_loss),
        curve=curve,
        reversed=actuator.reversed,
        kind=entry.kind,
        slew_radps=number(actuator.slew),
    )


def _heave(entry: HeaveDirection | None) -> Heave | None:
    if entry is None:
        return None
    return Heave(entry.added_mass.number, entry.linear_damping.number, entry.quadratic_damping.number)
