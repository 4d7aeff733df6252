"""Fleet files: which vehicles swim, what they are, where they start, and what holds for all of them."""

from __future__ import annotations

import math
from pathlib import Path

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml
from shoal.errors import ShoalError
from shoal.guidance.formation import Formation
from shoal.messages.limits import Limits
from shoal.messages.state import State
from shoal.vehicles.description import Vehicle, load_vehicle


class Member(FileModel):
    """One vehicle of the fleet."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    type: str = "bluerov2_heavy"
    parameter_set: str | None = None
    start_m: tuple[float, float, float]  # NED
    heading_deg: float = Field(default=0.0, ge=-360, le=360)
    thrust_limit_N: float | None = Field(default=None, gt=0)  # per thruster and direction; None: the parameter set's

    def vehicle(self) -> Vehicle:
        """Its description, loaded."""
        vehicle = load_vehicle(self.type, self.parameter_set)
        return vehicle if self.thrust_limit_N is None else vehicle.with_thrust_limit(self.thrust_limit_N)

    def start_state(self) -> State:
        """At rest at the start pose, level."""
        return State.at_rest(self.start_m, math.radians(self.heading_deg))


class SightEntry(FileModel):
    """Who must see whom, and the cone's half-angles."""

    topology: str = Field(default="all", pattern="^(all|ring|chain|star|none|given)$")
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
            member.vehicle()
        except ShoalError as error:
            raise ShoalError(f"{path}: vehicles.{i} ({member.name}): {error}") from None
    return fleet
