"""Fleet files: which vehicles swim, what they are, where they start, and what holds for all of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from shoal.assembly.file import load_assembly
from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml
from shoal.errors import ShoalError, in_file
from shoal.guidance.formation import Formation, closest
from shoal.messages.limits import Limits
from shoal.messages.state import State
from shoal.vehicles.description import Vehicle, load_vehicle

DEEPEST_M = 11_000.0  # the Challenger Deep


class Member(FileModel):
    """One vehicle of the fleet, or one assembly of joined vehicles."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    type: str = "bluerov2_heavy"
    assembly: str | None = None  # name or file in config/assemblies; then it says types, parameter sets and limits
    parameter_set: str | None = None
    start_m: tuple[float, float, float]  # NED
    heading_deg: float = Field(default=0.0, ge=-360, le=360)
    thrust_limit_N: float | None = Field(
        default=None, gt=0, le=5000
    )  # per thruster and direction; None: the parameter set's

    @model_validator(mode="after")
    def _described_once(self) -> Member:
        for key in ("type", "parameter_set", "thrust_limit_N"):
            if self.assembly is not None and key in self.model_fields_set:
                raise ValueError(
                    f"{key} is {getattr(self, key)!r} beside assembly '{self.assembly}', expected only one"
                )
        return self

    def vehicle(self, parameter_set: str | None = None) -> Vehicle:
        """Its description, loaded; of an assembly, the composite. `parameter_set`: another, thrust limited alike."""
        if self.assembly is not None:
            if parameter_set is not None:
                raise ShoalError(
                    f"parameter_set = '{parameter_set}' for {self.name}, which is assembly '{self.assembly}'; "
                    "expected a vehicle of one type"
                )
            return load_assembly(self.assembly).composite().vehicle
        vehicle = load_vehicle(self.type, parameter_set or self.parameter_set)
        if self.thrust_limit_N is not None:
            return vehicle.with_thrust_limit(self.thrust_limit_N)
        return vehicle if parameter_set is None else vehicle.limited_as(load_vehicle(self.type, self.parameter_set))

    def start_state(self) -> State:
        """At rest at the start pose, level."""
        return State.at_rest(self.start_m, math.radians(self.heading_deg))


class SightEntry(FileModel):
    """Who must see whom, and the cone's half-angles."""

    topology: str = Field(default="all", pattern="^(all|ring|chain|star|across|none|given)$")
    stride: int = Field(default=1, ge=1)
    pairs: tuple[tuple[str, str], ...] = ()
    soft_deg: float = Field(default=30.0, gt=0, lt=180)
    hard_deg: float = Field(default=60.0, gt=0, lt=180)

    @model_validator(mode="after")
    def _ordered(self) -> SightEntry:
        if self.soft_deg > self.hard_deg:
            raise ValueError(f"soft_deg = {self.soft_deg} exceeds hard_deg = {self.hard_deg}, expected soft ≤ hard")
        if self.stride != 1 and self.topology != "star":
            raise ValueError(f"stride = {self.stride} with topology '{self.topology}', expected it with 'star' only")
        if self.pairs and self.topology != "given":
            raise ValueError(f"pairs with topology '{self.topology}', expected them with 'given' only")
        return self


class DistanceEntry(FileModel):
    """How close vehicles may come."""

    soft_m: float = Field(default=2.0, gt=0, le=100)
    hard_m: float = Field(default=0.75, gt=0, le=100)

    @model_validator(mode="after")
    def _ordered(self) -> DistanceEntry:
        if self.soft_m < self.hard_m:
            raise ValueError(f"soft_m = {self.soft_m} is below hard_m = {self.hard_m}, expected soft ≥ hard")
        return self


class Fleet(FileModel):
    """A fleet file, validated."""

    version: int = Field(ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    control_period_s: float = Field(default=0.05, gt=0, le=1.0)
    formation: Formation = Formation()
    controller: str = Field(default="nmpc", description="name or file in config/controllers, or package.module:Name")
    sight: SightEntry = SightEntry()
    distance: DistanceEntry = DistanceEntry()
    vehicles: tuple[Member, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_once(self) -> Fleet:
        names = [v.name for v in self.vehicles]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"vehicle name '{name}' appears {names.count(name)} times, expected each once")
        for pair in self.sight.pairs:
            for name in pair:
                if name not in names:
                    raise ValueError(f"sight.pairs names '{name}', expected one of {', '.join(names)}")
        return self

    @model_validator(mode="after")
    def _formation_acts(self) -> Fleet:
        """A value that its kind of formation has no use for is a mistake."""
        formation, fields = self.formation, Formation.model_fields
        for key, unused in (("line_deg", formation.kind != "line"), ("spacing_m", formation.kind == "offsets")):
            value = getattr(formation, key)
            if unused and value != fields[key].default:
                raise ValueError(f"formation.{key} = {value} does nothing with kind '{formation.kind}', expected none")
        return self

    @property
    def limits(self) -> Limits:
        """Of sight and distance, together."""
        return Limits(
            distance_soft_m=self.distance.soft_m,
            distance_hard_m=self.distance.hard_m,
            sight_soft_deg=self.sight.soft_deg,
            sight_hard_deg=self.sight.hard_deg,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Vehicle names in file order."""
        return tuple(v.name for v in self.vehicles)


def load_fleet(name_or_path: str | Path) -> Fleet:
    """A fleet by name or file; vehicle types and sets are checked as well."""
    path = find_config("fleets", name_or_path)
    fleet = load_yaml(path, Fleet)
    for i, member in enumerate(fleet.vehicles):
        try:
            floats = member.vehicle().waterplane is not None
            if floats and member.start_m[2] != 0:
                raise ShoalError(f"start_m = {list(member.start_m)}: a vessel floats; expected a depth of 0")
        except ShoalError as error:
            raise ShoalError(f"{path}: vehicles.{i} ({member.name}): {error}") from None
    with in_file(path):
        check_places(fleet)
    return fleet


def check_places(fleet: Fleet) -> None:
    """Starts must be in the water and apart, and so must the places of the formation."""
    hard_m, names = fleet.distance.hard_m, fleet.names
    starts = np.array([member.start_m for member in fleet.vehicles])
    for i, member in enumerate(fleet.vehicles):
        if not 0 <= member.start_m[2] <= DEEPEST_M:
            raise ShoalError(
                f"vehicles.{i}.start_m = {list(member.start_m)}: expected a depth below the surface, "
                f"0 to {DEEPEST_M:g} m"
            )
    gap_m, a, b = closest(starts)
    if gap_m < hard_m:
        raise ShoalError(
            f"vehicles.{a}.start_m and vehicles.{b}.start_m are {gap_m:.2f} m apart; "
            f"expected at least hard_m = {hard_m:g}"
        )
    if fleet.formation.kind in ("point", "line") and len(names) > 1 and fleet.formation.spacing_m < hard_m:
        raise ShoalError(
            f"formation.spacing_m = {fleet.formation.spacing_m:g} is below distance.hard_m = {hard_m:g}; expected more"
        )
    gap_m, which = fleet.formation.nearest_places_m(names)
    if gap_m < hard_m:
        raise ShoalError(f"formation: {which} are {gap_m:.2f} m apart; expected at least hard_m = {hard_m:g}")
