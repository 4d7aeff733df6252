"""Paths that are too fast are slowed in time, and the reference waits for those who fall behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.fleet.generate import resolve_fleet
from shoal.fleet.placement import assign, swimmers
from shoal.guidance.pace import USABLE, Lag, SlowedPath, TimeBase, furthest_behind, slowed
from shoal.guidance.path_file import load_path
from shoal.guidance.paths import STANDARD_PATHS, CurvePath, Triple
from shoal.guidance.replan import Motion
from shoal.guidance.sequence import TestSequence, Trial, slowed_trial
from shoal.guidance.splines import MotionLimits
from shoal.messages.health import Code
from shoal.messages.state import POSITION
from shoal.simulation.conditions import Condition
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.effort import MotionEffort
from test_fast_paths import ABREAST_DEG, off_m, path_file, straight, swim

Array = NDArray[np.float64]
EFFORT = MotionEffort(load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6))


def winding(t: Array) -> Triple:
    """Up to 3 m/s, turning."""
    zero = 0 * t
    position = np.stack([3 * t, 2 * np.sin(t), zero + 5], axis=1)
    velocity = np.stack([3 + zero, 2 * np.cos(t), zero], axis=1)
    return position, velocity, np.stack([zero, -2 * np.sin(t), zero], axis=1)


def test_top_speeds_need_all_of_the_thrust() -> None:
    """1.50 m/s ahead and 1.34 m/s sideways with 16.6 N, as `shoal vehicle` has them."""
    for velocity, yaw in (((1.5, 0, 0), 0.0), ((0, -1.5, 0), np.pi / 2), ((1.336, 0, 0), np.pi / 2)):
        assert EFFORT.share(np.array([velocity]), np.zeros((1, 3)), yaw)[0] == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10])
def test_the_standard_paths_are_left_as_they_are(count: int) -> None:
    fleet = resolve_fleet(str(count))
    starts = {m.name: np.array(m.start_m) for m in fleet.vehicles}
    placement = assign(fleet, fleet.formation, starts, np.mean(list(starts.values()), axis=0))
    for path in STANDARD_PATHS.values():
        assert slowed(path, swimmers(fleet, placement, {})) is path


def test_a_slowed_path_is_the_same_place_for_place_and_within_the_thrust() -> None:
    path = CurvePath(winding, 20.0)
    slow = slowed(path, [(EFFORT, 0.3)])
    assert isinstance(slow, SlowedPath) and slow.duration_s > 1.8 * path.duration_s and 0.3 < slow.share < 0.6
    t = np.linspace(0.05, slow.duration_s - 0.05, 997)
    own_s = slow.position(t)[:, 0] / 3
    np.testing.assert_allclose(slow.position(t), path.position(own_s), atol=1e-9)
    assert (np.diff(own_s) > 0).all()
    step = 1e-4
    between = (slow.position(t + step) - slow.position(t - step)) / (2 * step)
    np.testing.assert_allclose(slow.velocity(t), between, atol=1e-3)
    assert EFFORT.share(slow.velocity(t), slow.acceleration(t), 0.3).max() < USABLE + 0.15  # what it takes to get there
    assert np.linalg.norm(slow.velocity(0.0)) == pytest.approx(0.3)
    assert slow.time_of(path.duration_s) == pytest.approx(slow.duration_s)
    assert slow.position(slow.time_of(7.3))[0] == pytest.approx(3 * 7.3)
    np.testing.assert_array_equal(slow.velocity(slow.duration_s + 1.0), np.zeros(3))


def test_the_slowest_vehicle_decides() -> None:
    weak = MotionEffort(load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(6.2))
    trial = Trial("winding", CurvePath(winding, 20.0), 20.0)
    alone, both = slowed_trial(trial, [(EFFORT, 0.0)]), slowed_trial(trial, [(EFFORT, 0.0), (weak, 0.0)])
    assert 20.0 < alone.duration_s < both.duration_s == slowed_trial(trial, [(weak, 0.0)]).duration_s


def test_a_path_at_three_metres_a_second_is_slowed_and_followed(tmp_path: Path) -> None:
    recording = swim(path_file(tmp_path, straight(300.0), 3.0), ABREAST_DEG, 16.0)
    assert 1.2 < np.linalg.norm(recording.reference_velocity_mps, axis=1).max() < 1.4
    assert off_m(recording)[recording.times_s > 12.0].max() < 0.05
    said = [issue for event in recording.events if event.vehicle == "guidance" for issue in event.issues]
    assert [issue.code for issue in said] == [Code.PATH_SLOWED]
    assert said[0].value == pytest.approx(100 * 1.285 / 3, abs=2)


# -- waiting ------------------------------------------------------------------------------------------------------


def run_base(lags_m: Array, step_s: float = 0.1) -> tuple[TimeBase, Array]:
    """Fed with those lags, one each tick; and the reference's own times."""
    base, own = TimeBase(0.0), []
    for k, behind_m in enumerate(lags_m):
        base.advance(k * step_s, Lag("a", float(behind_m)))
        own.append(base.own_s(k * step_s))
    return base, np.array(own)


