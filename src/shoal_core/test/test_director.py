"""One owner at a time, and never a jump: whatever operators do, and whenever."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.guidance.director import Director, DirectorSettings, Mode
from shoal.guidance.sequence import State, make_trials
from shoal.guidance.splines import MotionLimits
from shoal.guidance.velocity_setpoint import TurnLimits

SETTINGS = DirectorSettings(0.3, MotionLimits(0.5, 0.1), TurnLimits(0.2, 0.1), ready_s=5.0, stick_timeout_s=0.5)
AHEAD = np.arange(0.0, 4.05, 0.1)
START = [1.0, -2.0, 6.0]
Act = Callable[[Director, float, np.random.Generator], None]


def director(t_s: float = 0.0) -> Director:
    return Director(t_s, START, SETTINGS)


def somewhere(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=3) * 6 + [0, 0, 5]


ACTS: dict[str, Act] = {
    "stick": lambda d, t, rng: d.stick(t, rng.normal(size=3) * 0.4, rng.normal() * 0.1),
    "let go": lambda d, t, rng: d.stick(t, np.zeros(3)),
    "waypoint": lambda d, t, rng: d.add_waypoint(t, somewhere(rng)),
    "waypoints": lambda d, t, rng: d.set_waypoints(t, [somewhere(rng) for _ in range(3)]),
    "clear": lambda d, t, rng: d.clear(t),
    "hold": lambda d, t, rng: d.set_mode(t, Mode.HOLD),
    "manual": lambda d, t, rng: d.set_mode(t, Mode.MANUAL),
    "follow": lambda d, t, rng: d.set_mode(t, Mode.WAYPOINTS),
    "test": lambda d, t, rng: d.start_tests(t, make_trials("line,inspection"), 2),
    "limits": lambda d, t, rng: d.apply(
        t, DirectorSettings(0.2, MotionLimits(rng.uniform(0.3, 0.6), 0.15), SETTINGS.turn, 5.0, 0.5)
    ),
}


@pytest.mark.parametrize("seed", range(12))
def test_no_act_makes_position_velocity_or_yaw_jump(seed: int) -> None:
    rng, d, t = np.random.default_rng(seed), director(), 0.0
    for act in rng.choice(list(ACTS), size=25):
        before, yaw = d.motion(t), d.yaw_rad(t)
        turning = d.preview(t, [0.0, 1e-3]).headings_rad
        with contextlib.suppress(ShoalError):  # refusals are checked elsewhere; here only that nothing moves
            ACTS[act](d, t, rng)
        after = d.motion(t)
        assert np.allclose(after.position_m, before.position_m, atol=1e-9), act
        assert np.allclose(after.velocity_mps, before.velocity_mps, atol=1e-9), act
        assert d.yaw_rad(t) == pytest.approx(yaw, abs=1e-9)
        turned = d.preview(t, [0.0, 1e-3]).headings_rad
        assert turning is not None and turned is not None
        assert np.diff(turned)[0] == pytest.approx(np.diff(turning)[0], abs=1e-6), act  # the rate has not jumped either
        for _ in range(int(rng.integers(1, 40))):
            t += 0.05
            d.advance(t, ["not ready"])


@pytest.mark.parametrize("seed", range(6))
def test_the_published_preview_is_one_smooth_motion(seed: int) -> None:
    """Position moves by velocity between ticks, and what a preview promised comes true while nobody interferes."""
    rng, d, t, previous = np.random.default_rng(100 + seed), director(), 0.0, None
    for act in rng.choice(list(ACTS), size=10):
        with contextlib.suppress(ShoalError):
            ACTS[act](d, t, rng)
        promised = d.preview(t, AHEAD) if act not in ("stick", "limits") else None
        for _ in range(20):
            t += 0.05
            d.advance(t, ["not ready"])
            now = d.preview(t, [0.0])
            if previous is not None:
                mean = (now.velocities_mps[0] + previous.velocities_mps[0]) / 2
                step = now.positions_m[0] - previous.positions_m[0]
                assert np.linalg.norm(step - mean * 0.05) < 5e-4
            previous = now
        if promised is not None and d.mode is not Mode.MANUAL:
            assert np.allclose(promised.at(np.array([t])).positions_m[0], d.motion(t).position_m, atol=2e-3), act


def test_a_leg_may_have_a_speed_of_its_own_within_the_limit() -> None:
    d = director()
    places = [[3.0, 0.0, 5.0], [6.0, 0.0, 5.0], [9.0, 0.0, 5.0]]
    d.set_waypoints(0.0, places, [None, 3.0 / 0.1, 3.0 / 50.0])
    speeds = [waypoint.speed_mps for waypoint in d.waypoints(0.0)]
    assert speeds == pytest.approx([d.settings.speed_mps, 0.1, d.settings.limits.speed_mps])


def test_hold_brakes_within_its_limits_and_stays() -> None:
    d = director()
    for k in range(60):
        d.stick(k * 0.1, [0.4, 0.0, 0.1])
    assert np.linalg.norm(d.motion(6.0).velocity_mps) > 0.3
    d.set_mode(6.0, Mode.HOLD)
    ahead = d.preview(6.0, np.linspace(0, 30, 601))
    assert np.max(np.linalg.norm(np.diff(ahead.velocities_mps, axis=0), axis=1) / 0.05) <= 0.1 * 1.001
    assert np.allclose(ahead.velocities_mps[-1], 0) and np.allclose(ahead.positions_m[-1], ahead.positions_m[-50])


def test_only_the_owner_moves_the_setpoint() -> None:
    d = director()
    d.stick(0.0, [0.1, 0, 0])
    assert d.mode is Mode.MANUAL
    with pytest.raises(ShoalError, match="belongs to mode 'manual'"):
        d.add_waypoint(0.1, [5, 5, 5])
    d.start_tests(1.0, make_trials("circle"))
    where = d.preview(1.0, AHEAD)
    for refused in (
        lambda: d.stick(1.0, [0.5, 0, 0]),
        lambda: d.add_waypoint(1.0, [9, 9, 9]),
        lambda: d.set_waypoints(1.0, [[9, 9, 9]]),
    ):
        with pytest.raises(ShoalError, match="belongs to mode 'test'"):
            refused()
    d.stick(1.0, [0.0, 0.0, 0.0])  # a stick let go of is no request
    assert d.mode is Mode.TEST and np.array_equal(d.preview(1.0, AHEAD).positions_m, where.positions_m)
    d.set_mode(2.0, Mode.WAYPOINTS)
    with pytest.raises(ShoalError, match="belongs to mode 'waypoints'"):
        d.stick(2.0, [0.1, 0, 0])
    d.set_mode(3.0, Mode.HOLD)
    d.add_waypoint(3.0, [5, 5, 5])  # in hold nobody owns it: who asks gets it
    assert d.mode is Mode.WAYPOINTS


def test_bad_requests_are_refused_and_change_nothing() -> None:
    d = director()
    for bad in (
        lambda: d.stick(0.0, [np.nan, 0, 0]),
        lambda: d.stick(0.0, [0.1, 0]),
        lambda: d.add_waypoint(0.0, [np.inf, 0, 0]),
        lambda: d.set_waypoints(0.0, [[1, 1, 1], [1, 1, 1]]),
        lambda: d.set_mode(0.0, Mode.TEST),
        lambda: d.start_tests(0.0, ()),
        lambda: Mode.named("auto"),
        lambda: make_trials("no_such_path"),
        lambda: make_trials(" , "),
        lambda: make_trials("line", -1.0),
    ):
        with pytest.raises(ShoalError):
            bad()
    assert d.mode is Mode.HOLD and np.allclose(d.motion(10.0).position_m, START)


def test_waypoints_survive_a_hand_in_between_and_clear_forgets_them() -> None:
    d = director()
    d.set_waypoints(0.0, [[4, 0, 5], [4, 4, 5], [0, 0, 5]])
    t = next(t for t in np.arange(0.0, 100.0, 0.5).tolist() if len(d.waypoints(t)) == 2)
    d.set_mode(t, Mode.MANUAL)
    assert len(d.waypoints(t + 5)) == 2
    d.set_mode(t + 5, Mode.WAYPOINTS)
    assert len(d.waypoints(t + 5)) == 2
    assert np.allclose(d.motion(t + 200).position_m, [0, 0, 5])  # and goes on to the last
    d.set_mode(t + 201, Mode.HOLD)
    d.set_waypoints(t + 201, [[1, 1, 1]])
    d.clear(t + 202)
    assert d.mode is Mode.WAYPOINTS and not d.waypoints(t + 202)
    assert np.allclose(d.motion(t + 230).velocity_mps, 0)


def test_a_silent_stick_is_let_go_of_and_the_formation_turns_with_it() -> None:
    d = director()
    for k in range(30):
        d.stick(k * 0.1, [0.2, 0.0, 0.0], 0.1)
    assert d.yaw_rad(3.0) > 0.05
    assert np.linalg.norm(d.motion(2.9).velocity_mps) == pytest.approx(0.2, abs=1e-6)
    assert np.allclose(d.motion(9.0).velocity_mps, 0)  # timed out at 3.4 s, then braked
    assert d.yaw_rad(9.0) == pytest.approx(d.yaw_rad(20.0))
    headings = d.preview(20.0, AHEAD).headings_rad
    assert headings is not None and np.allclose(headings, d.yaw_rad(9.0))


def test_tests_give_the_reference_back_when_they_are_over() -> None:
    d, t = director(), 0.0
    d.start_tests(t, make_trials("line", 8.0))
    while d.mode is Mode.TEST:
        t += 0.05
        d.advance(t, [])
        assert t < 200
    assert d.mode is Mode.HOLD and d.status(t).state is State.DONE
    assert np.allclose(d.motion(t + 10).velocity_mps, 0)
