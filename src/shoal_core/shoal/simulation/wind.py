"""A steady push of the wind on hulls that float: on each hull of a platform, so that one that is not even is turned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.frames import matrix
from shoal.messages.state import ATTITUDE
from shoal.simulation.plant import Plant
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


class Wind:
    """The same on every hull; nothing below the surface."""

    def __init__(self, force_N: Sequence[float], vehicles: Sequence[Vehicle]) -> None:
        self._force_N = np.array([*force_N, 0.0])  # NED
        self._places_m = [
            np.array([hull.position_m for hull in v.hulls] or [np.zeros(3)]) if v.waterplane is not None else None
            for v in vehicles
        ]
        if self and all(place is None for place in self._places_m):
            names = ", ".join(sorted({v.name for v in vehicles}))
            raise ShoalError(f"environment.wind_N = {list(force_N)}: {names}: none of them floats; expected no wind")

    def __bool__(self) -> bool:
        return bool(self._force_N.any())

    def blow(self, plant: Plant, duration_s: float) -> None:
        """As impulses, in every vehicle's own axes."""
        for i, places_m in enumerate(self._places_m):
            if places_m is None:
                continue
            own_N = matrix(plant.states[i, ATTITUDE]).T @ self._force_N
            moment = np.cross(places_m.sum(axis=0), own_N)
            plant.push(i, duration_s * np.concatenate([len(places_m) * own_N, moment]))
