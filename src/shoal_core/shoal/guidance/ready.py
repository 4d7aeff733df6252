"""When a test may start: everybody is near its place and sees whom it must see, for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.messages.geometry import fov_angles_deg
from shoal.messages.placement import NamePairs
from shoal.messages.state import POSITION

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ReadyRule:
    """Fosso 2023's: sight angles below 15° and less than 2 m to the start, on every vehicle (for 5 s: TestSequence).

    Two generalisations, without which a fleet of three or five would wait for ever: the distance is to the vehicle's
    own place in the formation at the start, and an angle counts from the one at which the formation itself sees
    (0° face to face, 30° in a triangle).
    """

    angle_deg: float = 15.0
    distance_m: float = 2.0

    def missing(self, states: Mapping[str, Array | None], places_m: Mapping[str, Array], sight: NamePairs) -> list[str]:
        """What still stands in the way, a sentence each; `states` (13,) are fresh, or None."""
        missing = [f"{name}: no odometry" for name, state in states.items() if state is None]
        for name, state in states.items():
            if state is not None and name in places_m:
                away_m = float(np.linalg.norm(state[POSITION] - places_m[name]))
                if not away_m < self.distance_m:
                    missing.append(f"{name}: {away_m:.1f} m from its place")
        for seer, seen in sight:
            own, other = states.get(seer), states.get(seen)
            if own is not None and other is not None:
                angle_deg = _angle_deg(own, other)
                if not angle_deg < self.angle_deg + standing_angle_deg(seer, seen, places_m, sight):
                    missing.append(f"{seer}: sees {seen} at {angle_deg:.0f}°")
        return missing


def standing_angle_deg(seer: str, seen: str, places_m: Mapping[str, Array], sight: NamePairs) -> float:
    """The angle at which `seer` sees `seen` when all are in their places and look at the middle of whom they see."""
    if seer not in places_m or seen not in places_m:
        return 0.0
    ways = {b: places_m[b] - places_m[seer] for a, b in sight if a == seer and b in places_m}
    units = [way / max(float(np.linalg.norm(way)), 1e-9) for way in ways.values()]
    middle = np.sum(units, axis=0) * [1.0, 1.0, 0.0]
    length = float(np.linalg.norm(middle))
    if length < 1e-2:  # they stand on opposite sides, abeam at best
        return 90.0
    to = ways[seen] / max(float(np.linalg.norm(ways[seen])), 1e-9)
    return float(np.degrees(np.arccos(np.clip(middle @ to / length, -1.0, 1.0))))


def _angle_deg(own: Array, other: Array) -> float:
    return float(fov_angles_deg(np.stack([own, other])[None], ((0, 1),))[0, 0])
