"""NED/FRD to ENU/FLU: known directions, known attitudes, and there and back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shoal import frames

RNG = np.random.default_rng([7, 1])
QUATERNIONS = RNG.normal(size=(50, 4))
QUATERNIONS /= np.linalg.norm(QUATERNIONS, axis=1, keepdims=True)
VECTORS = RNG.normal(size=(50, 3))

WORLD = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
BODY = np.diag([1.0, -1.0, -1.0])


def test_directions() -> None:
    np.testing.assert_allclose(frames.ned_to_enu(np.array([1.0, 2.0, 5.0])), [2.0, 1.0, -5.0])
    np.testing.assert_allclose(frames.frd_to_flu(np.array([1.0, 2.0, 5.0])), [1.0, -2.0, -5.0])


@pytest.mark.parametrize(
    ("heading_deg", "enu_yaw_deg"), [(0.0, 90.0), (90.0, 0.0), (180.0, -90.0), (-90.0, 180.0), (30.0, 60.0)]
)
def test_heading_becomes_yaw_from_east(heading_deg: float, enu_yaw_deg: float) -> None:
    half = np.radians(heading_deg) / 2
    converted = frames.quaternion_ned_to_enu(np.array([np.cos(half), 0.0, 0.0, np.sin(half)]))
    forward = frames.rotation_matrix(converted)[:, 0]
    expected = [np.cos(np.radians(enu_yaw_deg)), np.sin(np.radians(enu_yaw_deg)), 0.0]
    np.testing.assert_allclose(forward, expected, atol=1e-12)


def test_a_level_vehicle_stays_level() -> None:
    up = frames.rotation_matrix(frames.quaternion_ned_to_enu(np.array([1.0, 0.0, 0.0, 0.0])))[:, 2]
    np.testing.assert_allclose(up, [0.0, 0.0, 1.0], atol=1e-12)


def test_attitude_is_the_matrix_product() -> None:
    got = frames.rotation_matrix(frames.quaternion_ned_to_enu(QUATERNIONS))
    np.testing.assert_allclose(got, WORLD @ frames.rotation_matrix(QUATERNIONS) @ BODY, atol=1e-12)


def test_rotating_then_converting_is_converting_then_rotating() -> None:
    world = np.einsum("kij,kj->ki", frames.rotation_matrix(QUATERNIONS), VECTORS)
    matrix = frames.rotation_matrix(frames.quaternion_ned_to_enu(QUATERNIONS))
    np.testing.assert_allclose(
        np.einsum("kij,kj->ki", matrix, frames.frd_to_flu(VECTORS)), frames.ned_to_enu(world), atol=1e-12
    )


def test_there_and_back() -> None:
    np.testing.assert_allclose(frames.enu_to_ned(frames.ned_to_enu(VECTORS)), VECTORS)
    np.testing.assert_allclose(frames.flu_to_frd(frames.frd_to_flu(VECTORS)), VECTORS)
    back = frames.quaternion_enu_to_ned(frames.quaternion_ned_to_enu(QUATERNIONS))
    np.testing.assert_allclose(back, QUATERNIONS, atol=1e-12)
    np.testing.assert_allclose(frames.scalar_first(frames.scalar_last(QUATERNIONS)), QUATERNIONS)


def test_length_is_kept() -> None:
    np.testing.assert_allclose(np.linalg.norm(frames.quaternion_ned_to_enu(QUATERNIONS), axis=1), 1.0)


def test_rotation_matrix_agrees_with_scipy() -> None:
    expected = Rotation.from_quat(frames.scalar_last(QUATERNIONS)).as_matrix()
    np.testing.assert_allclose(frames.rotation_matrix(QUATERNIONS), expected, atol=1e-12)
