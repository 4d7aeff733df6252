"""Vehicles under a thrust program, without anyone steering: for demonstrations, drop tests and identification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.simulation.plant import Plant, PlantVehicle
from shoal.simulation.water import Field, still_water
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Track:
    """What happened."""

    times_s: Array  # (T,)
    states: Array  # (T,V,13)
    commands_N: Array  # (T,V,n), held from each instant to the next


def open_loop(
    vehicles: Sequence[Vehicle | PlantVehicle],
    states: Array,
    program: Callable[[float], Array],
    duration_s: float,
    current: Field = still_water,
    period_s: float = 0.1,
) -> Track:
    """Run `program`, t → thrust commands (V,n), from the states (V,13)."""
    plant = Plant(vehicles, states, current)
    count = round(duration_s / period_s)
    times_s: Array = np.arange(count + 1, dtype=np.float64) * period_s
    commands = np.array([program(float(t)) for t in times_s])
    reached = [plant.states.copy(), *(plant.step(command, period_s).copy() for command in commands[:-1])]
    return Track(times_s, np.array(reached), commands)
