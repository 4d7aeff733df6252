"""Splines against the linear system of Fosso 2023, finite differences and dense sampling."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.guidance.splines import MotionLimits, SplineKind, SplinePath, spline_path

KINDS: tuple[SplineKind, ...] = ("segments", "natural", "clamped", "quintic")
WIDE = MotionLimits(100.0, 100.0)
TIGHT = MotionLimits(0.3, 0.05)


def random_waypoints(seed: int, count: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(size=(count, 3)) * 3, axis=0)


def jump(path: SplinePath, order: int) -> float:
    """The largest difference from just before to just after an inner knot."""
    inner, eps = path.knots_s[1:-1], 1e-9
    return float(np.max(abs(path.derivative(inner + eps, order) - path.derivative(inner - eps, order))))


def test_segments_solve_the_thesis_system() -> None:
    points = np.array([[0, 0, 5], [2, 1, 4], [2, -3, 6.0]])
    velocities = np.array([[0.1, 0, 0], [0.2, -0.1, 0.05], [0, 0, 0]])
    path = spline_path(points, "segments", 0.4, WIDE, velocities)
    for i in range(2):
        t0, t1 = path.knots_s[i : i + 2]
        assert t1 - t0 == pytest.approx(np.linalg.norm(points[i + 1] - points[i]) / 0.4)
        rows = [[1, t0, t0**2, t0**3], [0, 1, 2 * t0, 3 * t0**2], [1, t1, t1**2, t1**3], [0, 1, 2 * t1, 3 * t1**2]]
        a = np.linalg.solve(rows, [points[i], velocities[i], points[i + 1], velocities[i + 1]])
        t = np.linspace(t0, t1, 9)
        assert np.allclose(path.position(t), np.vander(t, 4, increasing=True) @ a, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 3, 9])
def test_passes_all_waypoints_at_average_speed(kind: SplineKind, count: int) -> None:
    points = random_waypoints(count, count)
    path = spline_path(points, kind, 0.25, WIDE)
    assert np.allclose(path.position(path.knots_s), points, atol=1e-9)
    assert np.allclose(np.diff(path.knots_s), np.linalg.norm(np.diff(points, axis=0), axis=1) / 0.25)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_agree_with_differences(kind: SplineKind) -> None:
    path, h = spline_path(random_waypoints(1, 6), kind, 0.3, WIDE), 1e-4
    t = np.random.default_rng(0).uniform(h, path.duration_s - h, 300)
    t = t[np.min(abs(t[:, None] - path.knots_s), axis=1) > 2 * h]
    assert np.allclose((path.position(t + h) - path.position(t - h)) / (2 * h), path.velocity(t), atol=1e-6)
    assert np.allclose((path.velocity(t + h) - path.velocity(t - h)) / (2 * h), path.acceleration(t), atol=1e-6)


@pytest.mark.parametrize(("kind", "smooth_orders"), [("segments", 1), ("natural", 2), ("clamped", 2), ("quintic", 4)])
def test_smooth_as_promised_and_no_smoother(kind: SplineKind, smooth_orders: int) -> None:
    path = spline_path(random_waypoints(2, 7), kind, 0.3, WIDE)
    assert all(jump(path, order) < 1e-6 for order in range(smooth_orders + 1))
    assert jump(path, smooth_orders + 1) > 1e-5  # else this test could not fail


def test_ends() -> None:
    points = random_waypoints(3, 5)
    ends = {kind: spline_path(points, kind, 0.3, WIDE) for kind in KINDS}
    for kind, path in ends.items():
        at = np.array([0.0, path.duration_s])
        if kind != "natural":
            assert np.allclose(path.velocity(at), 0, atol=1e-12), kind
        if kind in ("natural", "quintic"):
            assert np.allclose(path.acceleration(at), 0, atol=1e-12), kind
    velocities = np.tile([0.1, 0.2, 0.0], (5, 1))
    for kind in ("clamped", "quintic"):
        path = spline_path(points, kind, 0.3, WIDE, velocities)
        assert np.allclose(path.velocity([0.0, path.duration_s]), velocities[:2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_limits_hold_and_are_used(kind: SplineKind, seed: int) -> None:
    path = spline_path(random_waypoints(seed, 6), kind, 2.0, TIGHT)  # far too fast: must be slowed
    t = np.linspace(0, path.duration_s, 20001)
    speed = np.max(np.linalg.norm(path.velocity(t), axis=1))
    acceleration = np.max(np.linalg.norm(path.acceleration(t), axis=1))
    assert speed <= 0.3 and acceleration <= 0.05
    assert max(speed / 0.3, acceleration / 0.05) > 0.99
    assert np.allclose(path.peaks(), [speed, acceleration], rtol=1e-3)


def test_segments_with_given_velocities_keep_them_under_limits() -> None:
    velocities = np.array([[0, 0, 0], [0.2, 0.1, 0], [0, 0, 0.0]])
    path = spline_path([[0, 0, 0], [1, 1, 0], [5, 0, 0]], "segments", 0.8, TIGHT, velocities)
    assert np.allclose(path.velocity(path.knots_s[1]), velocities[1])
    assert path.peaks()[0] <= 0.3 and path.peaks()[1] <= 0.05


def test_a_short_leg_does_not_slow_the_other_segments() -> None:
    path = spline_path(np.array([[0, 0, 0], [10, 0, 0], [10.01, 0, 0], [20, 0, 0]]), "segments", 0.1, TIGHT)
    assert np.diff(path.knots_s)[[0, 2]] == pytest.approx([100, 99.9])


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(ShoalError, match="at least two"):
        spline_path([[0, 0, 0]], "quintic", 0.3, WIDE)
    with pytest.raises(ShoalError, match="below the speed limit"):
        spline_path([[0, 0, 0], [1, 0, 0]], "segments", 0.3, TIGHT, [[0, 0, 0], [1, 0, 0]])
