"""A running queue never jumps, keeps its limits and gets where it was sent, whatever the operator does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.guidance.replan import Motion
from shoal.guidance.splines import MotionLimits
from shoal.guidance.waypoints import WaypointQueue

LIMITS = MotionLimits(0.5, 0.2)
Edit = Callable[[WaypointQueue, float, np.random.Generator], None]


def queue(t_s: float = 0.0, velocity: tuple[float, float, float] = (0, 0, 0)) -> WaypointQueue:
    return WaypointQueue(t_s, Motion(np.array([0, 0, 5.0]), np.array(velocity, dtype=float), np.zeros(3)), 0.3, LIMITS)


def somewhere(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=3) * 6 + [0, 0, 5]


def toggle_hold(q: WaypointQueue, t: float, _: np.random.Generator) -> None:
    (q.resume if q.holding else q.hold)(t)


EDITS: dict[str, Edit] = {
    "append": lambda q, t, rng: q.append(t, somewhere(rng)),
    "insert": lambda q, t, rng: q.insert(t, int(rng.integers(len(q.remaining(t)) + 1)), somewhere(rng), 0.4),
    "clear": lambda q, t, _: q.clear(t),
    "hold": toggle_hold,
}


@pytest.mark.parametrize("seed", range(15))
def test_no_edit_makes_a_jump_or_breaks_a_limit(seed: int) -> None:
    rng, q, t = np.random.default_rng(seed), queue(), 0.0
    for edit in rng.choice(list(EDITS), p=[0.5, 0.25, 0.1, 0.15], size=10):
        before = q.motion(t)
        EDITS[edit](q, t, rng)
        after = q.motion(t)
        assert np.allclose(after.position_m, before.position_m, atol=1e-9)
        assert np.allclose(after.velocity_mps, before.velocity_mps, atol=1e-9)
        assert np.allclose(after.acceleration_mps2, before.acceleration_mps2, atol=1e-9)
        length_s = rng.uniform(0.1, 15)
        ahead = q.preview(t, np.linspace(0, length_s, 400))
        steps = np.diff(ahead.velocities_mps, axis=0) / (length_s / 399)  # mean acceleration of each step
        assert np.max(np.linalg.norm(ahead.velocities_mps, axis=1)) <= 0.5 * (1 + 1e-5)
        assert np.max(np.linalg.norm(steps, axis=1)) <= 0.2 * (1 + 1e-5)
        t += length_s


def test_passes_waypoints_in_order_and_rests_at_the_last() -> None:
    q = queue()
    places = [[4, 0, 5], [4, 4, 6], [0, 4, 5]]
    for place in places:
        q.append(0.0, place)
    times_s = np.linspace(0, 120, 12001)
    track = q.preview(0.0, times_s).positions_m
    passed = [int(np.argmin(np.linalg.norm(track - place, axis=1))) for place in places]
    assert passed == sorted(passed)
    assert all(np.linalg.norm(track[i] - place) < 0.01 for i, place in zip(passed, places, strict=True))
    assert np.allclose(q.motion(500.0).position_m, places[-1]) and not np.any(q.motion(500.0).velocity_mps)
    assert [len(q.remaining(times_s[i] + s)) for i in passed[:2] for s in (-0.1, 0.1)] == [3, 2, 2, 1]
    assert q.remaining(500.0) == ()


def test_waypoint_is_met_exactly_after_an_edit_just_before_it() -> None:
    q = queue()
    q.append(0.0, [3, 0, 5])
    q.append(0.0, [3, 5, 5])
    arrival_s = next(t for t in np.arange(0, 60, 0.01) if len(q.remaining(t)) == 1)
    q.append(arrival_s - 0.5, [0, 5, 5])
    track = q.preview(arrival_s - 0.5, np.linspace(0, 60, 60001)).positions_m
    assert np.min(np.linalg.norm(track - [3, 0, 5], axis=1)) < 1e-3


def test_append_under_way_keeps_the_pace() -> None:
    q = queue()
    q.append(0.0, [20, 0, 5])
    assert q.motion(30.0).velocity_mps[0] > 0.4
    q.append(30.0, [40, 0, 5])
    assert np.min(q.preview(30.0, np.linspace(0, 30, 400)).velocities_mps[:, 0]) > 0.8 * 0.3  # of the wanted average


def test_turning_back_strays_no_further_than_braking_takes() -> None:
    q = queue(velocity=(0.5, 0, 0))
    q.append(0.0, [-100, 0, 5])  # a spline with this start velocity alone would swing out by some 25 m
    assert np.max(q.preview(0.0, np.linspace(0, 400, 4000)).positions_m[:, 0]) < 0.5 * 2.5 * 0.5 / 0.2 + 0.05


def test_hold_keeps_waypoints_and_resume_reaches_them() -> None:
    q = queue()
    q.append(0.0, [5, 0, 5])
    q.append(0.0, [5, 5, 5])
    q.hold(8.0)
    rest = q.motion(30.0)
    assert not np.any(rest.velocity_mps) and 0 < rest.position_m[0] < 5
    assert len(q.remaining(1000.0)) == 2
    q.append(1000.0, [0, 5, 5])
    assert np.allclose(q.motion(1100.0).position_m, rest.position_m)  # still holding
    q.resume(1100.0)
    assert np.allclose(q.motion(1300.0).position_m, [0, 5, 5])


def test_clear_brakes_and_forgets() -> None:
    q = queue()
    q.append(0.0, [10, 0, 5])
    q.clear(15.0)
    assert q.remaining(15.0) == () and not np.any(q.motion(25.0).velocity_mps)
    assert q.motion(15.0).position_m[0] < q.motion(25.0).position_m[0] < 10


def test_takes_over_a_setpoint_beyond_its_limits_and_only_slows() -> None:
    q = queue(t_s=7.0, velocity=(0.9, 0, 0))
    speeds = np.linalg.norm(q.preview(7.0, np.linspace(0, 20, 300)).velocities_mps, axis=1)
    assert speeds[0] == pytest.approx(0.9) and speeds[-1] == 0
    assert np.all(np.diff(speeds) <= 1e-12)


def test_waypoint_where_it_is_already_does_no_harm() -> None:
    q = queue()
    q.append(0.0, [0, 0, 5])
    assert np.allclose(q.preview(0.0, np.linspace(0, 5, 50)).positions_m, [0, 0, 5])
    assert q.remaining(5.0) == ()


@pytest.mark.parametrize(
    ("position", "speed", "index", "expected"),
    [
        ([1, 2], None, 0, "three finite numbers"),
        ([1, 2, np.nan], None, 0, "three finite numbers"),
        ([1, 2, 3], 0.0, 0, "more than 0"),
        ([1, 2, 3], None, 2, "expected 0 to 1"),
        ([5, 0, 5], None, 1, "away from its neighbours"),
    ],
)
def test_bad_waypoints_are_refused_and_change_nothing(
    position: list[float], speed: float | None, index: int, expected: str
) -> None:
    q = queue()
    q.append(0.0, [5, 0, 5])
    with pytest.raises(ShoalError, match=expected):
        q.insert(1.0, index, position, speed)
    assert len(q.remaining(1.0)) == 1 and np.allclose(q.motion(100.0).position_m, [5, 0, 5])
