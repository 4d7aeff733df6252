"""Sight angles and distances over the last minutes, for the time plots. No Qt, no ROS."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from shoal_rqt.model import FleetModel

Array = NDArray[np.float64]
KEPT_S, EVERY_S = 120.0, 0.4


class History:
    """One column per vehicle: its worst angle to those it must see, and the distance to whoever is nearest."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, dict[str, tuple[float, float]]]] = deque(maxlen=round(KEPT_S / EVERY_S) + 1)

    def sample(self, model: FleetModel, wall_s: float) -> None:
        """As often as you like; kept every 0.4 s of the fleet's time. A clock that goes back starts anew."""
        t_s = wall_s if model.t_s is None else model.t_s
        if self._rows and t_s < self._rows[-1][0]:
            self._rows.clear()
        if self._rows and t_s < self._rows[-1][0] + EVERY_S:
            return
        row = {}
        for name in model.vehicles:
            views = [model.neighbour(name, other, wall_s) for other in model.vehicles if other != name]
            angles = [view.angle_deg for view in views if view.must_see and view.angle_deg is not None]
            gaps = [view.distance_m for view in views if view.distance_m is not None]
            row[name] = max(angles, default=np.nan), min(gaps, default=np.nan)
        self._rows.append((t_s, row))

    def series(self, name: str) -> tuple[Array, Array, Array]:
        """Seconds before the newest sample (T,), angles in ° (T,) and distances in m (T,); NaN: not known."""
        unknown = (np.nan, np.nan)
        times = np.array([t_s for t_s, _ in self._rows])
        values = np.array([row.get(name, unknown) for _, row in self._rows]).reshape(-1, 2)
        return (times - times[-1] if len(times) else times), values[:, 0], values[:, 1]
