"""Two vehicles, one thrust program, nobody steering: what a controller is for.

Both get the very same commands. They are the same type, but no two vehicles are alike (drawn within ±20 %), and the
water moves. They drift apart within a minute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.file import Fleet
from shoal.simulation.conditions import Environment, Sensors
from shoal.simulation.conditions import Plant as PlantSettings
from shoal.simulation.currents import ConstantCurrent, WavesCurrent
from shoal.simulation.open_loop import Track, open_loop
from shoal.simulation.perturbation import perturbed
from shoal.simulation.sensors import OdometrySensor
from shoal.simulation.water import Field, build_current
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.functions import VehicleModel

Array = NDArray[np.float64]
WATER = Environment(
    currents=(
        ConstantCurrent(kind="constant", velocity_mps=(0.0, 0.06, 0.0)),
        WavesCurrent(kind="waves", amplitude_m=0.15, period_s=5.0, direction_deg=90.0),
    )
)


@dataclass(frozen=True)
class Demo:
    """What the picture shows."""

    names: tuple[str, ...]
    track: Track
    odometry_m: Array  # (T,V,3) measured positions
    water: Field


def open_loop_demo(fleet: Fleet, seed: int, duration_s: float = 60.0) -> Demo:
    """The fleet side by side, heading north, under one slalom program."""
    # Ng's set: with Wu's added mass a vehicle at speed turns broadside by itself (Munk moment) and only spins.
    models = [VehicleModel(load_vehicle(member.type, "ng2024")) for member in fleet.vehicles]
    starts = np.array([[0.0, 2.0 * i, 5.0, 1.0, *np.zeros(9)] for i in range(len(models))])
    plants = [perturbed(m.vehicle, PlantSettings(), np.random.default_rng([seed, i])) for i, m in enumerate(models)]
    water = build_current(WATER, np.random.default_rng([seed, 100]), duration_s)

    trims, allocators = [m.trim() for m in models], [Allocator(m.vehicle) for m in models]

    def program(t_s: float) -> Array:
        turn_Nm = 0.3 * np.cos(2 * np.pi * t_s / 20.0)
        wrench = np.array([15.0, 0.0, 0.0, 0.0, 0.0, turn_Nm])
        return np.array([trim + allocator(wrench) for trim, allocator in zip(trims, allocators, strict=True)])

    track = open_loop(plants, starts, program, duration_s, water)
    measured = [_measured(track, i, np.random.default_rng([seed, 200 + i])) for i in range(len(models))]
    return Demo(fleet.names, track, np.stack(measured, axis=1), water)


def _measured(track: Track, index: int, rng: np.random.Generator) -> Array:
    sensor = OdometrySensor(Sensors(position_std_m=0.05), rng)
    positions = []
    for t_s, states in zip(track.times_s, track.states, strict=True):
        sensor.push(float(t_s), states[index])
        newest = sensor.latest(float(t_s))
        assert newest is not None  # no latency here
        positions.append(newest.position_m)
    return np.array(positions)
