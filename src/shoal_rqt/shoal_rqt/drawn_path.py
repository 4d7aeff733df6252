"""The whole path of the test that is on, from before it starts until it is over. No Qt, no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.guidance.path_file import load_path

Array = NDArray[np.float64]
POINTS = 400
NOTHING: Array = np.zeros((0, 3))


class DrawnPath:
    """Read once for each test."""

    def __init__(self) -> None:
        self.name, self.points_m = "", NOTHING

    def of(self, status: Mapping[str, Any]) -> Array:
        """(K,3) NED, by what guidance says of its test; none without one, or of a path that this computer lacks."""
        on = status.get("state") in ("gliding", "waiting", "running")
        name = str(status.get("test") or "") if on else ""
        if name != self.name:
            self.name, self.points_m = name, _points_m(name)
        return self.points_m


def _points_m(name: str) -> Array:
    if not name:
        return NOTHING
    try:
        path = load_path(name)
    except ShoalError:
        return NOTHING
    return np.asarray(path.position(np.linspace(0.0, path.duration_s, POINTS)))
