"""Typed vehicle descriptions: YAML in, frozen and validated numbers out.

A file holds the thrusters' geometry once and one or more *parameter sets* (mass, hydrodynamics, thrust limits),
each with its source, because the published values for one and the same vehicle differ by factors.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from shoal.config import find_config, load_yaml
from shoal.errors import ShoalError

Array = NDArray[np.float64]
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Quantity(_Frozen):
    """A number, list or matrix with its unit and where it comes from."""

    value: float | list[float] | list[list[float]]
    unit: str
    source: str = Field(min_length=3)


def _quantity(unit: str, *shapes: tuple[int, ...], minimum: float | None = None, above: float | None = None) -> Any:
    """A Quantity type that insists on a unit, on one of the shapes (() is a plain number) and on a range."""

    def check(quantity: Quantity) -> Quantity:
        if quantity.unit != unit:
            raise ValueError(f"unit is '{quantity.unit}', expected '{unit}'")
        wanted = " or ".join("a number" if not s else "×".join(map(str, s)) for s in shapes)
        try:
            array = np.asarray(quantity.value, dtype=float)
        except ValueError:
            raise ValueError(f"rows differ in length, expected {wanted}") from None
        if array.shape not in shapes:
            raise ValueError(f"shape is {array.shape}, expected {wanted}")
        if above is not None and np.any(array <= above):
            raise ValueError(f"expected every entry > {above}")
        if minimum is not None and np.any(np.diag(array) < minimum if array.ndim == 2 else array < minimum):
            raise ValueError(f"expected every (diagonal) entry ≥ {minimum}")
        return quantity

    return Annotated[Quantity, AfterValidator(check)]


class ThrusterEntry(_Frozen):
    """One thruster in the file: where it sits and where positive force points, in the body frame (FRD) from CO."""

    name: str
    position_m: tuple[float, float, float]
    direction: tuple[float, float, float]
    max_forward_N: float | None = Field(default=None, gt=0)
    max_reverse_N: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _has_direction(self) -> ThrusterEntry:
        if np.linalg.norm(self.direction) < 1e-9:
            raise ValueError(f"direction of thruster '{self.name}' is zero, expected a vector with a length")
        return self


class HeaveDirection(_Frozen):
    """Heave coefficients for one direction of motion (hybrid_autopilot spec, S3)."""

    added_mass: _quantity("kg", (), minimum=0)
    linear_damping: _quantity("N s/m", (), minimum=0)
    quadratic_damping: _quantity("N s^2/m^2", (), minimum=0)


class ParameterSet(_Frozen):
    """Everything that differs from one publication to the next. All coefficients are positive (dissipative, inertial)."""

    source: str = Field(min_length=10)
    mass: _quantity("kg", (), above=0)
    weight: _quantity("N", (), minimum=0)
    buoyancy: _quantity("N", (), minimum=0)
    inertia: _quantity("kg m^2", (3,), (3, 3), minimum=0)
    center_of_gravity: _quantity("m", (3,))
    center_of_buoyancy: _quantity("m", (3,))
    added_mass: _quantity("kg, kg m^2", (6,), (6, 6), minimum=0)
    linear_damping: _quantity("N s/m, N m s", (6,), (6, 6), minimum=0)
    quadratic_damping: _quantity("N s^2/m^2, N m s^2", (6,), (6, 6), minimum=0)
    heave_dive: HeaveDirection | None = None
    heave_rise: HeaveDirection | None = None
    added_mass_coriolis: bool = True
    max_forward_thrust: _quantity("N", (), above=0)
    max_reverse_thrust: _quantity("N", (), above=0)
    thruster_time_constant: _quantity("s", (), minimum=0)
    thruster_dead_band: _quantity("N", (), minimum=0)

    @model_validator(mode="after")
    def _consistent(self) -> ParameterSet:
        inertia = square(self.inertia.value)
        if not np.allclose(inertia, inertia.T, atol=1e-12):
            raise ValueError(f"inertia = {self.inertia.value} is not symmetric, expected a symmetric 3×3 matrix")
        if np.linalg.eigvalsh(inertia).min() <= 0:
            raise ValueError(f"inertia = {self.inertia.value} is not positive definite, expected eigenvalues > 0")
        if (self.heave_dive is None) != (self.heave_rise is None):
            raise ValueError("only one of heave_dive and heave_rise is given, expected both or none")
        return self


class VehicleFile(_Frozen):
    """The whole file."""

    version: int = Field(ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str
    size_m: tuple[float, float, float]  # length, width, height: for pictures and contact
    default_set: str
    thrusters: list[ThrusterEntry] = Field(min_length=1)
    sets: dict[str, ParameterSet] = Field(min_length=1)

    @model_validator(mode="after")
    def _default_exists(self) -> VehicleFile:
        if self.default_set not in self.sets:
            raise ValueError(f"default_set = '{self.default_set}' is unknown, expected one of {', '.join(self.sets)}")
        names = [t.name for t in self.thrusters]
        if len(set(names)) != len(names):
            raise ValueError(f"thruster names {names} repeat, expected each once")
        return self


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
        """Axes that no combination of thrusters can push alone (empty for a fully actuated vehicle)."""
        matrix = self.thrust_matrix
        reach = matrix @ np.linalg.pinv(matrix, rcond=1e-9)
        return [axis for i, axis in enumerate(AXES) if abs(1.0 - reach[i, i]) > 1e-6]

    def scaled(
        self, mass: float = 1.0, added_mass: float = 1.0, damping: float = 1.0, inertia: float = 1.0
    ) -> Vehicle:
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


def square(value: float | list[float] | list[list[float]]) -> Array:
    """A diagonal given as a list, or a full matrix, as a matrix."""
    array = np.asarray(value, dtype=float)
    return np.diag(array) if array.ndim == 1 else array


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
            stacklevel=2,
        )
    return vehicle


def build_vehicle(file: VehicleFile, set_name: str) -> Vehicle:
    """Merge the geometry with one parameter set."""
    s = file.sets[set_name]
    thrusters = tuple(
        Thruster(
            name=t.name,
            position_m=np.array(t.position_m),
            direction=np.array(t.direction) / np.linalg.norm(t.direction),
            max_forward_N=t.max_forward_N or float(s.max_forward_thrust.value),
            max_reverse_N=t.max_reverse_N or float(s.max_reverse_thrust.value),
            time_constant_s=float(s.thruster_time_constant.value),
            dead_band_N=float(s.thruster_dead_band.value),
        )
        for t in file.thrusters
    )
    return Vehicle(
        name=file.name,
        parameter_set=set_name,
        size_m=file.size_m,
        mass_kg=float(s.mass.value),
        weight_N=float(s.weight.value),
        buoyancy_N=float(s.buoyancy.value),
        inertia_kgm2=square(s.inertia.value),
        cg_m=np.array(s.center_of_gravity.value, dtype=float),
        cb_m=np.array(s.center_of_buoyancy.value, dtype=float),
        added_mass=square(s.added_mass.value),
        linear_damping=square(s.linear_damping.value),
        quadratic_damping=square(s.quadratic_damping.value),
        heave_dive=_heave(s.heave_dive),
        heave_rise=_heave(s.heave_rise),
        added_mass_coriolis=s.added_mass_coriolis,
        thrusters=thrusters,
    )


def _heave(entry: HeaveDirection | None) -> Heave | None:
    if entry is None:
        return None
    return Heave(
        float(entry.added_mass.value), float(entry.linear_damping.value), float(entry.quadratic_damping.value)
    )