def test_time_runs_as_the_clock_while_nobody_falls_behind() -> None:
    for lags in (np.full(100, 0.4), np.maximum(3.0 - 0.04 * np.arange(100), 0.1)):  # near; or far and gaining
        base, own = run_base(lags)
        np.testing.assert_array_equal(own, 0.1 * np.arange(100))
        assert base.waiting_for is None


def test_the_reference_waits_for_who_falls_behind_and_goes_on() -> None:
    behind = np.concatenate([np.linspace(0, 3.5, 100), np.full(50, 3.5), np.linspace(3.5, 0.2, 60), np.full(100, 0.2)])
    base, own = run_base(behind)
    rate = np.diff(own) / 0.1
    assert rate[:25] == pytest.approx(1.0) and rate[140:150] == pytest.approx(0.0, abs=1e-9)
    assert rate[-20:] == pytest.approx(1.0) and base.waiting_for is None
    assert (rate > -1e-9).all() and np.abs(np.diff(rate)).max() < 0.03  # no jerk


def test_outliers_are_not_waited_for() -> None:
    lags = np.full(200, 0.2)
    lags[::19] = 50.0
    assert run_base(lags)[1][-1] == pytest.approx(19.9)


def test_preview_and_motion_stay_together_while_it_waits() -> None:
    """What was announced a moment ago is where it is, but for what the vehicles did since."""
    path = CurvePath(winding, 60.0)
    rest = Motion(path.position(0.0), np.zeros(3), np.zeros(3))
    tests = TestSequence(0.0, rest, [Trial("winding", path, 60.0)], 1, 0.0, 0.3, MotionLimits())
    last = None
    for k in range(200):
        t_s = 0.05 * k
        tests.advance(t_s, (), Lag("a", 0.02 * k))
        preview, motion = tests.preview(t_s, [0.0, 0.05, 1.0]), tests.motion(t_s)
        np.testing.assert_allclose(preview.positions_m[0], motion.position_m, atol=1e-9)
        np.testing.assert_allclose(preview.velocities_mps[0], motion.velocity_mps, atol=1e-9)
        if last is not None and k > 3:
            np.testing.assert_allclose(last, motion.position_m, atol=1e-9)
        last = preview.positions_m[1]
    assert tests.waiting_for is not None and np.linalg.norm(tests.motion(10.0).velocity_mps) < 0.01
    assert np.linalg.norm(tests.course_mps(10.0)) > 1.0


def test_who_is_behind_is_measured_along_the_way() -> None:
    places = {"a": np.zeros(3), "b": np.array([0.0, 2.0, 0.0])}
    where = {"a": np.array([-0.5, 9.0, 0.0]), "b": np.array([-1.5, 2.0, 0.0])}
    assert furthest_behind(where, places, np.array([0.2, 0.0, 0.0])) == Lag("b", 1.5)
    assert furthest_behind(where, places, np.array([-0.2, 0.0, 0.0])) is None
    assert furthest_behind(where, places, np.zeros(3)) is None


def test_the_reference_waits_in_a_current_too_strong_for_it(tmp_path: Path) -> None:
    """0.88 m/s with 6.2 N, 0.6 m/s of current, a path at 0.5 m/s: 5.9 m behind after 30 s, if it did not wait."""
    current = {"environment": {"currents": [{"kind": "constant", "velocity_mps": [-0.6, 0.0, 0.0]}]}}
    condition = Condition.model_validate({"name": "against", "start": {"radius_m": 0.0}, **current})
    path = path_file(tmp_path, straight(60.0), 0.5)
    recording = simulate(RunSpec(path=path, fleet="two_fosso2023", condition=condition, duration_s=25.0))
    assert off_m(recording)[-1].max() < 3.3
    codes = {i.code for event in recording.events if event.vehicle == "guidance" for i in event.issues}
    assert codes == {Code.REFERENCE_WAITS}
    apart = np.linalg.norm(recording.states[:, 0, POSITION] - recording.states[:, 1, POSITION], axis=1)
    assert apart.max() < 3.5  # and the formation stays together


def test_a_file_whose_speed_its_own_limits_forbid_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fast.yaml"
    for text, key in (("speed_mps: 25\n", "speed_mps is 25"), ("speed_mps: 0.2\n", "waypoints.1.speed_mps is 0.9")):
        last = "{position_m: [9, 0, 5], speed_mps: 0.9}" if "0.2" in text else "[9, 0, 5]"
        file.write_text(f"version: 1\n{text}waypoints: [[0, 0, 5], {last}]\n")
        with pytest.raises(ShoalError, match=f"{key}.*expected at most limits.speed_mps = 0.5"):
            load_path(file)
