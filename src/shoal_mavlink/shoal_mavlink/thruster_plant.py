"""A vehicle of the built-in plant that is driven by pulse widths: T200 curve, battery voltage, lag, water."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.ardusub.layout import layout_of
from shoal.frames import rotation_matrix
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.simulation.plant import CurrentField, Plant, PlantVehicle, perfect
from shoal.simulation.water import GRAVITY_MPS2, still_water
from shoal.vehicles.curves import load_table
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
NO_LIMIT_N = 1e3  # the curve has the limits


class ThrusterPlant:
    """One vehicle; `step` takes eight pulse widths in ArduSub's order."""

    def __init__(
        self, vehicle: Vehicle | PlantVehicle, state: Array, voltage_V: float = 16.0,
        current: CurrentField = still_water, substep_s: float = 0.005,
        directions: Array | None = None, table: str = "t200",
    ) -> None:  # fmt: skip
        """`directions`: MOT_n_DIRECTION, for wiring that needs it."""
        swims = vehicle if isinstance(vehicle, PlantVehicle) else perfect(vehicle)
        self._layout = layout_of(swims.vehicle)
        self._directions = np.ones(8) if directions is None else directions
        self._table = load_table(table)
        self.set_voltage(voltage_V)
        driven = tuple(
            replace(t, curve=None, reversed=False, dead_band_N=0.0, max_forward_N=NO_LIMIT_N, max_reverse_N=NO_LIMIT_N)
            for t in swims.vehicle.thrusters
        )
        body = PlantVehicle(replace(swims.vehicle, thrusters=driven), swims.thrust_gain)
        self.plant = Plant([body], state[None], current, substep_s)
        self.specific_force_mps2 = np.array([0.0, 0.0, -GRAVITY_MPS2])

    def set_voltage(self, voltage_V: float) -> None:
        """Of the battery, as it is."""
        self.voltage_V = voltage_V
        self._curve = self._table.at(voltage_V)

    @property
    def t_s(self) -> float:
        """Since the start."""
        return self.plant.t_s

    @property
    def state(self) -> Array:
        """(13,) the truth, NED and FRD."""
        return self.plant.states[0]

    @property
    def velocity_ned_mps(self) -> Array:
        """(3,)."""
        return np.asarray(rotation_matrix(self.state[ATTITUDE]) @ self.state[VELOCITY])

    def forces_N(self, pulse_us: list[int]) -> Array:
        """(8,) in the vehicle's own order and directions, before the thrusters' lag."""
        along = self._directions * self._curve.force_N(np.array(pulse_us, dtype=float))
        return self._layout.to_vehicle(along)

    def step(self, pulse_us: list[int], duration_s: float) -> None:
        """A multiple of the substep."""
        before_ned = self.velocity_ned_mps
        self.plant.step([self.forces_N(pulse_us)], duration_s)
        change = (self.velocity_ned_mps - before_ned) / duration_s - np.array([0.0, 0.0, GRAVITY_MPS2])
        self.specific_force_mps2 = np.asarray(rotation_matrix(self.state[ATTITUDE]).T @ change)

    def parts(self) -> tuple[Array, Array, Array, Array]:
        """Position NED, attitude, velocity NED, rates."""
        return self.state[POSITION], self.state[ATTITUDE], self.velocity_ned_mps, self.state[RATE]
