"""Camera and relative-pose filter: what is seen, how well, and whether the filter knows how well (NEES)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from shoal.estimation.relative_pose import STARTS_AGAIN, OdometryNoise, RelativePose
from shoal.frames import from_euler, matrix, multiply
from shoal.messages.relative_pose import FiducialPose
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.simulation.camera import CameraModel, Fiducial, FiducialCamera

Array = NDArray[np.float64]
FACING = Fiducial(place_m=(0.2, 0.05, -0.1))
EXACT = CameraModel(along_std_m=0.0, across_std_m=0.0, attitude_std_deg=0.0, dropout=0.0, latency_s=0.0)


def pair(range_m: float, bearing_deg: float = 0.0, turned_deg: float = 180.0) -> tuple[Array, Array]:
    """One at the origin, heading north; another one there, facing back."""
    b = math.radians(bearing_deg)
    place = (range_m * math.cos(b), range_m * math.sin(b), 5.0)
    return State.at_rest((0.0, 0.0, 5.0)).array, State.at_rest(place, math.radians(turned_deg)).array


def camera(model: CameraModel = EXACT, fiducial: Fiducial = FACING, seed: int = 0) -> FiducialCamera:
    return FiducialCamera(model, fiducial, np.random.default_rng([seed, 1]))


def test_without_noise_it_is_the_geometry() -> None:
    own, other = pair(3.0, 4.0, 170.0)
    own[ATTITUDE], other[ATTITUDE] = from_euler(0.05, -0.04, 0.1), from_euler(-0.1, 0.07, 3.0)
    (seen,) = camera().look(0.0, own, other)
    world = other[POSITION] + matrix(other[ATTITUDE]) @ np.array(FACING.place_m)
    np.testing.assert_allclose(own[POSITION] + matrix(own[ATTITUDE]) @ seen.marker_m, world, atol=1e-12)
    np.testing.assert_allclose(matrix(own[ATTITUDE]) @ matrix(seen.attitude), matrix(other[ATTITUDE]), atol=1e-12)


@pytest.mark.parametrize(
    ("range_m", "bearing_deg", "turned_deg", "visible"),
    [(3.0, 0, 180, True), (3.0, 20, 200, True), (3.0, 30, 210, False), (9.5, 0, 180, False), (3.0, 0, 90, False)],
    ids=["ahead", "aside", "outside the cone", "turbid", "from its edge"],
)
def test_what_is_seen(range_m: float, bearing_deg: float, turned_deg: float, visible: bool) -> None:
    assert bool(camera().look(0.0, *pair(range_m, bearing_deg, turned_deg))) is visible


def test_any_camera_axis() -> None:
    abeam = camera(replace(EXACT, axis=(0.0, 2.0, 0.0), place_m=(0.0, 0.2, 0.0)))
    assert abeam.look(0.0, *pair(3.0, 90.0, -90.0))
    assert not abeam.look(0.2, *pair(3.0, 0.0, 180.0))


def test_rate_latency_and_dropouts() -> None:
    model = replace(EXACT, latency_s=0.25, dropout=0.2, rate_hz=10.0)
    eye, own_other = camera(model), pair(3.0)
    arrived = [(k * 0.05, s.stamp_s) for k in range(2000) for s in eye.look(k * 0.05, *own_other)]
    assert 0.75 < len(arrived) / 1000 < 0.84
    assert all(0.25 - 1e-6 <= t - stamp <= 0.3 + 1e-6 for t, stamp in arrived)


def test_noise_grows_with_range_and_angle_and_is_as_stated() -> None:
    model = replace(CameraModel(), dropout=0.0, latency_s=0.0)

    def spread(range_m: float, bearing_deg: float) -> tuple[Array, Array]:
        eye, (own, other) = camera(model), pair(range_m, bearing_deg, 180.0)
        seen = [s for k in range(600) for s in eye.look(k * 0.1, own, other)]
        exact = camera().look(0.0, own, other)[0].marker_m
        off = np.array([s.marker_m - exact for s in seen])
        return off.T @ off / len(off), seen[0].covariance[:3, :3]

    for range_m, bearing_deg in ((1.0, 0.0), (4.0, 0.0), (4.0, 15.0)):
        found, stated = spread(range_m, bearing_deg)
        np.testing.assert_allclose(found, stated, atol=0.25 * np.abs(stated).max())
    near, far, aside = (np.trace(spread(*place)[1]) for place in ((1.0, 0.0), (4.0, 0.0), (4.0, 20.0)))
    assert near < far < aside


def test_equal_seeds_draw_equal_noise_whatever_is_seen() -> None:
    """One has lost ten exposures in turbid water, the other none; the next one is the same."""
    model = replace(CameraModel(), dropout=0.0, latency_s=0.0)
    one, two = camera(model, seed=3), camera(model, seed=3)
    for k in range(10):
        assert one.look(k * 0.1, *pair(3.0))
        assert not two.look(k * 0.1, *pair(30.0))
    (a,), (b,) = (eye.look(1.0, *pair(2.0)) for eye in (one, two))
    np.testing.assert_array_equal(a.marker_m, b.marker_m)


class Swim:
    """Two vehicles with smooth body velocities; the relative pose by fine steps in the world."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 8])
        self.poses = [pair(2.5)[0], pair(2.5)[1]]
        self._size, self._pace = 0.06 * rng.normal(size=(2, 6)), rng.uniform(0.3, 1.2, size=(2, 6))
        self._phase = rng.uniform(0, 6, size=(2, 6))

    def twists(self, t_s: float) -> Array:
        return np.asarray(self._size * np.sin(self._pace * t_s + self._phase))

    def step(self, t_s: float, h: float) -> None:
        for k in range(5):
            for x, twist in zip(self.poses, self.twists(t_s + (k + 0.5) * h / 5), strict=True):
                d = h / 5
                x[POSITION] += d * matrix(x[ATTITUDE]) @ twist[:3]
                angle = float(np.linalg.norm(twist[3:])) * d
                turn = np.array([math.cos(angle / 2), *(0.5 * np.sinc(angle / 2 / math.pi) * d * twist[3:])])
                x[ATTITUDE] = multiply(x[ATTITUDE], turn)

    def relative(self) -> tuple[Array, Array]:
        a, b = self.poses
        conjugate = a[ATTITUDE] * np.array([1.0, -1, -1, -1])
        return matrix(a[ATTITUDE]).T @ (b[POSITION] - a[POSITION]), multiply(conjugate, b[ATTITUDE])


