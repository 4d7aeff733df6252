"""The formation as it stands: kind and size may change at any time, places are then shared out anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from shoal.errors import ShoalError
from shoal.fleet.file import Fleet
from shoal.fleet.topology import Pairs, pairs
from shoal.guidance.formation import Formation, Slots
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """What an operator may change."""

    kind: str
    spacing_m: float
    radius_m: float  # of a ring; the others have none
    line_deg: float

    @staticmethod
    def of(fleet: Fleet) -> Shape:
        """As the fleet file wants it; a radius it does not need is one that would do."""
        entry, count = fleet.formation, len(fleet.vehicles)
        enough_m = entry.spacing_m / (2 * np.sin(np.pi / count)) if count > 1 else entry.spacing_m
        return Shape(entry.kind, entry.spacing_m, float(entry.radius_m or round(enough_m + 0.05, 1)), 90.0)


@dataclass(frozen=True)
class Places:
    """Who stands where, and who must see whom."""

    slots: Slots
    sight: Pairs

    def at(self, position_m: Array, yaw_rad: float, t_s: float) -> dict[str, Array]:
        """Every vehicle's place (3,) when the common point is there."""
        point = Preview(np.array([t_s]), position_m[None], np.zeros((1, 3)), np.array([yaw_rad]))
        return {name: self.slots.place(name, point).positions_m[0] for name in self.slots.offsets}


def share_out(
    fleet: Fleet, shape: Shape, positions_m: Mapping[str, Array], center_m: Array, yaw_rad: float, t_s: float
) -> Places:
    """Places for vehicles where they are now; a ShoalError that says why the shape cannot be."""
    try:
        formation = Formation.model_validate(
            {
                "kind": shape.kind,
                "spacing_m": shape.spacing_m,
                "radius_m": shape.radius_m if shape.kind == "ring" else None,
                "line_deg": shape.line_deg,
                "offsets_m": fleet.formation.offsets_m if shape.kind == "offsets" else None,
            }
        )
    except ValidationError as error:
        said = "; ".join(str(item["msg"]).removeprefix("Value error, ") for item in error.errors())
        raise ShoalError(f"formation: {said}") from None
    points = np.array([positions_m[name] for name in fleet.names])
    slots = formation.assign(fleet.names, points, center_m, yaw_rad, t_s)
    topology = fleet.sight.topology
    return Places(slots, pairs(fleet.sight.pairs if topology == "given" else topology, slots.order, fleet.sight.stride))
