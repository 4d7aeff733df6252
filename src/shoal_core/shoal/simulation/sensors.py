"""What a vehicle knows of itself: odometry with noise, bias, its own rate, late, and under stamps that may be wrong."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.frames import from_yaw, multiply
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION, TWIST
from shoal.simulation.conditions import Sensors
from shoal.simulation.fault_entry import Fault
from shoal.simulation.navigation_errors import NavigationErrors
from shoal.simulation.sensor_faults import SensorFaults

Array = NDArray[np.float64]
_EDGE = 1e-9  # seconds; times are sums of steps


class OdometrySensor:
    """One vehicle's sensors.

    `push` the truth as the simulation goes on; `latest` gives the newest measurement that has arrived, stamped with
    the instant it was true, unless the settings put the stamps off. Each measurement draws the same number of random
    values whatever the settings, so that two conditions with the same seed differ by their settings alone.
    """

    def __init__(self, settings: Sensors, rng: np.random.Generator, faults: Sequence[Fault] = ()) -> None:
        self.settings, self._faults = settings, SensorFaults(faults) if faults else None
        self._rng = rng
        self.position_bias_m: Array = np.asarray(settings.position_bias_m) + (
            settings.position_bias_std_m * rng.standard_normal(3)
        )
        degree = math.pi / 180
        self._std = np.repeat(
            [settings.position_std_m, settings.attitude_std_deg * degree, settings.velocity_std_mps,
             settings.rate_std_dps * degree], 3
        )  # fmt: skip
        s = settings
        self._errors = NavigationErrors(  # from a stream of their own: the noise stays what it is without them
            s.outliers, s.jumps, s.freezes, s.gaps, s.position_drift_mps, s.position_walk_m, rng.spawn(1)[0]
        )
        self._on_the_way: deque[tuple[float, Odometry]] = deque()  # with the time of arrival
        self._stamp_rng = rng.spawn(1)[0]  # a stream of its own: the noise is the same whatever the stamps
        heading_rad = math.radians(settings.heading_bias_std_deg) * float(rng.spawn(1)[0].standard_normal())
        self._heading_bias = from_yaw(heading_rad) if heading_rad else None
        self._arrived: Odometry | None = None
        self._last_slot = -1

    def push(self, t_s: float, state: Array) -> None:
        """The true 13-state at `t_s`; a measurement is taken if the sensor's rate allows one by now."""
        if self.settings.rate_hz is not None:
            slot = math.floor(t_s * self.settings.rate_hz + _EDGE)
            if slot <= self._last_slot:
                return
            self._last_slot = slot
        measured: Odometry | None = self._measure(t_s, state)
        if self._faults is not None and measured is not None:
            measured = self._faults.spoil(t_s, measured)
        if measured is not None and not self._errors.silent(t_s):
            self._on_the_way.append((t_s + self.settings.latency_s, measured))

    def latest(self, t_s: float) -> Odometry | None:
        """The newest measurement that is there at `t_s`; None before the first has arrived. Times must not go back."""
        while self._on_the_way and self._on_the_way[0][0] <= t_s + _EDGE:
            self._arrived = self._on_the_way.popleft()[1]
        return self._arrived

    def _measure(self, t_s: float, state: Array) -> Odometry:
        noise = self._rng.standard_normal(12)
        noise *= self._std
        uniform = self._rng.random(3)  # drawn whether it counts or not
        measured = state.copy()
        position = measured[POSITION]
        position += self.position_bias_m
        position += noise[POSITION]
        if self.settings.position_uniform_m > 0:
            position += self.settings.position_uniform_m * (2.0 * uniform - 1.0)
        measured[ATTITUDE] = turned(state[ATTITUDE], noise[3:6])
        if self._heading_bias is not None:
            measured[ATTITUDE] = multiply(self._heading_bias, measured[ATTITUDE])
        measured[TWIST] += noise[6:12]
        return Odometry(self._stamp_s(t_s), self._errors.spoil(t_s, measured))

    def _stamp_s(self, t_s: float) -> float:
        jitter = 2.0 * float(self._stamp_rng.random()) - 1.0
        return t_s + self.settings.stamp_offset_s + self.settings.stamp_jitter_s * jitter


def turned(quaternion: Array, rotation_rad: Array) -> tuple[float, float, float, float]:
    """q ⊗ δq: the attitude turned by a rotation vector in the body frame; of unit length."""
    w0, x0, y0, z0 = quaternion.tolist()  # plain floats: many times faster than arrays of four
    x, y, z = rotation_rad.tolist()
    angle = math.hypot(x, y, z)
    c, s = math.cos(angle / 2), (math.sin(angle / 2) / angle if angle > 0.0 else 0.5)
    x, y, z = s * x, s * y, s * z
    w1, x1 = w0 * c - x0 * x - y0 * y - z0 * z, w0 * x + x0 * c + y0 * z - z0 * y
    y1, z1 = w0 * y - x0 * z + y0 * c + z0 * x, w0 * z + x0 * y - y0 * x + z0 * c
    norm = math.hypot(w1, x1, y1, z1)
    return w1 / norm, x1 / norm, y1 / norm, z1 / norm
