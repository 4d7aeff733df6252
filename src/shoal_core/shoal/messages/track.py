"""A vehicle's own reference at the surface, short enough to travel with the common one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class SurfaceTrack:
    """Where it is to be, level, and how that moves on from there; NED."""

    x_m: float
    y_m: float
    heading_rad: float
    vx_mps: float = 0.0
    vy_mps: float = 0.0


NO_TRACKS: Mapping[str, SurfaceTrack] = MappingProxyType({})
