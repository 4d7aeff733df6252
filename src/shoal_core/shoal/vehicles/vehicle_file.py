"""The vehicle file: thrusters once, and the published parameter sets, every number with unit and source. Version 2.

Validation only; `description.py` turns it into the numbers that the dynamics want.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from shoal.config.file_model import FileModel
from shoal.vehicles.curves import Curve, load_table, polynomial
from shoal.vehicles.ports import Port, PortCamera, PortKind, PortMarker

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
    kind: Literal["fixed", "azimuth"] = "fixed"  # an azimuth turns about the vehicle's vertical axis

    @model_validator(mode="after")
    def _has_direction(self) -> ThrusterEntry:
        if self.kind == "azimuth" and self.direction[2] != 0.0:
            raise ValueError(
                f"direction of azimuth '{self.name}' is {list(self.direction)}, expected a horizontal one (z = 0)"
            )
        if np.linalg.norm(self.direction) < 1e-9:
            raise ValueError(f"direction of thruster '{self.name}' is zero, expected a vector with a length")
        return self


class PortCameraEntry(FileModel):
    """The camera that watches the way to a port, FRD from CO."""

    position_m: tuple[float, float, float]
    axis: tuple[float, float, float]
    half_angle_deg: float = Field(gt=0, lt=90)

    @field_validator("axis")
    @classmethod
    def _has_a_length(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        return _with_length(value)

    def build(self) -> PortCamera:
        """With a unit vector."""
        return PortCamera(np.array(self.position_m), _unit(self.axis), self.half_angle_deg)


class PortMarkerEntry(FileModel):
    """A flat fiducial beside a port, FRD from CO."""

    position_m: tuple[float, float, float]
    normal: tuple[float, float, float]
    size_m: float = Field(default=0.16, gt=0.01, le=2.0, description="edge of the black square")

    @field_validator("normal")
    @classmethod
    def _has_a_length(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        return _with_length(value)

    def build(self) -> PortMarker:
        """With a unit vector."""
        return PortMarker(np.array(self.position_m), _unit(self.normal), self.size_m)


def _with_length(value: tuple[float, float, float]) -> tuple[float, float, float]:
    if np.linalg.norm(value) < 1e-9:
        raise ValueError(f"{list(value)}, expected a vector with a length")
    return value


class PortEntry(FileModel):
    """Where another vehicle's port latches on, in the body frame (FRD) from CO."""

    name: str
    kind: PortKind = "androgynous"  # latches onto its like; or a plug, which goes into a socket
    position_m: tuple[float, float, float]
    direction: tuple[float, float, float]  # outwards
    up: tuple[float, float, float] = (0.0, 0.0, -1.0)  # two latched ports share it
    catch_m: float = Field(default=0.025, gt=0)
    catch_deg: float = Field(default=3.0, gt=0)
    catch_mps: float = Field(default=0.1, gt=0)
    magnet_N: float = Field(default=0.0, ge=0)  # pull when touching
    magnet_reach_m: float = Field(default=0.05, gt=0)  # where half of it is left
    camera: PortCameraEntry | None = None
    marker: PortMarkerEntry | None = None

    @model_validator(mode="after")
    def _has_directions(self) -> PortEntry:
        if np.linalg.norm(self.direction) < 1e-9 or np.linalg.norm(np.cross(self.direction, self.up)) < 1e-9:
            raise ValueError(
                f"port '{self.name}': direction {list(self.direction)} and up {list(self.up)}, "
                "expected two vectors that are not parallel"
            )
        if self.magnet_N == 0.0 and self.magnet_reach_m != PortEntry.model_fields["magnet_reach_m"].default:
            raise ValueError(f"port '{self.name}': magnet_reach_m without magnet_N, expected both or neither")
        return self

    def build(self) -> Port:
        """With unit vectors, the upward one at right angles to the direction."""
        direction = np.array(self.direction) / np.linalg.norm(self.direction)
        up = np.array(self.up) - (np.array(self.up) @ direction) * direction
        up /= np.linalg.norm(up)
        tolerances = self.catch_m, self.catch_deg, self.catch_mps, self.magnet_N, self.magnet_reach_m
        camera = None if self.camera is None else self.camera.build()
        marker = None if self.marker is None else self.marker.build()
        return Port(self.name, np.array(self.position_m), direction, up, *tolerances, camera, marker, self.kind)


def _unit(vector: tuple[float, float, float]) -> Array:
    return np.asarray(np.array(vector) / np.linalg.norm(vector))


class LinearCurve(FileModel):
    """The signal is the share of the limit, −1 to 1."""

    kind: Literal["linear"] = "linear"

    def build(self) -> Curve | None:
        """No map: what is asked for is what comes."""
        return None


class PolynomialCurve(FileModel):
    """c₁ s + c₂ s² + … newtons at a signal s from neutral, the same or another polynomial in reverse."""

    kind: Literal["polynomial"]
    unit: Literal["us", "1/s"]  # of the signal: pulse width, revolutions
    neutral: float
    step: float = Field(default=0.0, ge=0)  # the device takes multiples of it; 0: anything
    dead_zone: float = Field(ge=0)  # about neutral, nothing comes
    limit: float = Field(gt=0)  # largest distance from neutral
    forward: list[float] = Field(min_length=1)  # c₁, c₂, … in N per unit, per unit², …
    reverse: list[float] | None = None  # None: as forward
    source: str = Field(min_length=3)

    @model_validator(mode="after")
    def _rises(self) -> PolynomialCurve:
        if self.dead_zone >= self.limit:
            raise ValueError(f"dead_zone = {self.dead_zone:g}, expected less than limit = {self.limit:g}")
        at = np.linspace(self.dead_zone, self.limit, 200)
        for key, values in (("forward", self.forward), ("reverse", self.reverse or self.forward)):
            if np.any(np.diff(at[:, None] ** np.arange(1, len(values) + 1) @ np.array(values)) <= 0):
                raise ValueError(f"{key} = {values} falls somewhere, expected more thrust for more signal up to limit")
        return self

    def build(self) -> Curve | None:
        """Sampled."""
        c = self
        return polynomial(c.unit, c.neutral, c.step, c.dead_zone, c.limit, c.forward, c.reverse or c.forward)


