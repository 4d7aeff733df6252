"""The drop test: let go askew without thrust, then push each axis with all there is; compare with the closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.frames import rotation_matrix
from shoal.messages.state import ATTITUDE, RATE, TWIST
from shoal.simulation.open_loop import Track, open_loop
from shoal.simulation.plant import Plant
from shoal.vehicles.allocation import Allocator, allocate
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.functions import VehicleModel

Array = NDArray[np.float64]
_DEPTH_M, _STEP_S, _PERIOD_S = 50.0, 10.0, 0.05
_START = np.array([[0, 0, _DEPTH_M, 1.0, *np.zeros(9)]])  # at rest, level
_STIFFNESS, _DAMPING = 10.0, 3.0  # N m/rad, N m s/rad: enough against the Munk moment, gentle with the thrusters' lag


@dataclass(frozen=True)
class Step:
    """Full thrust along one axis from rest."""

    axis: str
    force: float  # N or N m
    times_s: Array  # (T,)
    speeds: Array  # (T,) m/s or rad/s, the other axes held
    speeds_alone: Array  # (T,) with the same thrust and nobody holding
    terminal: float  # in closed form

    @property
    def force_text(self) -> str:
        return f"{self.force:.1f} {'N' if AXES.index(self.axis) < 3 else 'N m'}"

    @property
    def settling_s(self) -> float:
        """From rest to 95 % of the end speed."""
        return float(self.times_s[np.argmax(self.speeds >= 0.95 * self.speeds[-1])])


@dataclass(frozen=True)
class Drop:
    """Everything the demonstration shows."""

    release: Track  # of one vehicle
    tilt_deg: Array  # (T,2) roll, pitch
    float_speed_mps: float  # terminal speed without thrust, + down
    steps: tuple[Step, ...]


def drop_test(vehicle: Vehicle, tilt_deg: float = 30.0, duration_s: float = 20.0) -> Drop:
    """Both halves of it."""
    model = VehicleModel(vehicle)
    half = np.deg2rad(tilt_deg) / 2
    axis = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
    askew = np.array([0, 0, _DEPTH_M, np.cos(half), *(np.sin(half) * axis), 0, 0, 0, 0, 0, 0])
    still = np.zeros((1, vehicle.input_count))
    release = open_loop([vehicle], askew[None], lambda _t: still, duration_s, period_s=0.05)
    rotations = rotation_matrix(release.states[:, 0, ATTITUDE])
    roll, pitch = np.arctan2(rotations[:, 2, 1], rotations[:, 2, 2]), -np.arcsin(rotations[:, 2, 0])
    net_N = vehicle.weight_N - vehicle.buoyancy_N
    steps = tuple(_step(model, AXES.index(a)) for a in ("surge", "sway", "heave", "yaw"))
    tilts = np.rad2deg(np.column_stack([roll, pitch]))
    return Drop(release, tilts, model.terminal_speed(2, net_N), steps)


def _step(model: VehicleModel, axis: int) -> Step:
    """A vehicle at speed does not stay level by itself (see docs/model.md, Munk moment): the other axes are held."""
    vehicle = model.vehicle
    push = model.max_force(axis, 1) * np.eye(6)[axis]
    net_N = vehicle.weight_N - vehicle.buoyancy_N
    held = _run(vehicle, lambda x: push + _hold(x, axis, net_N))
    thrust = allocate(vehicle, push)[None]
    alone = open_loop([vehicle], _START, lambda _t: thrust, _STEP_S, period_s=_PERIOD_S).states[:, 0, TWIST]
    times_s: Array = _PERIOD_S * np.arange(len(held), dtype=np.float64)
    terminal = model.terminal_speed(axis, push[axis] + (net_N if axis == 2 else 0.0))
    return Step(AXES[axis], push[axis], times_s, held[:, axis], alone[:, axis], terminal)


def _hold(state: Array, axis: int, net_N: float) -> Array:
    """Wrench (6,) that keeps the vehicle level, on course and at depth, except along the axis that is tested."""
    sign = np.copysign(1.0, state[3])
    wrench = np.concatenate([[0.0, 0.0, -net_N], -_STIFFNESS * 2 * sign * state[4:7] - _DAMPING * state[RATE]])
    wrench[axis] = 0.0
    return wrench


def _run(vehicle: Vehicle, wrench: Callable[[Array], Array]) -> Array:
    """Body velocities (T,6) from rest."""
    plant, allocator = Plant([vehicle], _START), Allocator(vehicle)
    velocities = [np.zeros(6)]
    for _ in range(round(_STEP_S / _PERIOD_S)):
        state = plant.step([allocator(wrench(plant.states[0]))], _PERIOD_S)[0]
        velocities.append(state[TWIST].copy())
    return np.array(velocities)
