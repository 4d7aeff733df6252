"""A described mass that is far off shows at once as weight: then the weight that is felt is believed instead."""

from __future__ import annotations

EVERY_S = 0.5  # the estimate needs some time to take in what is left
ENOUGH_N = 30.0
LIGHTEST_N = 10.0


class MassAdaptation:
    """Begins when the unexplained vertical force stays beyond `limit_N`, and goes on until little of it is left."""

    def __init__(self, limit_N: float, scale: float = 1.0) -> None:
        """`scale`: thrust beside a BlueROV2's; the described weight is what is in doubt."""
        self._limit_N, self._enough_N, self._lightest_N = limit_N, scale * ENOUGH_N, scale * LIGHTEST_N
        self._next_s: float | None = None  # when to look again; None: nothing to weigh
        self._begun = False
        self.done = False  # whether the mass in use is not the described one

    def weight_N(self, t_s: float, weight_N: float, down_N: float) -> float | None:
        """A better weight for a model of `weight_N` that misses a force of `down_N`; None: no reason for one."""
        if not self._begun and abs(down_N) <= self._limit_N:  # a jump of the odometry pulls for a moment only
            self._next_s = None
            return None
        if self._next_s is None or t_s < self._next_s - EVERY_S:  # the first time, or the clock went back
            self._next_s = t_s + EVERY_S
        if t_s < self._next_s:
            return None
        self._begun = abs(down_N) >= self._enough_N
        self._next_s = t_s + EVERY_S if self._begun else None
        better = weight_N + down_N
        if better < self._lightest_N:  # no vehicle is that light: the force is something else
            return None
        self.done = True
        return better
