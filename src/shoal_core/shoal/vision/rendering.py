"""Images of a vehicle with its tag, made with known geometry: rays through a distorting lens, haze and pixel noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import Vehicle
from shoal.vehicles.ports import PortCamera, PortMarker
from shoal.vision.detector import FAMILY, Image
from shoal.vision.lens import Lens, optical_axes, tag_axes

Array = NDArray[np.float64]
FINER = 3  # rays a pixel, each way
NEAREST_M = 0.05
EDGE_PX = 12  # a straight edge bends by less
CELLS, BORDER = 8, 1  # of a tag with its black edge, and of the white around it


@dataclass(frozen=True)
class Water:
    """Grey levels of 255."""

    haze_pm: float = 0.25  # light is lost as exp(−haze · range), and the water's own comes instead
    grey: float = 90.0
    noise: float = 3.0  # one sigma of a pixel
    blur_px: float = 0.6  # one sigma of the lens


@dataclass(frozen=True)
class Scene:
    """One vehicle before the camera of another."""

    lens: Lens
    camera: PortCamera
    vehicle: Vehicle  # that is looked at
    marker: PortMarker
    number: int  # of its tag
    water: Water = Water()

    def image(self, own: Array, other: Array, rng: np.random.Generator) -> Image:
        """`own`, `other` (13,): the true states. (height, width) grey."""
        lens, turn = self.lens, matrix(own[ATTITUDE]) @ optical_axes(self.camera.axis)
        eye = own[POSITION] + matrix(own[ATTITUDE]) @ self.camera.place_m
        rays = _rays(lens.width, lens.height, tuple(lens.matrix.ravel()), tuple(lens.distortion))
        grey = np.full(rays.shape[:2], self.water.grey, dtype=np.float32)
        body = matrix(other[ATTITUDE])
        for face in _faces(self.vehicle.size_m):
            corner, u, v = (turn.T @ (body @ x) for x in face[:3])
            place = turn.T @ (other[POSITION] - eye) + corner
            if np.cross(u, v) @ place * face[4] < 0:  # outside is towards us
                self._paint(grey, rays, place, u, v, face[3])
        axes, plate_m = tag_axes(self.marker.normal), self.marker.size_m * (CELLS + 2 * BORDER) / CELLS
        right, up = (turn.T @ (body @ axes[:, k]) * plate_m for k in (0, 1))
        middle = turn.T @ (other[POSITION] + body @ self.marker.place_m - eye)
        if (turn.T @ (body @ axes[:, 2])) @ middle < 0:  # its front is towards us
            self._paint(grey, rays, middle - right / 2 + up / 2, right, -up, _plate(self.number))
        small = cv2.resize(grey, (lens.width, lens.height), interpolation=cv2.INTER_AREA)
        small = cv2.GaussianBlur(small, (0, 0), self.water.blur_px)
        noisy = np.asarray(small) + self.water.noise * rng.standard_normal(small.shape)
        return np.clip(np.round(noisy), 0, 255).astype(np.uint8)

    def _paint(self, grey: NDArray[np.float32], rays: Array, corner: Array, u: Array, v: Array, skin: Array) -> None:
        """A parallelogram in the camera's frame: where the ray meets its plane, in shares of u and v."""
        normal = np.cross(u, v)
        ends = np.array([corner, corner + u, corner + v, corner + u + v])
        if ends[:, 2].min() < NEAREST_M:
            return  # beside or behind the lens
        window = self._window(ends)
        rays, grey = rays[window], grey[window]  # views: painted in place
        facing = rays @ normal
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = float(corner @ normal) / facing
            hit = depth[..., None] * rays - corner
        along, down = _shares(hit, u, v)
        inside = (depth > NEAREST_M) & (along >= 0) & (along < 1) & (down >= 0) & (down < 1)
        rows, columns = (down[inside] * skin.shape[0]).astype(int), (along[inside] * skin.shape[1]).astype(int)
        left = np.exp(-self.water.haze_pm * depth[inside] * np.linalg.norm(rays[inside], axis=-1))
        grey[inside] = self.water.grey + left * (skin[rows, columns] - self.water.grey)

    def _window(self, ends: Array) -> tuple[slice, slice]:
        """Rows and columns of the fine image that it may cover."""
        lens = self.lens
        points, _ = cv2.projectPoints(ends, np.zeros(3), np.zeros(3), lens.matrix, lens.distortion)
        pixels = np.asarray(points).reshape(-1, 2)
        least, most = np.floor(pixels.min(axis=0) - EDGE_PX), np.ceil(pixels.max(axis=0) + EDGE_PX)
        (x0, y0), (x1, y1) = (np.clip(p, 0, (lens.width, lens.height)).astype(int) * FINER for p in (least, most))
        return slice(y0, y1), slice(x0, x1)


def _shares(hit: Array, u: Array, v: Array) -> tuple[Array, Array]:
    uu, uv, vv = float(u @ u), float(u @ v), float(v @ v)
    a, b, whole = hit @ u, hit @ v, uu * vv - uv * uv
    return (vv * a - uv * b) / whole, (uu * b - uv * a) / whole


@cache
def _rays(width: int, height: int, matrix_: tuple[float, ...], distortion: tuple[float, ...]) -> Array:
    """(FINER·height, FINER·width, 3) of depth 1, through the lens."""
    x = (np.arange(FINER * width) + 0.5) / FINER - 0.5
    y = (np.arange(FINER * height) + 0.5) / FINER - 0.5
    pixels = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 1, 2)
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 20, 1e-7)
    flat = cv2.undistortPointsIter(
        pixels, np.reshape(matrix_, (3, 3)), np.array(distortion), np.eye(3), np.eye(3), criteria
    )
    rays = np.ones((len(pixels), 3), dtype=np.float32)
    rays[:, :2] = np.asarray(flat).reshape(-1, 2)
    return rays.reshape(FINER * height, FINER * width, 3)  # type: ignore[return-value]


@cache
def _plate(number: int) -> Array:
    """A tag with its white edge, a number for each cell."""
    tag = cv2.aruco.generateImageMarker(cv2.aruco.getPredefinedDictionary(FAMILY), number, CELLS, borderBits=1)
    return np.pad(np.where(np.asarray(tag) > 127, 225.0, 20.0), BORDER, constant_values=225.0)


def _faces(size_m: tuple[float, float, float]) -> list[tuple[Array, Array, Array, Array, float]]:
    """Of a hull as a box: corner, two edges (3,), its grey, and the sign of the edges' cross product outwards."""
    half, faces = np.asarray(size_m) / 2, []
    for axis, grey in ((2, 70.0), (1, 110.0), (0, 150.0)):
        for sign in (-1.0, 1.0):
            one, two = (k for k in range(3) if k != axis)
            corner = -half.copy()
            corner[axis] = sign * half[axis]
            u, v = np.zeros(3), np.zeros(3)
            u[one], v[two] = 2 * half[one], 2 * half[two]
            faces.append((corner, u, v, np.full((1, 1), grey), sign * float(np.sign(np.cross(u, v)[axis]))))
    return faces
