"""Fleets by number: the shipped file of that size, or a ring that is laid out for it."""

from __future__ import annotations

import numpy as np

from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, load_fleet

BY_SIZE = {1: "one", 2: "two", 3: "three", 5: "ring5", 10: "ring10"}
THRUST_LIMIT_N = 16.6  # as the shipped fleets: what gives the vehicle's stated 1.5 m/s


def resolve_fleet(name: str) -> Fleet:
    """A number, a shipped name or a file."""
    if not name.isdigit():
        return load_fleet(name)
    count = int(name)
    if count in BY_SIZE:
        return load_fleet(BY_SIZE[count])
    if not 1 <= count <= 64:
        raise ShoalError(f"fleet = {name}; expected 1 to 64 vehicles, a fleet's name or a file")
    return ring_fleet(count)


def ring_fleet(count: int) -> Fleet:
    """Any number of vehicles, 2.3 m apart on a ring, each seeing the ones across at the next best angle."""
    radius = 2.3 / (2 * np.sin(np.pi / count))
    angles = 2 * np.pi * np.arange(count) / count
    members = [
        {
            "name": f"bluerov{i + 2}",
            "start_m": (float(radius * np.cos(a)), float(radius * np.sin(a)), 5.0),
            "heading_deg": float((np.rad2deg(a) + 360) % 360 - 180),
            "thrust_limit_N": THRUST_LIMIT_N,
        }
        for i, a in enumerate(angles)
    ]
    # The widest stride that visits everyone (coprime with the count) sees its partners closest to straight ahead.
    stride = max(s for s in range(1, (count + 1) // 2 + 1) if np.gcd(s, count) == 1 and 2 * s <= count + 1)
    angle = 90 - 180 * stride / count
    sight = {"topology": "star", "stride": stride, "soft_deg": min(55.0, max(30.0, angle + 9)), "hard_deg": 60.0}
    return Fleet.model_validate(
        {
            "version": 1,
            "name": f"ring{count}",
            "formation": {"kind": "ring", "radius_m": float(radius)},
            "sight": sight,
            "vehicles": members,
        }
    )
