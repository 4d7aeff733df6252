"""What is held on each axis: place (NED) and attitude, moved by stick or setpoint, never ahead of the vehicle by much.

Where an axis is not held, the reference follows the vehicle, ready to stop smoothly where it would come to rest:
a target of 2ẋ/ω ahead asks for no acceleration at first. So any level may follow any other without a jump.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.autopilot.attitude import body_from_euler_rates, euler_angles
from shoal.autopilot.reference_filter import ReferenceFilter
from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
GLIDE_S = 0.5  # time constant at which a newly guided axis takes up a setpoint elsewhere
LEASH = np.array([0.5, 0.5, 0.5, 0.6, 0.6, 0.6])  # m, rad: the reference is never further ahead


def level_frame(yaw_rad: float) -> Array:
    """(3,3) forward, to starboard and down of a level vehicle with that heading, to NED."""
    c, s = math.cos(yaw_rad), math.sin(yaw_rad)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def pose_of(state: Array) -> tuple[Array, Array]:
    """North, east, depth, roll, pitch, yaw (6,) of a state (13,), and their rates."""
    angles = euler_angles(state[ATTITUDE])
    to_body = body_from_euler_rates(angles)
    if abs(math.cos(angles[1])) < 0.05:  # Euler rates grow without bound there
        rates = state[RATE]
    else:
        rates = np.asarray(np.linalg.solve(to_body, state[RATE]), dtype=np.float64)
    return np.concatenate([state[POSITION], angles]), np.concatenate([matrix(state[ATTITUDE]) @ state[VELOCITY], rates])


class Reference:
    """Value, rate and acceleration (6,) of north, east, depth, roll, pitch, yaw."""

    def __init__(self, omega_radps: Array, fastest: Array) -> None:
        """`omega_radps` (6,): bandwidths; `fastest` (6,): speeds of approach from afar, m/s and rad/s."""
        self._omega, self._reach = omega_radps, 2 * fastest / omega_radps  # gap at which the filter has that speed
        self._place = ReferenceFilter(np.zeros(3), omega_radps[:3], angles=False)
        self._angles = ReferenceFilter(np.zeros(3), omega_radps[3:])
        self._target, self._offset = np.zeros(6), np.zeros(6)  # of the setpoint, and what is left of the old target
        self._flat = np.eye(3)
        self._started = False

    @property
    def value(self) -> Array:
        return np.concatenate([self._place.value, self._angles.value])

    @property
    def rate(self) -> Array:
        return np.concatenate([self._place.rate, self._angles.rate])

    @property
    def acceleration(self) -> Array:
        return np.concatenate([self._place.acceleration, self._angles.acceleration])

    def reset(self) -> None:
        """Start from the vehicle at the next `follow`."""
        self._started = False

    def follow(self, state: Array, held: Mask) -> None:
        """Before `move`: axes (6,) bool that are not held, and all of them at first, go with the vehicle."""
        value, rate = pose_of(state)
        self._flat = level_frame(float(value[5]))
        keep = held if self._started else np.zeros(6, dtype=bool)
        self._started = True
        mine_value, mine_rate, mine_acceleration = self.value, self.rate, self.acceleration
        mine_value[3:] = value[3:] + _wrapped(mine_value[3:] - value[3:])
        self._target[3:] = mine_value[3:] + _wrapped(self._target[3:] - mine_value[3:])
        share = np.zeros((6, 6))  # of the reference that is kept; along and across the heading for surge and sway
        share[:3, :3] = self._flat @ np.diag(keep[:3].astype(float)) @ self._flat.T
        share[3:, 3:] = np.diag(keep[3:].astype(float))
        off = np.clip(mine_value - value, -LEASH, LEASH)
        found_value, found_rate = value + share @ off, rate + share @ (mine_rate - rate)
        coming = found_value + 2 * found_rate / self._omega
        self._target = coming + share @ (self._target - coming)
        self._place.reset(found_value[:3], found_rate[:3])
        self._angles.reset(found_value[3:], found_rate[3:])
        kept = share @ mine_acceleration
        self._place.acceleration, self._angles.acceleration = kept[:3], kept[3:]

    def aim(self, axes: Mask, target: Array, anew: Mask, duration_s: float) -> None:
        """Targets (6,) of some axes (6,) bool; those aimed `anew` glide there from what they were held at."""
        decay = math.exp(-duration_s / GLIDE_S)
        left = self._target - target
        left[3:] = _wrapped(left[3:])
        self._offset = np.where(axes, np.where(anew, left, decay * self._offset), 0.0)
        self._target = np.where(axes, target + self._offset, self._target)

    def move(self, driven: Mask, speeds: Array, rates: Array, accelerations: Array, duration_s: float) -> None:
        """On by a step: `driven` (6,) bool axes by their `speeds` (level frame), the others to their targets.

        `rates` and `accelerations` (6,) of the targets.
        """
        before, rate_before = self.value, self.rate
        for filter_, part in ((self._place, slice(0, 3)), (self._angles, slice(3, 6))):
            gap = self._target[part] - filter_.value
            if part.start:
                gap = _wrapped(gap)
            reach = self._reach[part]
            near = filter_.value + np.clip(gap, -reach, reach)
            filter_.step(near, duration_s, rates[part], accelerations[part])
        if driven.any():
            self._drive(driven, speeds, before, rate_before, duration_s)

    def _drive(self, driven: Mask, speeds: Array, before: Array, previous: Array, duration_s: float) -> None:
        """Rates approach the stick's at 2ω; on release the vehicle comes to rest without a step of acceleration."""
        frame = np.eye(6)
        frame[:3, :3] = self._flat
        share = frame @ np.diag(driven.astype(float)) @ frame.T
        wanted, w = frame @ speeds, 2 * self._omega
        rate = wanted + (previous - wanted) * np.exp(-w * duration_s)
        value = before + duration_s * (rate + previous) / 2
        acceleration = w * (wanted - rate)
        new = [mine + share @ (other - mine) for mine, other in (
            (self.value, value), (self.rate, rate), (self.acceleration, acceleration))]  # fmt: skip
        self._place.reset(new[0][:3], new[1][:3])
        self._angles.reset(new[0][3:], new[1][3:])
        self._place.acceleration, self._angles.acceleration = new[2][:3], new[2][3:]
        coming = new[0] + 2 * new[1] / self._omega
        self._target = self._target + share @ (coming - self._target)


def _wrapped(angle_rad: Array) -> Array:
    return (angle_rad + np.pi) % (2 * np.pi) - np.pi