NOISE = OdometryNoise()


def swum(seed: int, seconds: float = 5.0, odometry: float = 1.0, see_until_s: float = 99.0) -> tuple[Array, float]:
    """NEES every 0.5 s after 2 s, and the last position error; `odometry`: true noise over the assumed."""
    swim, rng = Swim(seed), np.random.default_rng([seed, 9])
    eye = camera(replace(CameraModel(), half_angle_deg=60.0), replace(FACING, widest_deg=85.0), seed)
    tracker, h, scores, off_m = RelativePose(np.array(FACING.place_m)), 0.05, [], math.nan
    sigma = np.tile([NOISE.velocity_mps] * 3 + [NOISE.rate_radps] * 3, (2, 1)) * odometry
    for k in range(round(seconds / h)):
        t_s = k * h
        twists = swim.twists(t_s + h / 2) + sigma * rng.standard_normal((2, 6))
        tracker.move(t_s, twists[0], twists[1])
        for sighting in eye.look(t_s, swim.poses[0].copy(), swim.poses[1].copy()):
            if t_s < see_until_s:
                tracker.see(sighting, twists[0], twists[1])
        if tracker.known and t_s > 2.0:
            position, attitude = swim.relative()
            conjugate = tracker.attitude * np.array([1.0, -1, -1, -1])
            turned = multiply(conjugate, attitude)
            error = np.concatenate([position - tracker.position_m, 2 * turned[1:] * np.sign(turned[0])])
            off_m = float(np.linalg.norm(error[:3]))
            if k % 10 == 0:
                scores.append(float(error @ np.linalg.solve(tracker.covariance, error)))
        swim.step(t_s, h)
    return np.array(scores), off_m


def test_filter_knows_how_wrong_it_is() -> None:
    """Normalised error squared: six on average; its mean over 16 runs within the bounds of χ², sample by sample."""
    scores = np.array([swum(seed)[0] for seed in range(16)])  # (runs, samples)
    low, high = chi2.ppf([0.001, 0.999], 6 * len(scores)) / len(scores)
    means = scores.mean(axis=0)
    assert ((means > low) & (means < high)).mean() > 0.9, means
    assert low < scores.mean() < high
    worse = np.array([swum(seed, odometry=4.0)[0] for seed in range(4)])
    assert worse.mean() > 9.0, "odometry much worse than assumed goes unnoticed"


def test_both_odometries_bridge_a_gap() -> None:
    """Three seconds without the camera at up to 10 cm/s: a few centimetres off, not decimetres."""
    errors = [swum(seed, seconds=7.0, see_until_s=4.0)[1] for seed in range(6)]
    assert max(errors) < 0.06


def test_outliers_are_refused_and_a_wrong_filter_starts_again() -> None:
    own, other = pair(2.0)
    (seen,) = camera().look(0.0, own, other)
    seen = replace(seen, covariance=1e-4 * np.eye(6))
    tracker, rest = RelativePose(np.array(FACING.place_m)), np.zeros(6)
    tracker.see(seen, rest, rest)
    np.testing.assert_allclose(tracker.position_m, [2.0, 0.0, 0.0], atol=1e-9)
    odd = FiducialPose(0.1, seen.marker_m + np.array([0.5, 0, 0]), seen.attitude, seen.covariance)
    assert not tracker.see(odd, rest, rest)
    np.testing.assert_allclose(tracker.position_m, [2.0, 0.0, 0.0], atol=1e-9)
    for k in range(STARTS_AGAIN - 1):
        tracker.see(replace(odd, stamp_s=0.2 + 0.1 * k), rest, rest)
    np.testing.assert_allclose(tracker.position_m, [2.5, 0.0, 0.0], atol=1e-9)
