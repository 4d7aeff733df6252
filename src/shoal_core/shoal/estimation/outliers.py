"""Measurements that cannot be true: single ones are left out, those that agree with each other are a new place.

A position that is metres off moves the vehicle, and a filter that takes it in blames the water for it. One alone is an
outlier. Several in a row that are off by the same are a correction of the map: then the estimate is moved there, and
velocity, wrench and current stay what they are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.estimation.kalman import BLOCKS

Array = NDArray[np.float64]
LEAST_AGREEING = 3  # however slow they come
SAME = 0.3  # of their length: offsets closer together than this agree
# What a model that is far off may miss for each second between two measurements: m, rad, m/s, rad/s.
MISSED_PER_S = np.array([0.3, 1.0, 5.0, 20.0])


class OutlierSettings(FileModel):
    """A measurement is left out when it is too many sigmas *and* too far from what was expected."""

    enabled: bool = Field(default=True, description="off: every measurement is taken in")
    sigmas: float = Field(default=6.0, gt=0, description="of the innovation, beyond which it may be left out")
    position_m: float = Field(default=0.2, gt=0, description="least error of a position that is left out")
    attitude_deg: float = Field(default=15.0, gt=0, description="least error of an attitude that is left out")
    velocity_mps: float = Field(default=0.5, gt=0, description="least error of a velocity that is left out")
    rate_dps: float = Field(default=120.0, gt=0, description="least error of a body rate that is left out")
    agreeing: int = Field(default=5, ge=1, description="so many in a row that agree are believed")
    agreeing_s: float = Field(default=0.5, gt=0, description="three that agree for this long are believed, too")
    patience_s: float = Field(default=3.0, gt=0, description="then whatever comes is believed")
    blend_mps: float = Field(default=0.3, gt=0, description="speed at which a correction of the map is taken over")

    def lengths(self) -> Array:
        """(4,) in m, rad, m/s, rad/s."""
        return np.array(
            [self.position_m, math.radians(self.attitude_deg), self.velocity_mps, math.radians(self.rate_dps)]
        )


class Refusals:
    """Of one block: what was left out since it was last taken in."""

    def __init__(self, settings: OutlierSettings, least: float) -> None:
        """`least`: offsets no further apart than this agree."""
        self._settings, self._least = settings, least
        self.clear()

    def clear(self) -> None:
        """A measurement was taken in."""
        self._first_s: float | None = None
        self._agreeing: list[Array] = []
        self._since_s = 0.0  # of those that agree

    def add(self, stamp_s: float, residual: Array) -> Array | None:
        """One more (3,) was left out; by how much to move (3,) if it is to be believed."""
        s = self._settings
        if self._first_s is None:
            self._first_s = stamp_s
        if not (self._agreeing and self._agrees(residual)):
            self._agreeing, self._since_s = [], stamp_s
        self._agreeing.append(residual)
        count = len(self._agreeing)
        if count >= s.agreeing or (count >= LEAST_AGREEING and stamp_s - self._since_s >= s.agreeing_s - 1e-9):
            return np.mean(self._agreeing, axis=0)
        return residual if stamp_s - self._first_s > s.patience_s else None

    def _agrees(self, residual: Array) -> bool:
        mean = np.mean(self._agreeing, axis=0)
        apart = math.hypot(*(residual - mean).tolist())
        return apart <= max(self._least, SAME * math.hypot(*mean.tolist()))


class OutlierGate:
    """The thresholds of the next measurement, and what is to be done about those left out."""

    def __init__(self, settings: OutlierSettings) -> None:
        self.settings = settings
        self._lengths = settings.lengths()
        self._refusals = [Refusals(settings, float(length)) for length in self._lengths]
        self.clear()

    def clear(self) -> None:
        """The estimate starts anew."""
        self._scatter_m, self._filled = 0.0, (-1.0, 0.0)
        self.has_refused = False  # since the last measurement that was taken in as a whole
        for refusals in self._refusals:
            refusals.clear()

    def expect_scatter(self, sigma_m: float) -> None:
        """One sigma of the measured positions, as seen: they may be worse than described without being outliers."""
        self._scatter_m = sigma_m

    def fill(self, gate: Array, elapsed_s: float) -> None:
        """(5,) squared lengths of the blocks and squared sigmas, for a measurement `elapsed_s` after the last."""
        wanted = round(elapsed_s, 6), self._scatter_m
        if wanted == self._filled or not self.settings.enabled:
            return
        self._filled = wanted
        lengths = self._lengths + MISSED_PER_S * elapsed_s
        lengths[0] = max(lengths[0], self.settings.sigmas * self._scatter_m)
        gate[:BLOCKS], gate[BLOCKS] = lengths**2, self.settings.sigmas**2

    def judge(self, stamp_s: float, taken: Array, residual: Array) -> list[tuple[int, Array, Array | None]]:
        """Blocks that were left out: which, how far they were off (3,), by how much to move the estimate (3,) if so."""
        found: list[tuple[int, Array, Array | None]] = []
        for block, refusals in enumerate(self._refusals):
            if taken[block]:
                refusals.clear()
                continue
            off = residual[3 * block : 3 * block + 3].copy()
            move = refusals.add(stamp_s, off)
            if move is not None:
                refusals.clear()
            found.append((block, off, move))
        self.has_refused = bool(found)
        return found
