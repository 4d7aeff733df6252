"""From wanted thruster forces to the six RC axes of ArduSub in MANUAL.

Eight thrusters, six axes: two directions of effort are out of reach, (1,1,1,1) on thrusters 1–4 and (1,−1,−1,1) on 5–8.
In force they do nothing for the body; but a thruster's curve bends, and what the inverse curve puts into them is lost.
So the produced wrench is solved for, by Newton's method on the six axes, instead of the efforts one by one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.ardusub import mixer
from shoal.ardusub.layout import layout_of
from shoal.vehicles.curves import Curve, ThrusterTable, load_table
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
STEPS = 4
LEAST_SLOPE_N = 8.0  # per unit of effort: in the dead zone the curve is flat, and Newton would jump
# What counts as error of a wrench: a newton metre like 8 N (levers are 0.12 to 0.22 m).
_WEIGHT = np.array([1.0, 1.0, 1.0, 8.0, 8.0, 8.0])
VOLTAGE_STEP_V = 0.1  # a new curve only for a change that matters


class AxisMap:
    """`axes(force_N)` for one vehicle; `set_voltage` as the battery goes down."""

    def __init__(
        self, vehicle: Vehicle, table: str = "t200", voltage_V: float = 16.0, directions: Array | None = None,
        method: str = "newton",
    ) -> None:  # fmt: skip
        """`directions`: MOT_n_DIRECTION (8,), which make up for the wiring; `method`: newton or simple."""
        self.vehicle, self.layout = vehicle, layout_of(vehicle)
        self._table: ThrusterTable = load_table(table)
        self._newton = method == "newton"
        # Forces that cancel each other do nothing for the body, and axes cannot give them: the least with that wrench.
        self._least = np.linalg.pinv(self.layout.wrench) @ self.layout.wrench
        self.directions = np.ones(mixer.COUNT) if directions is None else directions
        self.voltage_V = math.nan
        self.set_voltage(voltage_V)

    def set_voltage(self, voltage_V: float) -> bool:
        """Of the battery; outside what was measured the nearest curve counts, and the answer is False."""
        lowest, highest = self._table.voltages_V[0], self._table.voltages_V[-1]
        used = min(max(voltage_V, lowest), highest)
        if not abs(used - self.voltage_V) < VOLTAGE_STEP_V:
            self.voltage_V = used
            self._curve: Curve = self._table.at(used)
            self._efforts = (self._curve.signals - self._curve.neutral) / mixer.HALF_RANGE_US
            self._slopes = np.diff(self._curve.forces_N) / np.diff(self._efforts)
        return lowest <= voltage_V <= highest

    def forces_N(self, effort: Array) -> Array:
        """(8,) along ArduSub's positive directions. A turned direction swaps the strong side of the propeller."""
        turned = self.directions * np.clip(effort, -1.0, 1.0)
        return self.directions * np.interp(turned, self._efforts, self._curve.forces_N)

    def wrench(self, axes: Array) -> Array:
        """The body wrench (6,) that the mixer and the thrusters make of axes (6,)."""
        return np.asarray(self.layout.wrench @ self.forces_N(mixer.efforts(axes)))

    def axes(self, force_N: Array) -> Array:
        """Axes (6,) in ±1 for forces (8,) in the vehicle's own order and directions."""
        wanted_N = self._least @ self.layout.to_autopilot(force_N)
        simple = mixer.within_reach(0.25 * mixer.FACTORS.T @ self._inverse(wanted_N))
        if not self._newton:
            return simple
        return self._solve(self.layout.wrench @ wanted_N, simple)

    def rc(self, force_N: Array) -> list[int]:
        """RC channels 1–6; a force that is no number counts as none."""
        finite = np.where(np.isfinite(force_N), force_N, 0.0)
        return mixer.rc_of_axes(self.axes(finite))

    def controls(self, force_N: Array) -> list[float]:
        """Shares (8,) of the pulse width's range, output by output; a force that is no number counts as none."""
        wanted_N = self.layout.to_autopilot(np.where(np.isfinite(force_N), force_N, 0.0))
        return [float(share) for share in np.clip(self.directions * self._inverse(wanted_N), -1.0, 1.0)]

    def _inverse(self, force_N: Array) -> Array:
        """Efforts (8,) for forces."""
        found = np.interp(self.directions * force_N, self._curve.forces_N, self._efforts)
        return np.where(np.abs(force_N) < 1e-9, 0.0, self.directions * found)

    def _solve(self, wanted: Array, start: Array) -> Array:
        """Newton from the simple answer; the best of all that was tried."""
        best, best_error = start, self._error(wanted, start)
        axes = start
        for _ in range(STEPS):
            effort = mixer.efforts(axes)
            missing = wanted - self.layout.wrench @ self.forces_N(effort)
            jacobian = (self.layout.wrench * self._slope(effort)) @ mixer.FACTORS
            axes = mixer.within_reach(axes + np.linalg.solve(jacobian, missing))
            error = self._error(wanted, axes)
            if error < best_error:
                best, best_error = axes, error
        return best

    def _slope(self, effort: Array) -> Array:
        """(8,) N per unit of effort."""
        place = np.searchsorted(self._efforts, self.directions * effort, side="right") - 1
        return np.maximum(self._slopes[np.clip(place, 0, len(self._slopes) - 1)], LEAST_SLOPE_N)

    def _error(self, wanted: Array, axes: Array) -> float:
        return float(np.linalg.norm(_WEIGHT * (self.wrench(axes) - wanted)))
