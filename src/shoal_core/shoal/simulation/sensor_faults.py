"""A vehicle's navigation that fails: off by a constant, drifting, jumping, frozen, silent or slow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.frames import from_yaw, multiply
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION
from shoal.simulation.fault_entry import Fault

_EDGE = 1e-9  # seconds; times are sums of steps


class SensorFaults:
    """Of one vehicle. Acts on what is measured, before it is under way; the sensor's own noise stays what it is."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = list(faults)
        self._frozen: dict[int, Odometry] = {}
        self._slots: dict[int, int] = {}

    def spoil(self, t_s: float, measured: Odometry) -> Odometry | None:
        """What the sensor gives instead; None: nothing."""
        for i, fault in enumerate(self._faults):
            if not fault.lasts(t_s + _EDGE):
                self._frozen.pop(i, None)
                self._slots.pop(i, None)
                continue
            found = self._one(i, fault, t_s, measured)
            if found is None:
                return None
            measured = found
        return measured

    def _one(self, i: int, fault: Fault, t_s: float, measured: Odometry) -> Odometry | None:
        since_s = max(0.0, t_s - fault.from_s)
        if fault.kind == "sensor_silent":
            return None
        if fault.kind == "sensor_slow":
            assert fault.rate_hz is not None
            slot = math.floor(since_s * fault.rate_hz + _EDGE)
            if slot == self._slots.get(i):
                return None
            self._slots[i] = slot
            return measured
        if fault.kind == "sensor_frozen":
            kept = self._frozen.setdefault(i, measured)
            return replace(kept, stamp_s=measured.stamp_s)
        state = measured.state.copy()
        if fault.kind == "sensor_drift":
            state[POSITION] += since_s * np.asarray(fault.drift_mps)
        elif fault.kind == "sensor_bias" or math.floor(since_s / (fault.every_s or math.inf) + _EDGE) % 2 == 0:
            state[POSITION] += np.asarray(fault.offset_m)
        if fault.heading_deg:
            state[ATTITUDE] = multiply(from_yaw(np.array([math.radians(fault.heading_deg)]))[0], state[ATTITUDE])
        return replace(measured, state=state)
