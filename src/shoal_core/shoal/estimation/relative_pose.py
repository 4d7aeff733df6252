"""Where another vehicle is and how it is turned, seen from our own body: fiducial sightings and both odometries.

Two navigations may differ by a constant that would go straight into a dock. Only the body velocities of both enter,
and they move the relative pose from one sighting to the next:  ṗ = R v_B − v_A − ω_A × p,  Ṙ = R[ω_B]× − [ω_A]× R.
The errors are δp in our frame and δθ in the other's, R = R̂ exp[δθ]×. A sighting is late; it corrects the pose at its
exposure, from where the velocities are run through once more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix, multiply, skew
from shoal.messages.relative_pose import FiducialPose

Array = NDArray[np.float64]
MEMORY_S = 1.0  # later sightings are dropped
GATE = 22.46  # χ² of six numbers: one in a thousand is larger
STARTS_AGAIN = 5  # so many refused in a row, and it is the filter that is wrong


@dataclass(frozen=True)
class OdometryNoise:
    """One sigma of each sample, per axis, of both vehicles alike."""

    velocity_mps: float = 0.01
    rate_radps: float = 0.009


@dataclass(frozen=True)
class _Moment:
    """The estimate at a time, and what moved it from there on."""

    t_s: float
    position_m: Array  # (3,)
    attitude: Array  # (4,)
    covariance: Array  # (6,6)
    own_twist: Array  # (6,) v, ω in the own body
    other_twist: Array  # (6,)


class RelativePose:
    """Of one other vehicle."""

    def __init__(self, marker_m: Array, noise: OdometryNoise | None = None) -> None:
        """`marker_m` (3,): the fiducial's place on the other vehicle."""
        self._marker_m, self._noise = marker_m, noise or OdometryNoise()
        self._history: list[_Moment] = []
        self._refused = 0
        self.seen_s = -np.inf

    @property
    def known(self) -> bool:
        """Whether there has been a sighting."""
        return bool(self._history)

    @property
    def position_m(self) -> Array:
        """(3,) of the other's origin, own body frame."""
        return self._history[-1].position_m

    @property
    def attitude(self) -> Array:
        """(4,) the other's body to the own."""
        return self._history[-1].attitude

    @property
    def covariance(self) -> Array:
        """(6,6) of δp and δθ."""
        return self._history[-1].covariance

    def move(self, t_s: float, own_twist: Array, other_twist: Array) -> None:
        """On to `t_s`; from there on these body velocities (6,) hold."""
        if not self._history or t_s < self._history[-1].t_s:
            return
        self._history.append(self._moved(self._history[-1], t_s, own_twist, other_twist))
        while self._history[0].t_s < t_s - MEMORY_S:
            self._history.pop(0)

    def see(self, sighting: FiducialPose, own_twist: Array, other_twist: Array) -> bool:
        """Take it in; whether it was believed. The twists (6,) are of the exposure, for the first one."""
        if not self._history:
            self._begin(sighting, own_twist, other_twist)
            return True
        later = [m for m in self._history if m.t_s > sighting.stamp_s]
        sooner = [m for m in self._history if m.t_s <= sighting.stamp_s]
        if not sooner:
            return False
        base = sooner[-1]
        at = self._moved(base, sighting.stamp_s, base.own_twist, base.other_twist)
        corrected = self._corrected(at, sighting)
        if corrected is None:
            self._refused += 1
            if self._refused >= STARTS_AGAIN:
                self._history = []
                self._begin(sighting, own_twist, other_twist)
            return False
        self._refused, self.seen_s = 0, sighting.stamp_s
        history = [*sooner, corrected]
        for moment in later:
            history.append(self._moved(history[-1], moment.t_s, moment.own_twist, moment.other_twist))
        self._history = history
        return True

    def _begin(self, sighting: FiducialPose, own_twist: Array, other_twist: Array) -> None:
        lever = -matrix(sighting.attitude) @ skew(self._marker_m)
        back = np.eye(6)
        back[:3, 3:] = -lever  # p = marker − R r
        covariance = back @ sighting.covariance @ back.T
        position = sighting.marker_m - matrix(sighting.attitude) @ self._marker_m
        moment = _Moment(sighting.stamp_s, position, sighting.attitude, covariance, own_twist, other_twist)
        self._history, self._refused, self.seen_s = [moment], 0, sighting.stamp_s

    def _moved(self, start: _Moment, t_s: float, own_twist: Array, other_twist: Array) -> _Moment:
        h = t_s - start.t_s
        if h <= 0:
            return _Moment(t_s, start.position_m, start.attitude, start.covariance, own_twist, other_twist)
        v_a, w_a, v_b, w_b = *np.split(start.own_twist, 2), *np.split(start.other_twist, 2)
        # Halfway attitudes make the step second order in h.
        middle = matrix(_turned(start.attitude, -h / 2 * w_a, h / 2 * w_b))
        turn_a = matrix(_turned(np.array([1.0, 0, 0, 0]), -h * w_a, np.zeros(3)))
        half_a = matrix(_turned(np.array([1.0, 0, 0, 0]), -h / 2 * w_a, np.zeros(3)))
        position = turn_a @ start.position_m + h * (middle @ v_b - half_a @ v_a)
        attitude = _turned(start.attitude, -h * w_a, h * w_b)
        transition = np.eye(6)
        transition[:3, :3] = turn_a
        transition[:3, 3:] = -h * middle @ skew(v_b)
        transition[3:, 3:] = matrix(_turned(np.array([1.0, 0, 0, 0]), np.zeros(3), h * w_b)).T
        s_v, s_w = (h * self._noise.velocity_mps) ** 2, (h * self._noise.rate_radps) ** 2
        lever, rotation = skew(position), matrix(attitude)
        added = np.zeros((6, 6))
        added[:3, :3] = 2 * s_v * np.eye(3) + s_w * lever @ lever.T
        added[:3, 3:] = -s_w * lever @ rotation  # our own rate's error turns and shifts the other at once
        added[3:, :3] = added[:3, 3:].T
        added[3:, 3:] = 2 * s_w * np.eye(3)
        covariance = transition @ start.covariance @ transition.T + added
        return _Moment(t_s, position, attitude, covariance, own_twist, other_twist)

    def _corrected(self, at: _Moment, sighting: FiducialPose) -> _Moment | None:
        rotation = matrix(at.attitude)
        conjugate = at.attitude * np.array([1.0, -1.0, -1.0, -1.0])
        off = multiply(conjugate, sighting.attitude)
        turned = 2 * off[1:] * (1.0 if off[0] >= 0 else -1.0)
        residual = np.concatenate([sighting.marker_m - at.position_m - rotation @ self._marker_m, turned])
        rows = np.eye(6)
        rows[:3, 3:] = -rotation @ skew(self._marker_m)
        scatter = rows @ at.covariance @ rows.T + sighting.covariance
        if residual @ np.linalg.solve(scatter, residual) > GATE:
            return None
        gain = np.linalg.solve(scatter, rows @ at.covariance).T
        error = gain @ residual
        left = np.eye(6) - gain @ rows
        covariance = left @ at.covariance @ left.T + gain @ sighting.covariance @ gain.T
        attitude = _turned(at.attitude, np.zeros(3), error[3:])
        return _Moment(at.t_s, at.position_m + error[:3], attitude, covariance, at.own_twist, at.other_twist)


def _turned(attitude: Array, before: Array, after: Array) -> Array:
    """exp(before) ⊗ q ⊗ exp(after), rotation vectors (3,)."""
    return multiply(multiply(_exp(before), attitude), _exp(after))


def _exp(turn: Array) -> Array:
    angle = float(np.linalg.norm(turn))
    share = 0.5 if angle < 1e-9 else np.sin(angle / 2) / angle
    return np.array([np.cos(angle / 2), *(share * turn)])
