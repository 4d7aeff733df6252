"""How good the detector is: errors against the true pose on rendered images, by range and angle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.frames import from_euler, matrix, multiply
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.vehicles.description import Vehicle
from shoal.vision.detector import TagDetector, tags_of
from shoal.vision.lens import LENS, Lens
from shoal.vision.rendering import Scene, Water

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """Of so many images; root mean squares of those in which the tag was found."""

    range_m: float
    angle_deg: float
    images: int
    found: int
    along_m: float
    across_m: float
    attitude_deg: float
    stated_deg: float  # attitude error that the detector itself expects
    nees: float  # of six numbers, mean


def looked_at(
    vehicle: Vehicle,
    range_m: float,
    angle_deg: float,
    images: int,
    seed: int,
    lens: Lens = LENS,
    water: Water | None = None,
) -> Cell:
    """The bow camera of one looks at the stern tag of another, `range_m` from lens to tag, turned by `angle_deg`.

    Bearings up to 15°, roll and pitch of both up to 5°, all drawn.
    """
    ports = {p.name: p for p in vehicle.ports}
    camera, marker = ports["bow"].camera, ports["stern"].marker
    assert camera is not None and marker is not None
    tags = tags_of({"me": vehicle.ports, "other": vehicle.ports})
    number = next(n for n, tag in tags.items() if (tag.vehicle, tag.port) == ("other", "stern"))
    scene = Scene(lens, camera, vehicle, marker, number, water or Water())
    detector, rng = TagDetector(lens, camera, tags), np.random.default_rng([seed, 21])
    errors, stated, scores = [], [], []
    for _ in range(images):
        own, other, sign = State.at_rest((0.0, 0.0, 5.0)).array, np.zeros(13), rng.choice([-1.0, 1.0])
        own[ATTITUDE] = _leaning(rng, 0.3)
        bearing, height = np.radians(rng.uniform(-1, 1, 2) * (15.0, 8.0))
        way = np.array([math.cos(bearing) * math.cos(height), math.sin(bearing) * math.cos(height), math.sin(height)])
        turned = _leaning(rng, 0.3 + bearing + sign * math.radians(angle_deg))
        mark = own[POSITION] + matrix(own[ATTITUDE]) @ (camera.place_m + range_m * way)
        other[ATTITUDE], other[POSITION] = turned, mark - matrix(turned) @ marker.place_m
        seen = [f.pose for f in detector.find(scene.image(own, other, rng), 0.0) if f.tag == tags[number]]
        if not seen:
            continue
        conjugate = np.array([1.0, -1, -1, -1])
        off = multiply(seen[0].attitude * conjugate, multiply(own[ATTITUDE] * conjugate, turned))
        place = camera.place_m + range_m * way - seen[0].marker_m
        error = np.concatenate([place, 2 * off[1:] * (1.0 if off[0] >= 0 else -1.0)])
        errors.append([place @ way, float(np.linalg.norm(place - (place @ way) * way)), np.linalg.norm(error[3:])])
        stated.append(np.trace(seen[0].covariance[3:, 3:]))
        scores.append(error @ np.linalg.solve(seen[0].covariance, error))
    if not errors:
        return Cell(range_m, angle_deg, images, 0, *(5 * [math.nan]))
    along, across, attitude = np.sqrt((np.array(errors) ** 2).mean(axis=0)).tolist()
    expected = math.degrees(math.sqrt(float(np.mean(stated))))
    return Cell(
        range_m, angle_deg, images, len(errors), along, across, math.degrees(attitude), expected, float(np.mean(scores))
    )


def _leaning(rng: np.random.Generator, yaw_rad: float) -> Array:
    roll, pitch = np.radians(rng.uniform(-5, 5, 2))
    return from_euler(float(roll), float(pitch), yaw_rad)
