"""Where a neighbour is seen against where its plan has it: the difference of two navigations, or a wrong plan."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SETTLE_S = 2.0  # of the difference: navigations drift slowly
ODD_M, ODD_COUNT = 0.6, 3  # that far off what is expected, so often in a row: the difference has jumped
DISAGREE_M = 1.0  # a plan that is further off is doubted
LOST_S = 1.0  # unseen for longer: the next sighting has no velocity
UNSEEN_MPS, UNSEEN_M = 0.02, 0.3  # how fast two navigations part while nobody looks, and how much of it counts


class RelativePosition:
    """Of one neighbour, in our own navigation's frame."""

    def __init__(self) -> None:
        self.bias_m: Array | None = None  # (3,) seen − planned, once both are known
        self.place_m: Array = np.zeros(3)  # where it was seen last
        self.velocity_mps: Array = np.zeros(3)
        self.seen_s = -math.inf
        self._scatter_m = 0.0  # how far sightings are off the shifted plan
        self._odd: list[Array] = []

    def see(self, t_s: float, place_m: Array, planned_m: Array | None) -> None:
        """A sighting at `place_m` (3,); `planned_m` (3,): where its plan has it then."""
        elapsed_s = t_s - self.seen_s
        if elapsed_s <= 0:
            return
        if elapsed_s < LOST_S:
            share = 1.0 - math.exp(-elapsed_s / SETTLE_S)
            self.velocity_mps = self.velocity_mps + share * ((place_m - self.place_m) / elapsed_s - self.velocity_mps)
        else:
            share, self.velocity_mps = 1.0 - math.exp(-LOST_S / SETTLE_S), np.zeros(3)
        self.place_m, self.seen_s = place_m, t_s
        if planned_m is None:
            return
        off_m = place_m - planned_m
        if self.bias_m is None:
            self.bias_m = off_m
            return
        odd_m = float(np.linalg.norm(off_m - self.bias_m))
        self._scatter_m += share * (odd_m - self._scatter_m)
        self._odd = [*self._odd, off_m][-ODD_COUNT:] if odd_m > ODD_M else []
        if len(self._odd) == ODD_COUNT:
            self.bias_m, self._odd = np.median(self._odd, axis=0), []
        elif not self._odd:  # a single one that is odd is an outlier
            self.bias_m = self.bias_m + share * (off_m - self.bias_m)

    def margin_m(self, t_s: float) -> float:
        """How far the shifted plan may be off."""
        return self._scatter_m + min(UNSEEN_MPS * max(0.0, t_s - self.seen_s), UNSEEN_M)

    @property
    def disagreement_m(self) -> float:
        """How far plan and sight are apart; 0 while that is no reason for doubt."""
        off_m = 0.0 if self.bias_m is None else float(np.linalg.norm(self.bias_m))
        return off_m if off_m > DISAGREE_M else 0.0
