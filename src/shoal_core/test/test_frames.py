"""Rotations in all their forms against transforms3d, and NED/FRD to ENU/FLU: known directions, there and back."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from transforms3d.euler import quat2euler
from transforms3d.quaternions import axangle2quat, qmult, quat2mat

from shoal import frames
from shoal.vehicles import dynamics
from shoal.vehicles.dynamics import quaternion_rate, rotation

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


# -- one rotation, many, and the model's symbols ------------------------------------------------------------------


def test_forms_for_one_and_for_many_agree_with_transforms3d() -> None:
    for i, (q, v) in enumerate(zip(QUATERNIONS, VECTORS, strict=True)):
        expected = quat2mat(q)
        np.testing.assert_allclose(frames.matrix(q), expected, atol=1e-12)
        np.testing.assert_allclose(frames.rotation_matrix(QUATERNIONS)[i], expected, atol=1e-12)
        np.testing.assert_allclose(frames.rotate(QUATERNIONS, VECTORS)[i], expected @ v, atol=1e-12)
        other = QUATERNIONS[i - 1]
        np.testing.assert_allclose(frames.multiply(q, other), qmult(q, other), atol=1e-12)
        np.testing.assert_allclose(frames.skew(v) @ other[1:], np.cross(v, other[1:]), atol=1e-12)


def test_heading_and_tilt_agree_with_transforms3d() -> None:
    for i, q in enumerate(QUATERNIONS):
        yaw, _, _ = quat2euler(q, "rzyx")
        assert np.cos(frames.yaw_of(q) - yaw) == pytest.approx(1.0, abs=1e-12)
        assert frames.yaws_of(QUATERNIONS)[i] == pytest.approx(frames.yaw_of(q), abs=1e-12)
        assert frames.tilt_rad(q) == pytest.approx(np.arccos(quat2mat(q)[2, 2]), abs=1e-7)
    angles = np.array([[-3.0, 0.4], [1.2, 3.1]])
    np.testing.assert_allclose(frames.yaws_of(frames.from_yaw(angles)), angles, atol=1e-12)
    np.testing.assert_allclose(frames.from_yaw(0.7), axangle2quat([0, 0, 1], 0.7), atol=1e-12)


def test_numbers_and_symbols_are_the_same_rotation() -> None:
    """The symbolic twins belong to the vehicle's model; one turned sign would steer it backwards."""
    q, v = ca.SX.sym("q", 4), ca.SX.sym("v", 3)
    rate = 1e-6
    symbolic = ca.Function("twins", [q, v], [rotation(q), dynamics.skew(v), quaternion_rate(q, v)])
    for number, vector in zip(QUATERNIONS, VECTORS, strict=True):
        r, s, q_dot = (np.array(out) for out in symbolic(number, vector))
        np.testing.assert_allclose(r, frames.matrix(number), atol=1e-12)
        np.testing.assert_allclose(s, frames.skew(vector), atol=1e-12)
        length = float(np.linalg.norm(vector))
        turned = frames.multiply(number, axangle2quat(vector, rate * length))  # about the body's own axes
        np.testing.assert_allclose(q_dot.ravel(), (turned - number) / rate, atol=1e-5)


@pytest.mark.parametrize("allowed_deg", [10.0, 400.0])
def test_turning_towards_goes_the_short_way_and_stops_at_what_is_allowed(allowed_deg: float) -> None:
    start = QUATERNIONS[0]
    got = frames.turn_towards(start, QUATERNIONS, np.full(len(QUATERNIONS), np.radians(allowed_deg)))
    for q, goal in zip(got, QUATERNIONS, strict=True):
        whole = 2 * np.arccos(min(1.0, abs(float(start @ goal))))
        made = 2 * np.arccos(min(1.0, abs(float(start @ q))))
        left = 2 * np.arccos(min(1.0, abs(float(q @ goal))))
        assert made == pytest.approx(min(whole, np.radians(allowed_deg)), abs=1e-6)
        assert made + left == pytest.approx(whole, abs=1e-6)
