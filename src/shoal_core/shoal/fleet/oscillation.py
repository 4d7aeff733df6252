"""A watch on attitude: a vehicle that swings to and fro is controlled more slowly until it is quiet.

Whatever the cause (timing, model, a mounted load), a rotation loop without margin shows in the body rates as swings of
alternating sign that follow each other closely; manoeuvres and waves give a few of them, then they die away. Counting
those beyond a level is Hägglund's detector (1995), on rates. What makes a loop of ours unstable is mostly that the
estimated wrench follows within a period whatever the believed thrust gets wrong; so bandwidth is taken from there, and
from the overdrive.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.estimation.ekf import StateEstimator
from shoal.messages.health import Code, Issue, Severity
from shoal.vehicles.scale import scales_with

Array = NDArray[np.float64]
MEAN_S = 1.0  # turning steadily is no swing; nor does an average over this time follow one


class OscillationSettings(FileModel):
    """When control is slowed down, how far, and for how long."""

    enabled: bool = Field(default=True, description="off: nothing is done about oscillation")
    swing_dps: float = Field(default=15.0, gt=0, description="body rate from which a swing counts")
    swings: int = Field(default=5, ge=2, description="as many within window_s are an oscillation")
    window_s: float = Field(default=2.0, gt=0, description="in which swings are counted")
    force_N: float = Field(
        default=7.0,
        gt=0,
        description="wander of the estimated forces while slowed down",
        json_schema_extra=scales_with("force"),
    )
    moment_Nm: float = Field(
        default=0.3,
        gt=0,
        description="wander of the estimated moments while slowed down",
        json_schema_extra=scales_with("moment"),
    )
    acceleration_mps2: float = Field(default=0.1, gt=0, description="fast model error while slowed down")
    angular_mps2: float = Field(default=1.0, gt=0, description="the same, rotations, rad/s²")
    quiet_s: float = Field(default=5.0, gt=0, description="without oscillation before full bandwidth is tried again")
    longest_s: float = Field(default=80.0, gt=0, description="quiet_s doubles up to this each time it comes back")


class OscillationWatch:
    """`see` each measurement of the body rates; `slowed` while control should be slow."""

    def __init__(self, settings: OscillationSettings) -> None:
        self.settings = settings
        self.slowed = False
        self._quiet_s = settings.quiet_s
        self._ended_s = -math.inf  # when it was quiet last, having swung
        self.clear()

    def clear(self) -> None:
        """Nothing is known of the time before."""
        self._stamp_s: float | None = None
        self._mean, self._sign, self._peak = np.zeros(3), np.zeros(3), np.zeros(3)
        self._wrench = np.zeros(6)
        self._swings: list[list[float]] = [[], [], []]  # when they ended, per axis
        self._last_s = -math.inf  # when there were too many last

    def see(self, stamp_s: float, rates: Array, estimator: StateEstimator, probed: bool = False) -> None:
        """Measured body rates (3,); the estimator is slowed down or set free. `probed`: swings of our own making."""
        s = self.settings
        if probed:
            self.clear()
        if probed or not s.enabled:
            return
        elapsed_s = 0.0 if self._stamp_s is None else max(0.0, stamp_s - self._stamp_s)
        self._stamp_s = stamp_s
        share = 1 - math.exp(-elapsed_s / MEAN_S)
        self._mean += share * (rates - self._mean)
        self._wrench += share * (estimator.wrench - self._wrench)
        if self._count(stamp_s, rates - self._mean) >= s.swings:
            self._last_s = stamp_s
        if not self.slowed and self._last_s == stamp_s:
            self._slow_down(stamp_s, estimator)
        elif self.slowed and stamp_s - self._last_s > self._quiet_s:
            self.slowed, self._ended_s = False, stamp_s
            estimator.set_doubt(None)

    def _slow_down(self, stamp_s: float, estimator: StateEstimator) -> None:
        s = self.settings
        soon = stamp_s - self._ended_s < self._quiet_s + s.quiet_s  # never, the first time
        self._quiet_s = min(s.longest_s, 2 * self._quiet_s) if soon else s.quiet_s
        self.slowed = True
        estimator.set_doubt((s.acceleration_mps2, s.angular_mps2, s.force_N, s.moment_Nm))
        # Slow as it is from now on, it would keep for long what the last swing has made it believe.
        estimator.explain(estimator.wrench - self._wrench)

    def _count(self, stamp_s: float, swing: Array) -> int:
        """Swings within the window, on the axis with the most of them."""
        level, oldest_s = math.radians(self.settings.swing_dps), stamp_s - self.settings.window_s
        most = 0
        for axis, value in enumerate(swing.tolist()):
            sign, ended = math.copysign(1.0, value), self._swings[axis]
            if sign != self._sign[axis]:
                if self._peak[axis] > level:
                    ended.append(stamp_s)
                self._sign[axis], self._peak[axis] = sign, 0.0
            self._peak[axis] = max(self._peak[axis], abs(value))
            while ended and ended[0] < oldest_s:
                ended.pop(0)
            most = max(most, len(ended))
        return most

    def issues(self) -> tuple[Issue, ...]:
        """What an operator should know."""
        if not self.slowed:
            return ()
        return (Issue(Code.OSCILLATION, Severity.WARNING, value=self._quiet_s),)
