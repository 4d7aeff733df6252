"""Thrust of a vehicle whose controller gives none: the previous plan, then the place where it is, then nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.control.base import ControlOutput
from shoal.control.station_keeping import StationKeeping
from shoal.control.steady_thrust import SteadyThrust
from shoal.estimation.ekf import StateEstimator
from shoal.frames import yaw_of
from shoal.messages.health import Mode
from shoal.messages.state import ATTITUDE
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


class Fallback:
    """Which of them it is, the gate decides; made anew for another vehicle."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._steady, self._station = SteadyThrust(vehicle), StationKeeping(vehicle)
        self._none_N = np.zeros(vehicle.input_count)

    def release(self) -> None:
        """The controller is in charge again: the next place to keep is another one."""
        self._station.release()

    def thrust(
        self, mode: Mode, last: ControlOutput | None, late_s: float, state: Array | None, estimator: StateEstimator
    ) -> Array:
        """`last`: the controller's last usable output, `late_s` after its start."""
        if mode is Mode.PREVIOUS_PLAN:
            assert last is not None
            return last.planned_at(late_s)
        if mode is Mode.STATION_KEEPING:
            assert state is not None
            steady_N = self._steady(np.zeros(3), yaw_of(state[ATTITUDE]), estimator.wrench, estimator.current)
            return self._station.thrust(state, steady_N)
        return self._none_N.copy()
