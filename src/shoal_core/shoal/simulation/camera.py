"""A camera that finds a fiducial on another vehicle: cone, turbidity, noise by range and angle, drop-outs, latency."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix, multiply
from shoal.messages.relative_pose import FiducialPose
from shoal.messages.state import ATTITUDE, POSITION

Array = NDArray[np.float64]
Triple = tuple[float, float, float]
_EDGE = 1e-9  # seconds; times are sums of steps


@dataclass(frozen=True)
class CameraModel:
    """Errors are one sigma at 1 m on the axis. Along the line of sight they grow with the square of the range (the
    fiducial's size in pixels falls), across it and in attitude with the range; all of them towards the cone's edge."""

    place_m: Triple = (0.2, 0.0, 0.0)  # FRD
    axis: Triple = (1.0, 0.0, 0.0)  # FRD, any length
    half_angle_deg: float = 25.0
    turbidity_m: float = 8.0  # further than that nothing is seen
    rate_hz: float = 10.0
    latency_s: float = 0.1
    dropout: float = 0.05  # share of exposures without a detection
    along_std_m: float = 0.01
    across_std_m: float = 0.003
    attitude_std_deg: float = 0.5
    edge_growth: float = 1.0  # how much larger errors are at the cone's edge


@dataclass(frozen=True)
class Fiducial:
    """A flat marker; it is seen from its front only."""

    place_m: Triple = (0.2, 0.0, 0.0)  # FRD of the vehicle that carries it
    normal: Triple = (1.0, 0.0, 0.0)
    widest_deg: float = 70.0  # between its normal and the direction to the camera


def _always(eye_m: Array, marker_m: Array) -> bool:
    return True


class FiducialCamera:
    """Of one vehicle, for the fiducial of one other. Every exposure draws the same number of random values."""

    def __init__(self, camera: CameraModel, fiducial: Fiducial, rng: np.random.Generator) -> None:
        self.camera, self.fiducial, self._rng = camera, fiducial, rng
        self._axis = np.array(camera.axis) / np.linalg.norm(camera.axis)
        self._normal = np.array(fiducial.normal) / np.linalg.norm(fiducial.normal)
        self._last_slot = -1
        self._waiting: deque[FiducialPose] = deque()

    def look(
        self, t_s: float, own: Array, other: Array, clear: Callable[[Array, Array], bool] = _always
    ) -> list[FiducialPose]:
        """What arrives at `t_s`; `own` and `other` (13,): the true states now.

        `clear`: whether nobody else is between two places (3,) NED, the camera's and the fiducial's.
        """
        c = self.camera
        slot = math.floor(t_s * c.rate_hz + _EDGE)
        if slot > self._last_slot:
            self._last_slot = slot
            noise, luck = self._rng.standard_normal(6), self._rng.random()
            found = self._detect(t_s, own, other, noise)
            if found is not None and luck >= c.dropout and clear(*self._line(own, other)):
                self._waiting.append(found)
        arrived = []
        while self._waiting and self._waiting[0].stamp_s + c.latency_s <= t_s + _EDGE:
            arrived.append(self._waiting.popleft())
        return arrived

    def forget(self) -> None:
        """What has been exposed and has not arrived: nobody asks for it any more."""
        self._waiting.clear()

    def bearing_deg(self, own: Array, other: Array) -> float:
        """Of the fiducial, off the camera's axis."""
        ray, range_m = self._ray(own, other)
        return math.degrees(math.acos(float(np.clip(ray @ self._axis / max(range_m, 1e-12), -1.0, 1.0))))

    def _line(self, own: Array, other: Array) -> tuple[Array, Array]:
        """From where to where it looks, NED."""
        eye_m = own[POSITION] + matrix(own[ATTITUDE]) @ np.array(self.camera.place_m)
        return eye_m, other[POSITION] + matrix(other[ATTITUDE]) @ np.array(self.fiducial.place_m)

    def _ray(self, own: Array, other: Array) -> tuple[Array, float]:
        """From the camera to the fiducial, own body frame."""
        marker_m = other[POSITION] + matrix(other[ATTITUDE]) @ np.array(self.fiducial.place_m)
        ray = matrix(own[ATTITUDE]).T @ (marker_m - own[POSITION]) - np.array(self.camera.place_m)
        return ray, float(np.linalg.norm(ray))

    def _detect(self, t_s: float, own: Array, other: Array, noise: Array) -> FiducialPose | None:
        c = self.camera
        ray, range_m = self._ray(own, other)
        off_deg = self.bearing_deg(own, other)
        relative = matrix(own[ATTITUDE]).T @ matrix(other[ATTITUDE])
        if not 0 < range_m <= c.turbidity_m or off_deg > c.half_angle_deg:
            return None
        if -(relative @ self._normal) @ ray < range_m * math.cos(math.radians(self.fiducial.widest_deg)):
            return None
        worse = 1.0 + c.edge_growth * off_deg / c.half_angle_deg
        along, basis = ray / range_m, _across(ray / range_m)
        sigmas = worse * np.array([c.along_std_m * range_m**2, *(2 * [c.across_std_m * range_m])])
        axes = np.column_stack([along, *basis])  # (3,3)
        turned = math.radians(c.attitude_std_deg) * worse * range_m
        covariance = np.zeros((6, 6))
        covariance[:3, :3] = axes @ np.diag(sigmas**2) @ axes.T
        covariance[3:, 3:] = turned**2 * np.eye(3)
        conjugate = own[ATTITUDE] * np.array([1.0, -1.0, -1.0, -1.0])
        error = np.concatenate([[1.0], turned * noise[3:] / 2])
        attitude = multiply(multiply(conjugate, other[ATTITUDE]), error / np.linalg.norm(error))
        place = np.array(c.place_m) + ray + axes @ (sigmas * noise[:3])
        return FiducialPose(t_s, place, attitude, covariance)


def _across(along: Array) -> tuple[Array, Array]:
    """Two directions across a unit vector."""
    side = np.cross(along, [0.0, 0.0, 1.0] if abs(along[2]) < 0.9 else [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    return side, np.cross(along, side)
