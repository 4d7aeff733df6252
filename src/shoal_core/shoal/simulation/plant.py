"""The built-in plant: any number of vehicles, each with its own parameters, stepped by compiled RK4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Buffered
from shoal.simulation.water import Field, still_water
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import plant_step_function
from shoal.vehicles.parameters import parameter_vector, structure_of

Array = NDArray[np.float64]
CurrentField = Callable[[float, Array], Array]  # (t_s, position NED) → current velocity NED, m/s


@dataclass(frozen=True)
class PlantVehicle:
    """What swims: a description and how good its thrusters are."""

    vehicle: Vehicle
    thrust_gain: Array  # (n,) true force per commanded force


class Plant:
    """State of all vehicles; `step` moves them on by a whole number of substeps."""

    def __init__(
        self,
        vehicles: Sequence[Vehicle | PlantVehicle],
        states: Array,
        current: CurrentField = still_water,
        substep_s: float = 0.01,
        use_compiler: bool = True,
    ) -> None:
        self.vehicles = [v if isinstance(v, PlantVehicle) else perfect(v) for v in vehicles]
        self.states = np.array(states, dtype=float)  # (V,13)
        self.forces_N = [np.zeros(len(v.vehicle.thrusters)) for v in self.vehicles]
        self.current = current
        self.substep_s = substep_s
        self.t_s = 0.0
        self._use_compiler = use_compiler
        self._steppers: dict[tuple[int, int], Buffered] = {}
        self._ticks = 0

    def step(self, commands_N: Sequence[Array] | Array, duration_s: float) -> Array:
        """Hold the commands for `duration_s`; returns the states (V,13). The current is sampled once a substep."""
        count = round(duration_s / self.substep_s)
        if count < 1 or abs(count * self.substep_s - duration_s) > 1e-9:
            raise ValueError(f"duration_s = {duration_s}, expected a multiple of the substep {self.substep_s} s")
        for i in range(len(self.vehicles)):
            self._step_one(i, np.asarray(commands_N[i]), count)
        self._ticks += count
        self.t_s = self._ticks * self.substep_s
        return self.states

    def _step_one(self, index: int, command_N: Array, count: int) -> None:
        stepper = self.stepper(index, count)
        state, currents, command = stepper.inputs[0], stepper.inputs[1], stepper.inputs[2]
        state[:13], state[13:] = self.states[index], self.forces_N[index]
        if self.current is not still_water:
            times_s: Array = np.arange(self._ticks, self._ticks + count, dtype=np.float64) * self.substep_s
            currents[:] = self._water(times_s, self.states[index, :3]).ravel()
        command[:] = command_N
        stepper.call()
        self.states[index], self.forces_N[index] = stepper.outputs[0][:13], stepper.outputs[0][13:]

    def _water(self, times_s: Array, position_m: Array) -> Array:
        """The current (K,3) at one place: at 1 m/s and 10 Hz a vehicle moves 0.1 m until it is asked again."""
        if isinstance(self.current, Field):
            return self.current.sample(times_s, position_m)
        return np.array([self.current(float(t), position_m) for t in times_s])

    def stepper(self, index: int, count: int) -> Buffered:
        """The step function of one vehicle with its numbers filled in; inputs are state, currents, command, …"""
        if (index, count) not in self._steppers:
            entry = self.vehicles[index]
            structure = structure_of(entry.vehicle)
            stepper = Buffered(plant_step_function(structure, count, self._use_compiler))
            stepper.inputs[3][:] = parameter_vector(entry.vehicle, structure)
            stepper.inputs[4][:] = _thruster_columns(entry)
            stepper.inputs[5][:] = self.substep_s
            self._steppers[index, count] = stepper
        return self._steppers[index, count]


def perfect(vehicle: Vehicle) -> PlantVehicle:
    """A vehicle whose thrusters give what is asked."""
    return PlantVehicle(vehicle, np.ones(len(vehicle.thrusters)))


def _thruster_columns(entry: PlantVehicle) -> Array:
    thrusters = entry.vehicle.thrusters
    return np.concatenate(
        [
            entry.vehicle.thrust_min_N,
            entry.vehicle.thrust_max_N,
            [t.time_constant_s for t in thrusters],
            [t.dead_band_N for t in thrusters],
            entry.thrust_gain,
        ]
    )
