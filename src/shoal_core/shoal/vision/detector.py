"""Poses of AprilTags (36h11, by OpenCV) in a camera's images, with a covariance from how its corners are seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from shoal.messages.relative_pose import FiducialPose
from shoal.vehicles.ports import Port, PortCamera, PortMarker
from shoal.vision.lens import Lens, optical_axes, tag_axes

Array = NDArray[np.float64]
Image = NDArray[np.uint8]
FAMILY = cv2.aruco.DICT_APRILTAG_36h11
HALF_PX = 0.5  # this way of refining counts from a pixel's corner, calibrations from its middle
CORNER_PX = 0.15  # one sigma of a corner; checked by `shoal docking detector`
BEND_PX = 1.2e-5  # and of a large tag, times its edge squared: straight lines are fitted to edges that the lens bends
ALIKE = 4.0  # a second pose that fits nearly as well (by so many times the squared error) is not ruled out
STEP = 1e-5  # of the numerical derivatives: m, rad


@dataclass(frozen=True)
class Tag:
    """Whose, and which port's."""

    vehicle: str
    port: str
    marker: PortMarker


def tags_of(ports: Mapping[str, tuple[Port, ...]]) -> dict[int, Tag]:
    """By id: the vehicles of a fleet in their order, eight ids for each, their ports in the order of the file."""
    return {
        8 * i + k: Tag(name, port.name, port.marker)
        for i, (name, its) in enumerate(ports.items())
        for k, port in enumerate(its)
        if port.marker is not None
    }


@dataclass(frozen=True)
class Found:
    """One tag in one image."""

    tag: Tag
    pose: FiducialPose


class TagDetector:
    """Of one camera. What it returns is in the observer's body frame: both mountings are taken out."""

    def __init__(self, lens: Lens, camera: PortCamera, tags: Mapping[int, Tag]) -> None:
        self._lens, self._tags = lens, tags
        self._place_m, self._axes = camera.place_m, optical_axes(camera.axis)
        parameters = cv2.aruco.DetectorParameters()
        parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_APRILTAG
        self._detector = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(FAMILY), parameters)

    def find(self, image: Image, stamp_s: float) -> list[Found]:
        """`image` (height, width), grey."""
        corners, ids, _ = self._detector.detectMarkers(image)
        if ids is None:
            return []
        found = []
        for given, number in zip(corners, np.asarray(ids).ravel().tolist(), strict=True):
            if (tag := self._tags.get(int(number))) is not None:
                seen = np.asarray(given, dtype=float).reshape(4, 2) - HALF_PX
                found.append(Found(tag, self._pose(seen, tag, stamp_s)))
        return found

    def _pose(self, corners: Array, tag: Tag, stamp_s: float) -> FiducialPose:
        square = _square(tag.marker.size_m)
        _, turns, places, _ = cv2.solvePnPGeneric(
            square, corners, self._lens.matrix, self._lens.distortion, flags=cv2.SOLVEPNP_IPPE_SQUARE
        )
        candidates = [self._refined(square, corners, t, p) for t, p in zip(turns, places, strict=True)]
        candidates.sort(key=lambda one: one[2])
        turn, place, error = candidates[0]
        covariance = self._covariance(square, turn, place)
        if len(candidates) > 1 and candidates[1][2] < ALIKE * max(error, (2 * CORNER_PX) ** 2):
            apart = Rotation.from_matrix(turn.T @ candidates[1][0]).as_rotvec()
            covariance[3:, 3:] += np.outer(apart, apart) / 4  # seen from straight ahead, a tag may lean either way
        carrier = tag_axes(tag.marker.normal)
        relative = self._axes @ turn @ carrier.T
        x, y, z, w = Rotation.from_matrix(relative).as_quat()
        out = np.zeros((6, 6))  # camera → observer's body; tag → the other's body
        out[:3, :3], out[3:, 3:] = self._axes, carrier
        marker_m = self._place_m + self._axes @ place
        return FiducialPose(stamp_s, marker_m, np.array([w, x, y, z]), out @ covariance @ out.T)

    def _refined(self, square: Array, corners: Array, turn: Any, place: Any) -> tuple[Array, Array, float]:
        """Rotation (3,3), place (3,), mean square error of the corners in px²."""
        turn, place = cv2.solvePnPRefineLM(
            square, corners, self._lens.matrix, self._lens.distortion, turn.copy(), place.copy()
        )
        rotation = np.asarray(cv2.Rodrigues(turn)[0], dtype=float)
        off = self._seen(square, rotation, np.asarray(place, dtype=float).ravel()) - corners
        return rotation, np.asarray(place, dtype=float).ravel(), float((off**2).mean())

    def _seen(self, square: Array, rotation: Array, place: Array) -> Array:
        points, _ = cv2.projectPoints(
            square, cv2.Rodrigues(rotation)[0], place, self._lens.matrix, self._lens.distortion
        )
        return np.asarray(points, dtype=float).reshape(-1, 2)

    def _covariance(self, square: Array, rotation: Array, place: Array) -> Array:
        """(6,6) of place in the camera's frame and small turns in the tag's: σ²(JᵀJ)⁻¹, eight numbers, six unknowns."""
        here, rows = self._seen(square, rotation, place).ravel(), []
        for k in range(6):
            step = np.zeros(6)
            step[k] = STEP
            turned = rotation @ Rotation.from_rotvec(step[3:]).as_matrix()
            rows.append((self._seen(square, turned, place + step[:3]).ravel() - here) / STEP)
        jacobian = np.array(rows).T
        edges = here.reshape(4, 2) - np.roll(here.reshape(4, 2), 1, axis=0)
        variance = CORNER_PX**2 + (BEND_PX * float((edges**2).sum()) / 4) ** 2
        return np.asarray(variance * np.linalg.inv(jacobian.T @ jacobian))


def _square(size_m: float) -> Array:
    """(4,3) corners as OpenCV orders them: from the upper left one clockwise, as the tag is read."""
    h = size_m / 2
    return np.array([[-h, h, 0.0], [h, h, 0.0], [h, -h, 0.0], [-h, -h, 0.0]])
