"""Thrusters: linear inputs in newtons for a controller, behind them whatever the device does.

A fixed thruster is one input, the force along its direction. An azimuth is two, forces along its direction and across,
for which it turns: force and angle follow with lag and slew, and an idle one does not turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.curves import Curve

Array = NDArray[np.float64]
# Of an azimuth's force limit, for each of its two inputs: a square between the one inside the circle (0.71) and the one
# around it. What is asked for beyond the circle is shortened by the device.
AZIMUTH_SHARE = 0.85


@dataclass(frozen=True)
class Thruster:
    """Force = what the device makes of the command, within limits, with first-order lag, none inside the dead band."""

    name: str
    position_m: Array  # (3,) FRD from CO
    direction: Array  # (3,) unit vector of positive force; of an azimuth at angle 0
    max_forward_N: float
    max_reverse_N: float
    time_constant_s: float
    dead_band_N: float
    propeller_m: float = 0.0  # diameter, for what it loses at the surface; 0: nothing
    inflow_loss: float = 0.0  # √N s/m: thrust lost for water that comes along the direction at 1 m/s, per √thrust
    curve: Curve | None = None  # device signal ↔ force; None: the signal is the share of the limit
    reversed: bool = False  # the device's positive signal pushes against `direction`
    kind: Literal["fixed", "azimuth"] = "fixed"
    slew_radps: float = 0.0  # of an azimuth
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))  # that an azimuth turns about

    @property
    def inputs(self) -> int:
        """Of a controller: 1, or 2 for an azimuth."""
        return 2 if self.kind == "azimuth" else 1

    @property
    def input_names(self) -> tuple[str, ...]:
        """The thruster's name, with _x and _y for an azimuth."""
        return (self.name,) if self.kind == "fixed" else (f"{self.name}_x", f"{self.name}_y")

    @property
    def directions(self) -> Array:
        """(inputs,3) unit vectors of each input's force."""
        if self.kind == "fixed":
            return self.direction[None]
        return np.array([self.direction, np.cross(self.axis, self.direction)])

    @property
    def limits_N(self) -> tuple[float, float]:
        """Of each input, lower and upper."""
        if self.kind == "fixed":
            return -self.max_reverse_N, self.max_forward_N
        return -AZIMUTH_SHARE * self.max_forward_N, AZIMUTH_SHARE * self.max_forward_N

    def produced_N(self, force_N: Array, true: Curve | None = None) -> Array:
        """Force of a fixed thruster after what is asked for was sent to the device; `true`: the curve as it is."""
        limited = np.minimum(np.maximum(force_N, -self.max_reverse_N), self.max_forward_N)
        if self.curve is None:
            return np.where(np.abs(limited) < self.dead_band_N, 0.0, limited)
        sign = -1.0 if self.reversed else 1.0
        return sign * (true or self.curve).force_N(self.curve.signal(sign * limited))

    def produced_of(self, force_N: float, true: Curve | None = None) -> float:
        """`produced_N` of one force, to the bit."""
        limited = min(max(force_N, -self.max_reverse_N), self.max_forward_N)
        if self.curve is None:
            return 0.0 if abs(limited) < self.dead_band_N else limited
        sign = -1.0 if self.reversed else 1.0
        return sign * (true or self.curve).force_of(self.curve.signal_of(sign * limited))

    def to_device(self, inputs_N: Array, angle_rad: float = 0.0) -> Array:
        """What to send: [signal] of a fixed thruster; [signal, angle] of an azimuth that is at `angle_rad` now."""
        if self.kind == "azimuth":
            size = min(float(np.hypot(*inputs_N)), self.max_forward_N)
            if size < self.dead_band_N or size == 0.0:
                return np.array([0.0 if self.curve is None else self.curve.neutral, angle_rad])
            return np.array([self._signal(size), np.arctan2(inputs_N[1], inputs_N[0])])
        force_N = float(min(max(inputs_N[0], -self.max_reverse_N), self.max_forward_N))
        return np.array([self._signal(0.0 if abs(force_N) < self.dead_band_N else force_N)])

    def _signal(self, force_N: float) -> float:
        sign = -1.0 if self.reversed else 1.0
        if self.curve is None:
            return sign * force_N / (self.max_forward_N if force_N > 0 else self.max_reverse_N)
        return float(self.curve.signal(np.array(sign * force_N)))


class Devices:
    """Commands (n,) of a vehicle to the forces that its devices make of them; thrusters without a curve pass."""

    def __init__(self, thrusters: tuple[Thruster, ...], true: tuple[Curve | None, ...] | None = None) -> None:
        """`true`: curves as they are, if others than those by which commands are turned into signals."""
        self._parts: list[tuple[Thruster, int, Curve | None]] = []  # with the place of its first input
        start = 0
        for i, thruster in enumerate(thrusters):
            if thruster.curve is not None:
                self._parts.append((thruster, start, true[i] if true else None))
            start += thruster.inputs
        self._last: tuple[bytes, Array] | None = None  # asked for, and what came of it

    def __call__(self, command_N: Array) -> Array:
        """Forces (n,) after rounding, dead zone and limits of the devices, before lag and slew. Not to be written to.

        A command holds for several steps of the plant: it is worked out once.
        """
        if not self._parts:
            return command_N
        asked = command_N.tobytes()
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._forces_N(np.array(command_N, dtype=float).tolist())
        return self._last[1]

    def _forces_N(self, found: list[float]) -> Array:
        for thruster, k, true in self._parts:
            if thruster.kind == "fixed":
                found[k] = thruster.produced_of(found[k], true)
                continue
            size = float(np.hypot(found[k], found[k + 1]))
            share = thruster.produced_of(size, true) / size if size else 0.0
            found[k], found[k + 1] = found[k] * share, found[k + 1] * share
        return np.array(found)
