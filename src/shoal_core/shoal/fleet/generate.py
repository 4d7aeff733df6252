"""Fleets by number: the shipped file of that size, or a ring that is laid out for it."""

from __future__ import annotations

import numpy as np

from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, load_fleet
from shoal.fleet.placement import assign, widest_sight

BY_SIZE = {1: "one", 2: "two", 3: "three", 5: "ring5", 10: "ring10"}


def resolve_fleet(name: str) -> Fleet:
    """A number, a shipped name or a file."""
    try:
        count = float(name)
    except ValueError:
        return load_fleet(name)
    if count in BY_SIZE:
        return load_fleet(BY_SIZE[int(count)])
    if not (1 <= count <= 64 and count.is_integer()):
        raise ShoalError(f"fleet = {name}; expected 1 to 64 vehicles, a fleet's name or a file")
    return ring_fleet(int(count))


def ring_fleet(count: int) -> Fleet:
    """Any number of vehicles, 2.3 m apart on a ring, each seeing two across it."""
    radius = 2.3 / (2 * np.sin(np.pi / count))
    angles = 2 * np.pi * np.arange(count) / count
    members = [
        {
            "name": f"rov{i + 1}",
            "start_m": (float(radius * np.cos(a)), float(radius * np.sin(a)), 5.0),
            "heading_deg": float((np.rad2deg(a) + 360) % 360 - 180),
        }
        for i, a in enumerate(angles)
    ]
    given = {
        "version": 1,
        "name": f"ring{count}",
        "formation": {"kind": "ring", "radius_m": float(radius)},
        "sight": {"topology": "across"},
        "vehicles": members,
    }
    fleet = Fleet.model_validate(given)
    starts = {m.name: np.array(m.start_m) for m in fleet.vehicles}
    standing_deg = widest_sight(assign(fleet, fleet.formation, starts, np.array([0.0, 0.0, 5.0])))[0]
    sight = fleet.sight.model_copy(update={"soft_deg": max(30.0, float(np.ceil(standing_deg + 9.0)))})
    return fleet.model_copy(update={"sight": sight})
