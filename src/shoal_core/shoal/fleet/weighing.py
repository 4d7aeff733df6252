"""A described mass that is far off shows at once as weight: then the weight that is felt is believed instead."""

from __future__ import annotations

GRAVITY_MPS2 = 9.81
EVERY_S = 0.5  # the estimate needs some time to take in what is left
ENOUGH_N = 30.0


class Weighing:
    """Begins when the unexplained vertical force is beyond `limit_N`, and goes on until little of it is left."""

    def __init__(self, limit_N: float) -> None:
        self._limit_N = limit_N
        self._next_s: float | None = None  # None: not weighing
        self.done = False  # whether the mass in use is not the described one

    def called_for(self, force_N: float) -> bool:
        """Whether an unexplained force of this size, wherever it points, is reason to weigh."""
        return self._next_s is not None or force_N > self._limit_N

    def mass_kg(self, t_s: float, mass_kg: float, down_N: float) -> float | None:
        """A better mass for a model of `mass_kg` that misses a force of `down_N`; None: no reason for one."""
        if self._next_s is None and abs(down_N) > self._limit_N:
            self._next_s = t_s + EVERY_S
        if self._next_s is None or EVERY_S >= self._next_s - t_s > 0:
            return None
        self._next_s = None if abs(down_N) < ENOUGH_N else t_s + EVERY_S
        better = mass_kg + down_N / GRAVITY_MPS2
        if better < 0.1 * mass_kg and better < 1.0:  # no vehicle is that light: the force is something else
            return None
        self.done = True
        return better
