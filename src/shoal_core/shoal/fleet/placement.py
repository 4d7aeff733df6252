"""Places in a formation for the vehicles of a fleet, with who must see whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.file import Fleet
from shoal.fleet.topology import Pairs, pairs
from shoal.guidance.formation import Formation
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


def assign(
    fleet: Fleet,
    formation: Formation,
    positions_m: Mapping[str, Array],
    center_m: Array,
    yaw_rad: float = 0.0,
    t_s: float = 0.0,
) -> Placement:
    """Places for vehicles where they are now; a ShoalError that says why the formation cannot be."""
    points = np.array([positions_m[name] for name in fleet.names])
    placement = formation.assign(fleet.names, points, center_m, yaw_rad, t_s)
    return replace(placement, sight=sight_pairs(fleet, placement.order))


def sight_pairs(fleet: Fleet, order: Sequence[str] = ()) -> Pairs:
    """Who must see whom; `order` around the ring as they stand, so that a topology's strides are geometric ones."""
    kind = fleet.sight.pairs if fleet.sight.topology == "given" else fleet.sight.topology
    return pairs(kind, order if len(order) == len(fleet.names) else fleet.names, fleet.sight.stride)


def places_m(placement: Placement, position_m: Array, yaw_rad: float, t_s: float) -> dict[str, Array]:
    """Every vehicle's place (3,) when the common point is there."""
    point = Preview(np.array([t_s]), np.asarray(position_m)[None], np.zeros((1, 3)), np.array([yaw_rad]))
    return {name: placement.setpoint(name, point).positions_m[0] for name in placement.offsets}
