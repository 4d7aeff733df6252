"""The vehicle file: thrusters once, and the published parameter sets, every number with unit and source.

Validation only; `description.py` turns it into the numbers that the dynamics want.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from shoal.config.file_model import FileModel

Array = NDArray[np.float64]


def _one_sentence(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """A union that fits nowhere gives one complaint for each of its members; one is enough."""
    try:
        return handler(value)
    except ValidationError:
        raise ValueError("expected a finite number, or a list or matrix of them") from None


class Quantity(FileModel):
    """A number, list or matrix with its unit and where it comes from."""

    value: Annotated[float | list[float] | list[list[float]], WrapValidator(_one_sentence)]
    unit: str
    source: str = Field(min_length=3)

    @property
    def number(self) -> float:
        """The value, where it is a plain number."""
        assert isinstance(self.value, float)
        return self.value

    @property
    def array(self) -> Array:
        """The value as an array of its own shape."""
        return np.array(self.value, dtype=float)

    @property
    def matrix(self) -> Array:
        """The value as a square matrix; a list is its diagonal."""
        return np.diag(self.array) if self.array.ndim == 1 else self.array


def shaped(
    unit: str, *shapes: tuple[int | None, ...], minimum: float | None = None, above: float | None = None
) -> AfterValidator:
    """Insists on a unit, on one of the shapes (() is a plain number, None any size) and on a range."""

    def check(quantity: Quantity) -> Quantity:
        if quantity.unit != unit:
            raise ValueError(f"unit is '{quantity.unit}', expected '{unit}'")
        wanted = " or ".join(_shape_name(s) for s in shapes)
        try:
            array = quantity.array
        except ValueError:
            raise ValueError(f"rows differ in length, expected {wanted}") from None
        if not any(_fits(array.shape, s) for s in shapes):
            raise ValueError(f"shape is {array.shape}, expected {wanted}")
        if above is not None and np.any(array <= above):
            raise ValueError(f"expected every entry > {above}")
        if minimum is not None and np.any(np.diag(array) < minimum if array.ndim == 2 else array < minimum):
            raise ValueError(f"expected every (diagonal) entry ≥ {minimum}")
        return quantity

    return AfterValidator(check)


def _shape_name(shape: tuple[int | None, ...]) -> str:
    if not shape:
        return "a number"
    return "a list" if shape == (None,) else "×".join(map(str, shape))


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(w in (None, n) for n, w in zip(shape, wanted, strict=True))


class ThrusterEntry(FileModel):
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


class HeaveDirection(FileModel):
    """Heave coefficients for one direction of motion (hybrid_autopilot spec, S3)."""

    added_mass: Annotated[Quantity, shaped("kg", (), minimum=0)]
    linear_damping: Annotated[Quantity, shaped("N s/m", (), minimum=0)]
    quadratic_damping: Annotated[Quantity, shaped("N s^2/m^2", (), minimum=0)]


class ParameterSet(FileModel):
    """Everything that differs from one publication to the next. Coefficients are positive (dissipative, inertial)."""

    source: str = Field(min_length=10)
    mass: Annotated[Quantity, shaped("kg", (), above=0)]
    weight: Annotated[Quantity, shaped("N", (), minimum=0)]
    buoyancy: Annotated[Quantity, shaped("N", (), minimum=0)]
    inertia: Annotated[Quantity, shaped("kg m^2", (3,), (3, 3), minimum=0)]
    center_of_gravity: Annotated[Quantity, shaped("m", (3,))]
    center_of_buoyancy: Annotated[Quantity, shaped("m", (3,))]
    added_mass: Annotated[Quantity, shaped("kg, kg m^2", (6,), (6, 6), minimum=0)]
    linear_damping: Annotated[Quantity, shaped("N s/m, N m s", (6,), (6, 6), minimum=0)]
    quadratic_damping: Annotated[Quantity, shaped("N s^2/m^2, N m s^2", (6,), (6, 6), minimum=0)]
    heave_dive: HeaveDirection | None = None
    heave_rise: HeaveDirection | None = None
    added_mass_coriolis: bool = True
    # One limit for all thrusters, or one each in their order.
    max_forward_thrust: Annotated[Quantity, shaped("N", (), (None,), above=0)]
    max_reverse_thrust: Annotated[Quantity, shaped("N", (), (None,), above=0)]
    thruster_time_constant: Annotated[Quantity, shaped("s", (), minimum=0)]
    thruster_dead_band: Annotated[Quantity, shaped("N", (), minimum=0)]

    @model_validator(mode="after")
    def _consistent(self) -> ParameterSet:
        inertia = self.inertia.matrix
        for key, matrix in {"inertia": inertia, "added_mass": self.added_mass.matrix}.items():
            if not np.allclose(matrix, matrix.T, atol=1e-12):
                raise ValueError(f"{key} = {matrix.tolist()} is not symmetric, expected a symmetric matrix")
        if np.linalg.eigvalsh(inertia).min() <= 0:
            raise ValueError(f"inertia = {self.inertia.value} is not positive definite, expected eigenvalues > 0")
        if (self.heave_dive is None) != (self.heave_rise is None):
            raise ValueError("only one of heave_dive and heave_rise is given, expected both or none")
        m, r = self.mass.number, self.center_of_gravity.array
        about_cg = inertia - m * (r @ r * np.eye(3) - np.outer(r, r))
        if np.linalg.eigvalsh(about_cg).min() <= 0:
            raise ValueError(
                f"inertia = {self.inertia.value} is about the origin, expected more than the {m * (r @ r):.3g} kg m^2 "
                f"that {m:g} kg at center_of_gravity = {self.center_of_gravity.value} have there alone"
            )
        return self


class VehicleFile(FileModel):
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
        for set_name, entry in self.sets.items():
            for key in ("max_forward_thrust", "max_reverse_thrust"):
                value = getattr(entry, key).value
                if isinstance(value, list) and len(value) != len(names):
                    raise ValueError(f"sets.{set_name}.{key} has {len(value)} entries, expected {len(names)} or one")
        return self
