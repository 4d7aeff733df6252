"""Vehicle files of version 1, with one lag and one dead band for all thrusters: read, and turned into version 2."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import read_yaml, validate
from shoal.errors import in_file
from shoal.vehicles.vehicle_file import HeaveDirection, Quantity, ThrusterEntry, VehicleFile, shaped

OLD = ("max_forward_thrust", "max_reverse_thrust", "thruster_time_constant", "thruster_dead_band")


class ThrusterEntryV1(FileModel):
    """Where it sits, where it pushes, and limits of its own."""

    name: str
    position_m: tuple[float, float, float]
    direction: tuple[float, float, float]
    max_forward_N: float | None = Field(default=None, gt=0)
    max_reverse_N: float | None = Field(default=None, gt=0)


class ParameterSetV1(FileModel):
    """What differs from version 2; everything else is checked there."""

    source: str
    mass: Any
    weight: Any
    buoyancy: Any
    inertia: Any
    center_of_gravity: Any
    center_of_buoyancy: Any
    added_mass: Any
    linear_damping: Any
    quadratic_damping: Any
    heave_dive: HeaveDirection | None = None
    heave_rise: HeaveDirection | None = None
    added_mass_coriolis: bool = True
    # One limit for all thrusters, or one each in their order.
    max_forward_thrust: Annotated[Quantity, shaped("N", (), (None,), above=0)]
    max_reverse_thrust: Annotated[Quantity, shaped("N", (), (None,), above=0)]
    thruster_time_constant: Annotated[Quantity, shaped("s", (), minimum=0)]
    thruster_dead_band: Annotated[Quantity, shaped("N", (), minimum=0)]


class VehicleFileV1(FileModel):
    """The whole file."""

    version: int = Field(ge=1, le=1)
    name: str
    description: str
    size_m: tuple[float, float, float]
    default_set: str
    thrusters: list[ThrusterEntryV1] = Field(min_length=1)
    sets: dict[str, ParameterSetV1] = Field(min_length=1)

    @model_validator(mode="after")
    def _limits_fit(self) -> VehicleFileV1:
        for set_name, entry in self.sets.items():
            for key, quantity in (("forward", entry.max_forward_thrust), ("reverse", entry.max_reverse_thrust)):
                if isinstance(quantity.value, list) and len(quantity.value) != len(self.thrusters):
                    raise ValueError(
                        f"sets.{set_name}.max_{key}_thrust has {len(quantity.value)} entries, "
                        f"expected {len(self.thrusters)} or one"
                    )
        return self


def load_vehicle_file(path: Path) -> VehicleFile:
    """A vehicle file of either version, as version 2."""
    if not path.is_file():
        return _load.__wrapped__(path)  # what is wrong with it is said where it is read
    stat = path.stat()
    return _load(path, stat.st_ino, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _load(path: Path, *_state: int) -> VehicleFile:
    """A campaign of twenty vehicles names the same file thousands of times; one that was changed is read anew."""
    data = read_yaml(path)
    with in_file(path):
        return validate(path, upgraded(path, data) if data.get("version") == 1 else data, VehicleFile)


def upgraded(path: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 as version 2: thrusters with the same limits share an entry."""
    old = validate(path, data, VehicleFileV1)
    keys = set(ThrusterEntry.model_fields)
    return {
        **data,
        "version": 2,
        "thrusters": [{k: v for k, v in t.items() if k in keys} for t in data["thrusters"]],
        "sets": {name: _set(old, name, entry) for name, entry in data["sets"].items()},
    }


def _set(old: VehicleFileV1, name: str, data: dict[str, Any]) -> dict[str, Any]:
    entry = old.sets[name]
    groups: dict[tuple[float, float], list[str]] = {}
    for i, thruster in enumerate(old.thrusters):
        own = thruster.max_forward_N, thruster.max_reverse_N
        limits = [mine or _of(data[key], i) for mine, key in zip(own, OLD[:2], strict=True)]
        groups.setdefault((limits[0], limits[1]), []).append(thruster.name)
    actuators = [
        {
            "thrusters": "all" if len(groups) == 1 else names,
            "max_forward": {**data["max_forward_thrust"], "value": forward},
            "max_reverse": {**data["max_reverse_thrust"], "value": reverse},
            "lag": entry.thruster_time_constant.model_dump(),
            "dead_band": entry.thruster_dead_band.model_dump(),
        }
        for (forward, reverse), names in groups.items()
    ]
    return {**{key: value for key, value in data.items() if key not in OLD}, "actuators": actuators}


def _of(quantity: dict[str, Any], index: int) -> float:
    value = quantity["value"]
    return float(value[index] if isinstance(value, list) else value)