class TableCurve(FileModel):
    """Measured, by supply voltage: config/thrusters."""

    kind: Literal["table"]
    table: str
    voltage: Annotated[Quantity, shaped("V", (), above=0)]

    @model_validator(mode="after")
    def _measured(self) -> TableCurve:
        self.build()
        return self

    def build(self) -> Curve | None:
        """The curve at this voltage."""
        return load_table(self.table).at(self.voltage.number)


class ActuatorEntry(FileModel):
    """What some or all thrusters are: limits, lag, dead band and curve."""

    thrusters: Literal["all"] | list[str]
    reversed: bool = False  # the device's positive signal pushes against the thruster's direction
    curve: Annotated[LinearCurve | PolynomialCurve | TableCurve, Field(discriminator="kind")] = LinearCurve()
    max_forward: Annotated[Quantity, shaped("N", (), above=0)] | None = None  # None: where the curve ends
    max_reverse: Annotated[Quantity, shaped("N", (), above=0)] | None = None
    lag: Annotated[Quantity, shaped("s", (), minimum=0)]
    dead_band: Annotated[Quantity, shaped("N", (), minimum=0)] | None = None
    slew: Annotated[Quantity, shaped("rad/s", (), above=0)] | None = None  # of azimuths
    propeller_diameter: Annotated[Quantity, shaped("m", (), above=0)] | None = None  # for the loss at the surface
    inflow_loss: Annotated[Quantity, shaped("N^0.5 s/m", (), minimum=0)] | None = None  # Nielsen 2018 (5.8)

    @model_validator(mode="after")
    def _limits(self) -> ActuatorEntry:
        if self.curve.kind == "linear" and (self.max_forward is None or self.max_reverse is None):
            raise ValueError("max_forward or max_reverse is missing, expected both with a linear curve")
        if self.curve.kind != "linear" and self.dead_band is not None:
            raise ValueError(f"dead_band is given, expected none with a {self.curve.kind} curve, which has its own")
        return self

    def limits_N(self, curve: Curve | None) -> tuple[float, float]:
        """Forward and reverse, along the thruster's direction."""
        ends = (np.inf, np.inf)
        if curve is not None:
            ends = float(curve.forces_N[-1]), float(-curve.forces_N[0])
            ends = ends[::-1] if self.reversed else ends
        given = [np.inf if q is None else q.number for q in (self.max_forward, self.max_reverse)]
        return min(ends[0], given[0]), min(ends[1], given[1])


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
    # Of a vessel: stiffness in heave, roll and pitch about its place afloat, depth 0. None: a submerged vehicle.
    waterplane: Annotated[Quantity, shaped("N/m, N m/rad", (3,), above=0)] | None = None
    actuators: list[ActuatorEntry] = Field(min_length=1)

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

    def by_thruster(self, names: list[str]) -> dict[str, ActuatorEntry]:
        """The entry of each thruster; a ValueError where one has none or several."""
        found: dict[str, ActuatorEntry] = {}
        for entry in self.actuators:
            for name in names if entry.thrusters == "all" else entry.thrusters:
                if name not in names:
                    raise ValueError(f"actuators: thruster '{name}' is unknown, expected one of {', '.join(names)}")
                if name in found:
                    raise ValueError(f"actuators: thruster '{name}' has two entries, expected one")
                found[name] = entry
        if missing := [name for name in names if name not in found]:
            raise ValueError(f"actuators: none for {', '.join(missing)}, expected one for each thruster")
        return found


class VehicleFile(FileModel):
    """The whole file."""

    version: int = Field(ge=2, le=2)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str
    size_m: tuple[float, float, float]  # length, width, height: for pictures and contact
    default_set: str
    thrusters: list[ThrusterEntry] = Field(min_length=1)
    ports: list[PortEntry] = Field(default_factory=list)
    sets: dict[str, ParameterSet] = Field(min_length=1)

    @model_validator(mode="after")
    def _default_exists(self) -> VehicleFile:
        if self.default_set not in self.sets:
            raise ValueError(f"default_set = '{self.default_set}' is unknown, expected one of {', '.join(self.sets)}")
        names = [t.name for t in self.thrusters]
        if len(set(names)) != len(names):
            raise ValueError(f"thruster names {names} repeat, expected each once")
        ports = [p.name for p in self.ports]
        if len(set(ports)) != len(ports):
            raise ValueError(f"port names {ports} repeat, expected each once")
        for set_name, entry in self.sets.items():
            try:
                actuators = entry.by_thruster(names)
            except ValueError as error:
                raise ValueError(f"sets.{set_name}.{error}") from None
            for thruster in self.thrusters:
                if (thruster.kind == "azimuth") != (actuators[thruster.name].slew is not None):
                    raise ValueError(
                        f"sets.{set_name}.actuators: slew and thruster '{thruster.name}' ({thruster.kind}) do not fit, "
                        "expected slew for azimuths and for them only"
                    )
        return self
