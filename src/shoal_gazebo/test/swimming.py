"""Both swimmers from the same start under the same commands, and how far they come apart."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from gazebo_forces import Array, GazeboVehicle, State
from shoal.messages.state import ATTITUDE
from shoal.simulation.plant import Plant, still_water
from shoal.vehicles.description import Vehicle
from shoal_gazebo.sdf_reader import read_model
from shoal_gazebo.world_reader import WorldNumbers, read_world

ROOT = Path(__file__).parents[3]
ENU_OF_NED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1.0]])
FLU_OF_FRD = np.diag([1.0, -1.0, -1.0])
DEPTH_M = 20.0  # of the start: nobody gets near the surface, where hull and thrusters do less
PERIOD_S = 0.5  # between commands and between comparisons


@cache
def world() -> WorldNumbers:
    return read_world(ROOT / "worlds" / "tank.sdf")


def committed() -> GazeboVehicle:
    return GazeboVehicle(read_model(ROOT / "models" / "bluerov2_heavy" / "model.sdf"), world())


def instant(vehicle: Vehicle) -> Vehicle:
    """Without what Gazebo's thrusters do not have: lag, a table of signals, a dead band, less thrust at the surface."""
    ideal = {"time_constant_s": 0.0, "curve": None, "dead_band_N": 0.0, "propeller_m": 0.0}
    return replace(vehicle, thrusters=tuple(replace(t, **ideal) for t in vehicle.thrusters))


def start(roll_deg: float = 0.0, heading_deg: float = 30.0) -> tuple[Array, State]:
    """The same pose for both, at rest."""
    r_ned = Rotation.from_euler("ZYX", [heading_deg, 0, roll_deg], degrees=True)
    x, y, z, w = r_ned.as_quat()
    position = np.array([1.0, -2.0, DEPTH_M])
    core = np.array([*position, w, x, y, z, 0, 0, 0, 0, 0, 0])
    turned = ENU_OF_NED @ r_ned.as_matrix() @ FLU_OF_FRD
    return core, State(ENU_OF_NED @ position, turned, np.zeros(3), np.zeros(3))


def difference(core: Array, gazebo: State) -> tuple[float, float]:
    """Distance in metres, angle in degrees."""
    eta, *epsilon = core[ATTITUDE]
    turned = ENU_OF_NED @ Rotation.from_quat([*epsilon, eta]).as_matrix() @ FLU_OF_FRD
    angle = Rotation.from_matrix(turned.T @ gazebo.rotation).magnitude()
    return float(np.linalg.norm(ENU_OF_NED @ core[:3] - gazebo.position)), float(np.degrees(angle))


def swim(
    gazebo: GazeboVehicle, vehicle: Vehicle, commands: Array, roll_deg: float = 0.0, current_ned: Array | None = None
) -> tuple[float, float, Plant]:
    """Largest difference in position (m) and angle (°) while both hold each row of `commands` for half a second."""
    core, state = start(roll_deg)
    current = still_water if current_ned is None else (lambda _t, _p: current_ned)
    plant = Plant([instant(vehicle)], core[None], current=current, substep_s=0.001)
    step = gazebo.world.step_s
    apart: list[tuple[float, float]] = []
    for command in commands:
        plant.step([command], PERIOD_S)
        gazebo.command(command)
        for _ in range(round(PERIOD_S / step)):
            state = gazebo.step(state, step)
        apart.append(difference(plant.states[0], state))
    distance, angle = np.max(apart, axis=0)
    return float(distance), float(angle), plant


def tumbling(vehicle: Vehicle, seconds: float, scale: float = 1.0) -> Array:
    """Every thruster anywhere within its limits, anew each half second: far wilder than any controller."""
    rng = np.random.default_rng([20, 7])
    shape = (round(seconds / PERIOD_S), len(vehicle.thrusters))
    return scale * rng.uniform(vehicle.thrust_min_N, vehicle.thrust_max_N, shape)
