"""Fiducials in images rendered with known geometry: pose, stated errors, and the filter that lives on them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from shoal.errors import ShoalError
from shoal.estimation.relative_pose import RelativePose
from shoal.frames import from_euler, matrix, multiply
from shoal.messages.state import ATTITUDE, POSITION, TWIST, State
from shoal.vehicles.description import load_vehicle
from shoal.vision.detector import CORNER_PX, TagDetector, _square, tags_of
from shoal.vision.lens import LENS, Lens, optical_axes, tag_axes
from shoal.vision.rendering import Scene, Water
from shoal.vision.trial import looked_at

Array = NDArray[np.float64]
ROV = load_vehicle("bluerov2_heavy")
BOW, STERN = ROV.ports[:2]
TAGS = tags_of({"me": (), "other": ROV.ports})
NUMBER = next(n for n, tag in TAGS.items() if tag.port == "stern")
# Half the pixels of the lens of `shoal docking detector`: quicker, and harder.
SMALL = Lens(640, 360, np.diag([0.5, 0.5, 1.0]) @ LENS.matrix, LENS.distortion)


def test_tags_of_a_fleet_differ() -> None:
    tags = tags_of({"a": ROV.ports, "b": ROV.ports})
    assert len(tags) == 4 and {(t.vehicle, t.port) for t in tags.values()} == {
        (name, port) for name in "ab" for port in ("bow", "stern")
    }


@pytest.mark.parametrize("angle_deg", [10.0, 40.0])
def test_pose_is_right_and_its_errors_are_as_stated(angle_deg: float) -> None:
    cell = looked_at(ROV, 1.0, angle_deg, 10, 5, SMALL)
    assert cell.found == 10
    assert cell.along_m < 0.02 and cell.across_m < 0.005 and cell.attitude_deg < 4.0
    assert 2.0 < cell.nees < 12.0  # of six numbers


def test_haze_hides_the_tag() -> None:
    assert looked_at(ROV, 1.5, 20.0, 2, 5, SMALL).found == 2
    assert looked_at(ROV, 1.5, 20.0, 2, 5, SMALL, Water(haze_pm=3.0)).found == 0


def seen_by(own: Array, other: Array, rng: np.random.Generator, stamp_s: float = 0.0, water: Water | None = None):  # type: ignore[no-untyped-def]
    assert BOW.camera is not None and STERN.marker is not None
    scene = Scene(SMALL, BOW.camera, ROV, STERN.marker, NUMBER, water or Water())
    return TagDetector(SMALL, BOW.camera, TAGS).find(scene.image(own, other, rng), stamp_s)


def test_a_tag_of_nobody_and_one_seen_from_behind_are_not_reported() -> None:
    rng = np.random.default_rng(1)
    own, other = State.at_rest((0.0, 0.0, 5.0)).array, State.at_rest((1.5, 0.1, 5.0), 0.2).array
    (found,) = seen_by(own, other, rng)
    assert (found.tag.vehicle, found.tag.port) == ("other", "stern")
    assert BOW.camera is not None and STERN.marker is not None
    scene = Scene(SMALL, BOW.camera, ROV, STERN.marker, NUMBER, Water())
    assert TagDetector(SMALL, BOW.camera, {}).find(scene.image(own, other, rng), 0.0) == []
    assert seen_by(own, State.at_rest((1.5, 0.1, 5.0), math.pi).array, rng) == []


def test_camera_that_is_not_calibrated_is_refused() -> None:
    with pytest.raises(ShoalError, match=r"/a/info: K = .*; expected the matrix of a calibrated camera"):
        Lens.of(640, 360, np.zeros(9), np.zeros(5), "/a/info")
    with pytest.raises(ShoalError, match="expected 0, 4, 5 or 8 finite numbers"):
        Lens.of(640, 360, LENS.matrix, np.zeros(3))
    turned = optical_axes(np.array([0.0, 1.0, 0.0]))  # looks to starboard: right of the image is aft
    np.testing.assert_allclose(turned[:, 0], [-1, 0, 0], atol=1e-12)


def test_filter_on_images_of_two_that_move_is_consistent() -> None:
    """Body velocities with noise and images in; the error measured by the filter's own covariance (NEES)."""
    rng, scores, errors, h = np.random.default_rng(11), [], [], 0.1
    assert STERN.marker is not None
    for _ in range(3):
        own, other = State.at_rest((0.0, 0.0, 5.0)).array, State.at_rest((1.7, 0.2, 5.1), 0.3).array
        own[TWIST] = [0.08, 0, 0, 0, 0, 0.02]
        other[TWIST] = [0.02, 0.02, 0, 0, 0.01, -0.03]
        track = RelativePose(STERN.marker.place_m)
        for k in range(10):
            noisy = [x[TWIST] + np.repeat([0.01, 0.009], 3) * rng.standard_normal(6) for x in (own, other)]
            track.move(k * h, *noisy)
            for found in seen_by(own, other, rng, k * h):
                track.see(found.pose, *noisy)
            own, other = moved(own, h), moved(other, h)
            track.move((k + 1) * h, *noisy)
            if k < 2:
                continue
            error = off(track, own, other)
            scores.append(float(error @ np.linalg.solve(track.covariance, error)))
            errors.append(float(np.linalg.norm(error[:3])))
    # χ² of six numbers has the mean 6; 24 correlated values of three runs scatter about it.
    assert 2.0 < np.mean(scores) < 11.0
    assert np.mean(errors) < 0.03


