"""Vehicles that several tests use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.file import Fleet, load_fleet
from shoal.vehicles.description import Vehicle, load_vehicle

SETS = ("wu2018", "ng2024", "von_benzon2022")


def shipped(parameter_set: str) -> Vehicle:
    """A set of the BlueROV2 Heavy."""
    return load_vehicle("bluerov2_heavy", parameter_set)


def light_fleet(name: str = "one") -> Fleet:
    """A shipped fleet with `wu2018` and 16.6 N a thruster: commands act as they are, without rounding by a curve."""
    fleet = load_fleet(name)
    light = {"parameter_set": "wu2018", "thrust_limit_N": 16.6}
    return fleet.model_copy(update={"vehicles": tuple(m.model_copy(update=light) for m in fleet.vehicles)})


def full_matrices() -> Vehicle:
    """Nothing zero: full 6×6 added mass and damping, a skew inertia, centres off every axis."""
    rng = np.random.default_rng(5)
    base = shipped("wu2018")

    def coupled(diagonal: NDArray[np.float64], size: float) -> NDArray[np.float64]:
        noise = rng.uniform(-1, 1, (6, 6)) * np.sqrt(np.outer(diagonal, diagonal)) * size
        return np.diag(diagonal) + (noise + noise.T) / 2

    return replace(
        base,
        inertia_kgm2=np.array([[0.30, 0.02, -0.03], [0.02, 0.35, 0.01], [-0.03, 0.01, 0.40]]),
        cg_m=np.array([0.02, -0.01, 0.03]),
        cb_m=np.array([-0.01, 0.015, -0.02]),
        added_mass=coupled(np.diag(base.added_mass), 0.2),
        linear_damping=coupled(np.diag(base.linear_damping), 0.2),
        quadratic_damping=coupled(np.diag(base.quadratic_damping), 0.05),
    )


def vessel() -> Vehicle:
    """A BlueROV2's hull at the surface, four horizontal thrusters."""
    base = with_thrusters(shipped("wu2018"), 0, 1, 2, 3)
    return replace(base, buoyancy_N=base.weight_N, waterplane=np.array([900.0, 12.0, 25.0]))


def vehicle_named(name: str) -> Vehicle:
    """One of the sets, the one with full matrices, or the vessel."""
    return {"full": full_matrices, "vessel": vessel}.get(name, lambda: shipped(name))()


def with_thrusters(vehicle: Vehicle, *indices: int) -> Vehicle:
    """The same with some of its thrusters only."""
    return replace(vehicle, thrusters=tuple(vehicle.thrusters[i] for i in indices))


def neutral(vehicle: Vehicle) -> Vehicle:
    """Neither sinks nor rights itself: no static forces at all."""
    return replace(vehicle, buoyancy_N=vehicle.weight_N, cg_m=np.zeros(3), cb_m=np.zeros(3))


def random_state(rng: np.random.Generator) -> NDArray[np.float64]:
    """Any place and attitude, up to 2 m/s and 3 rad/s."""
    q = rng.standard_normal(4)
    return np.concatenate(
        [rng.uniform(-20, 20, 3), q / np.linalg.norm(q), rng.uniform(-2, 2, 3), rng.uniform(-3, 3, 3)]
    )


def at_rest(count: int = 1) -> NDArray[np.float64]:
    """(count,13) level, heading north, 5 m down."""
    return np.tile([0, 0, 5.0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], (count, 1))
