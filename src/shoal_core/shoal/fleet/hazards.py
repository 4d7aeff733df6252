"""Where a silent neighbour was last known to be: nobody swims through there until it is known to be elsewhere.

A silent neighbour may swim on to its place in the formation (the forecast reckons with that, too) or lie dead in the
water. The hazard is for the second case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.messages.plan import Plan

Array = NDArray[np.float64]
LAST_SEEN = " (last seen)"


@dataclass(frozen=True)
class Hazard:
    """A ball in which it was when it was last heard of."""

    vehicle: str
    place_m: Array  # (3,) NED
    radius_m: float
    since_s: float  # when it was last heard of, in our clock

    @property
    def name(self) -> str:
        """Among the neighbours; not the vehicle's own, which is expected at its place in the formation, too."""
        return self.vehicle + LAST_SEEN

    def nearest_m(self, own_m: Array, t_s: float, rise_mps: float) -> Array:
        """Where it may be by now that is closest in depth to us (3,): a dead vehicle that is buoyant floats up."""
        top_m = max(0.0, float(self.place_m[2]) - rise_mps * max(0.0, t_s - self.since_s))
        place = self.place_m.copy()
        place[2] = min(float(place[2]), max(float(own_m[2]), top_m))
        return place

    def margin_m(self, t_s: float, growth_mps: float, largest_m: float) -> float:
        """How far from `place_m` it may be by now: nobody knows whether it drifts, and which way."""
        return self.radius_m + min(growth_mps * max(0.0, t_s - self.since_s), largest_m)


def hazard_of(plan: Plan, since_s: float) -> Hazard:
    """It stopped at once, or at its plan's end, or in between."""
    first, last = plan.positions_m[0], plan.positions_m[-1]
    return Hazard(plan.vehicle, 0.5 * (first + last), 0.5 * float(np.linalg.norm(last - first)), since_s)
