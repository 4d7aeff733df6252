"""The towing tank's conventions (Boogmans 2021, section 5.6 and code): tracked poses in, speeds and angles out. No ROS.

Its frame has x along the tank and y across, headings from x to y: as ours, with z down.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.messages.odometry import Odometry
from shoal.messages.state import RATE, VELOCITY, State
from shoal.platform.model import PlanarPose, rotation, wrapped
from shoal.vehicles.description import Vehicle

Array = NDArray[np.float64]
SMOOTH_S = 0.15  # time constant of the velocity: poses come at 30 Hz and are noisy by 0.2 mm
LOST_S = 0.5  # after a longer gap the velocity is not that of the time between


class PoseDifferences:
    """A vessel's odometry from poses alone."""

    def __init__(self) -> None:
        self._last: tuple[float, PlanarPose] | None = None
        self._velocity = np.zeros(3)  # world, and the heading's rate

    def odometry(self, t_s: float, pose: PlanarPose) -> Odometry | None:
        """None for a pose that is not newer than the last one."""
        if self._last is not None:
            before_s, before = self._last
            dt_s = t_s - before_s
            if dt_s <= 0.0:
                return None
            turned = wrapped(pose.heading_rad - before.heading_rad)
            now = np.array([*(pose.position_m - before.position_m), turned]) / dt_s
            share = 1.0 - math.exp(-dt_s / SMOOTH_S)
            self._velocity = np.zeros(3) if dt_s > LOST_S else self._velocity + share * (now - self._velocity)
        self._last = t_s, pose
        state = State.at_rest((pose.x_m, pose.y_m, 0.0), pose.heading_rad).array
        state[VELOCITY][:2] = rotation(-pose.heading_rad) @ self._velocity[:2]
        state[RATE][2] = self._velocity[2]
        return Odometry(t_s, state)


class Actuation:
    """[n1, n2, …, α1, α2, …] of a vessel: speeds in rev/s and angles in rad, of its azimuth thrusters in order."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._thrusters = vehicle.thrusters
        self._angles_rad = [0.0] * len(vehicle.thrusters)

    def of(self, inputs_N: Array) -> list[float]:
        """A thruster that gives nothing keeps its angle."""
        speeds, at = [], 0
        for k, thruster in enumerate(self._thrusters):
            own = inputs_N[at : at + thruster.inputs]
            at += thruster.inputs
            speed, self._angles_rad[k] = thruster.to_device(own, self._angles_rad[k]).tolist()
            speeds.append(speed)
        return [*speeds, *self._angles_rad]
