"""Attitude laws: the PD of Ng 2024, and a model-based one that does without its additional damping."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.autopilot.gains import AttitudeGains
from shoal.frames import from_euler, matrix, multiply
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import mass_matrix

Array = NDArray[np.float64]
# Feedback of the model-based law over the bandwidth of the reference filter: what is missed while a step is under way
# is made up for. At 2.5 the loop swings with 0.06 s of latency and 0.15 s of lag, at 1.75 it does not overshoot at all.
FEEDBACK = 1.75
STEEP_RAD = math.radians(75)  # beyond this pitch Euler angles are left for quaternions


@dataclass(frozen=True)
class WantedAttitude:
    """Roll, pitch, yaw (3,) with their rates and accelerations, as Euler angles."""

    angles_rad: Array
    rates_radps: Array
    accelerations_radps2: Array

    @staticmethod
    def at_rest(roll_rad: float = 0.0, pitch_rad: float = 0.0, yaw_rad: float = 0.0) -> WantedAttitude:
        """To be held."""
        return WantedAttitude(np.array([roll_rad, pitch_rad, yaw_rad]), np.zeros(3), np.zeros(3))


def euler_angles(q: Array) -> Array:
    """Roll, pitch, yaw (3,) of an attitude (4,)."""
    w, x, y, z = q.tolist()
    pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return np.array([roll, pitch, math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))])


def body_from_euler_rates(angles_rad: Array) -> Array:
    """J2⁻¹ (3,3): Euler rates, or small Euler errors, to the body frame (2.13)."""
    roll, pitch, _ = angles_rad.tolist()
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    return np.array([[1.0, 0.0, -sp], [0.0, cr, sr * cp], [0.0, -sr, cr * cp]])


def attitude_error(q: Array, wanted_rad: Array) -> Array:
    """What is left to turn (3,), body frame: by Euler angles as in Ng 2024, by quaternions where those are singular."""
    angles = euler_angles(q)
    if max(abs(angles[1]), abs(wanted_rad[1])) < STEEP_RAD:
        gap = (wanted_rad - angles + np.pi) % (2 * np.pi) - np.pi
        return np.asarray(body_from_euler_rates(angles) @ gap)
    w, x, y, z = q.tolist()
    turn = multiply(np.array([w, -x, -y, -z]), from_euler(*wanted_rad.tolist()))
    if turn[0] < 0:
        turn = -turn
    sine = float(np.linalg.norm(turn[1:]))
    angle = 2 * math.atan2(sine, float(turn[0]))
    return turn[1:] * (angle / sine if sine > 1e-9 else 2.0)


def righting_moment(vehicle: Vehicle, q: Array) -> Array:
    """What weight and buoyancy do (3,) at an attitude, body frame: the physical moment, not its opposite."""
    down = matrix(q).T[:, 2]
    weight, buoyancy = vehicle.weight_N * down, -vehicle.buoyancy_N * down
    return np.asarray(np.cross(vehicle.cg_m, weight) + np.cross(vehicle.cb_m, buoyancy))


class PdLaw:
    """Ng 2024 (5.26): PD on the body-frame error, restoring moment fed forward at the *wanted* attitude."""

    def __init__(self, vehicle: Vehicle, gains: AttitudeGains) -> None:
        self._vehicle, self.gains = vehicle, gains

    def moment(self, q: Array, rate_radps: Array, wanted: WantedAttitude) -> Array:
        """(3,) N m."""
        angles = euler_angles(q)
        wanted_rate = body_from_euler_rates(angles) @ wanted.rates_radps
        error = attitude_error(q, wanted.angles_rad)
        held = righting_moment(self._vehicle, from_euler(*wanted.angles_rad.tolist()))
        return np.asarray(self.gains.proportional * error + self.gains.derivative * (wanted_rate - rate_radps) - held)


class ModelBasedLaw:
    """Inverse dynamics: inertia times wanted acceleration and critically damped feedback, and drag of the wanted rate.

    To be fed with the attitude predicted for when the moment acts (latency and lag); then it needs no extra damping.
    """

    def __init__(self, vehicle: Vehicle, omega_radps: float) -> None:
        """`omega_radps`: of the reference filter in front of it."""
        self._vehicle, self._omega = vehicle, FEEDBACK * omega_radps
        self._inertia = mass_matrix(vehicle)[3:, 3:]

    def moment(self, q: Array, rate_radps: Array, wanted: WantedAttitude) -> Array:
        """(3,) N m."""
        to_body = body_from_euler_rates(euler_angles(q))
        wanted_rate, w = to_body @ wanted.rates_radps, self._omega
        feedback = 2 * w * (wanted_rate - rate_radps) + w**2 * attitude_error(q, wanted.angles_rad)
        turning = self._inertia @ (to_body @ wanted.accelerations_radps2 + feedback)
        held = righting_moment(self._vehicle, from_euler(*wanted.angles_rad.tolist()))
        v = self._vehicle
        drag = v.linear_damping[3:, 3:] @ wanted_rate + v.quadratic_damping[3:, 3:] @ (
            np.abs(wanted_rate) * wanted_rate
        )
        return np.asarray(turning + drag - held)