def moved(state: Array, h: float) -> Array:
    after = state.copy()
    after[POSITION] += h * matrix(state[ATTITUDE]) @ state[TWIST][:3]
    after[ATTITUDE] = multiply(state[ATTITUDE], from_euler(*(h * state[TWIST][3:])))
    return after


def off(track: RelativePose, own: Array, other: Array) -> Array:
    """(6,) δp and δθ."""
    conjugate = np.array([1.0, -1, -1, -1])
    place = matrix(own[ATTITUDE]).T @ (other[POSITION] - own[POSITION])
    turn = multiply(track.attitude * conjugate, multiply(own[ATTITUDE] * conjugate, other[ATTITUDE]))
    return np.concatenate([place - track.position_m, 2 * turn[1:] * (1.0 if turn[0] >= 0 else -1.0)])


def attitude_scores(range_m: float, angle_deg: float, count: int) -> Array:
    """(count,) Errors of attitude by the detector's own covariance, of corners that are off by what it expects."""
    rng, tag = np.random.default_rng(3), TAGS[NUMBER]
    assert BOW.camera is not None and STERN.marker is not None
    detector = TagDetector(SMALL, BOW.camera, TAGS)
    square, carrier = _square(STERN.marker.size_m), tag_axes(STERN.marker.normal)
    place, scores = range_m * np.array([0.1, 0.05, 1.0]), []
    for about in rng.uniform(-math.pi, math.pi, count):
        turn = Rotation.from_rotvec(math.radians(angle_deg) * np.array([math.cos(about), math.sin(about), 0.0]))
        corners = detector._seen(square, turn.as_matrix(), place)
        pose = detector._pose(corners + CORNER_PX * rng.standard_normal((4, 2)), tag, 0.0)
        true = optical_axes(BOW.camera.axis) @ turn.as_matrix() @ carrier.T
        error = Rotation.from_matrix(matrix(pose.attitude).T @ true).as_rotvec()
        scores.append(error @ np.linalg.solve(pose.covariance[3:, 3:], error))
    return np.array(scores)


def test_a_second_pose_that_fits_as_well_is_in_the_covariance() -> None:
    """From nearly ahead a tag may lean either way; who takes the one pose for sure is wrong by 25° now and then.

    The mean of χ² of three numbers is 3; without the second pose it is 30 here. Where one pose alone fits nothing is
    added: the errors are as large as expected there, not smaller.
    """
    either, one = attitude_scores(3.0, 10.0, 60), attitude_scores(0.7, 40.0, 60)
    assert 1.5 < either.mean() < 6.0 and (either > 16.3).mean() < 0.05  # 0.1 % of χ² are beyond that
    assert 1.7 < one.mean() < 4.5
