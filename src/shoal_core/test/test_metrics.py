"""Verdicts against hand-made signals: known angle, known minimum, known shift, known failures."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from shoal.evaluation.metrics import summarise
from shoal.evaluation.time_shift import lag_s, peak_lag_s
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import RunRecord
from synthetic_runs import circle, heading_quaternion, make_record, with_states

TIMES = np.arange(0.0, 200.0, 0.1)


def two_states(second: tuple[float, float, float], quaternion: tuple[float, float, float, float]) -> np.ndarray:
    states = np.zeros((1, 2, 13))
    states[0, 0, ATTITUDE] = quaternion
    states[0, 1, POSITION] = second
    states[0, 1, 3] = 1.0
    return states


class TestGeometry:
    @pytest.mark.parametrize(
        ("second", "degrees"),
        [((2.0, 0.0, 0.0), 0.0), ((1.0, 1.0, 0.0), 45.0), ((0.0, 0.0, 3.0), 90.0), ((-1.0, 0.0, 0.0), 180.0),
         ((1.0, 0.0, np.sqrt(3.0)), 60.0), ((0.0, 0.0, 0.0), 180.0)],
    )  # fmt: skip
    def test_known_angle_from_a_level_seer(self, second: tuple[float, float, float], degrees: float) -> None:
        angles = fov_angles_deg(two_states(second, (1.0, 0.0, 0.0, 0.0)), ((0, 1),))
        assert angles[0, 0] == pytest.approx(degrees, abs=1e-9)

    def test_pitching_up_by_thirty_degrees_loses_thirty(self) -> None:
        half = np.radians(30.0) / 2
        states = two_states((5.0, 0.0, 0.0), (np.cos(half), 0.0, np.sin(half), 0.0))
        assert fov_angles_deg(states, ((0, 1),))[0, 0] == pytest.approx(30.0)

    def test_rolling_loses_nothing(self) -> None:
        half = np.radians(80.0) / 2
        states = two_states((5.0, 0.0, 0.0), (np.cos(half), np.sin(half), 0.0, 0.0))
        assert fov_angles_deg(states, ((0, 1),))[0, 0] == pytest.approx(0.0, abs=1e-9)

    def test_distances_of_three(self) -> None:
        states = np.zeros((1, 3, 13))
        states[0, 1, 0], states[0, 2, 1] = 3.0, 4.0
        np.testing.assert_allclose(distances_m(states), [[3.0, 4.0, 5.0]])


class TestTimeShift:
    @pytest.mark.parametrize("shift", [0.0, 0.033, 0.2, 1.234, 10.13, 33.81, -0.5])
    def test_known_shift_of_the_circle(self, shift: float) -> None:
        for axis in range(3):
            if axis == 2 and shift > 25:
                continue  # z repeats every 50 s: a longer lag cannot be told from an early response
            lag = lag_s(TIMES, circle(TIMES)[:, axis], circle(TIMES - shift)[:, axis])
            assert lag.measured
            assert lag.seconds == pytest.approx(shift, abs=0.005)

    def test_noise_and_offset_do_not_move_it(self) -> None:
        noise = np.random.default_rng([3, 1]).normal(0.0, 0.05, len(TIMES))
        lag = lag_s(TIMES, circle(TIMES)[:, 0], circle(TIMES - 0.7)[:, 0] + 1.0 + noise)
        assert lag.seconds == pytest.approx(0.7, abs=0.05)

    def test_a_steady_offset_is_no_lag(self) -> None:
        """The line test's x only rises: a vehicle half a metre behind for good is off, not late."""
        line = np.interp(TIMES, [0.0, 20.0, 80.0, 100.0, 200.0], [0.0, 1.0, 13.0, 15.0, 15.0])
        late = np.interp(TIMES - 0.7, [0.0, 20.0, 80.0, 100.0, 200.0], [0.0, 1.0, 13.0, 15.0, 15.0])
        assert lag_s(TIMES, line, late - 0.5).seconds == pytest.approx(0.7, abs=0.05)

    def test_a_repeating_reference_takes_the_shortest_lag(self) -> None:
        wave = np.sin(2 * np.pi * TIMES / 20)
        noise = np.random.default_rng([4, 1]).normal(0.0, 0.05, len(TIMES))
        lag = lag_s(TIMES, wave, np.sin(2 * np.pi * (TIMES - 0.4) / 20) + noise)
        assert lag.seconds == pytest.approx(0.4, abs=0.05)

    def test_a_still_axis_is_zero_and_said_to_be_unmeasured(self) -> None:
        noise = np.random.default_rng([5, 1]).normal(0.0, 0.02, len(TIMES))
        lag = lag_s(TIMES, np.full(len(TIMES), 5.0), 5.0 + noise)
        assert lag.seconds == 0.0 and not lag.measured

    def test_an_unrelated_response_has_no_lag(self) -> None:
        drift = np.cumsum(np.random.default_rng([6, 1]).normal(0.0, 0.5, len(TIMES)))
        assert lag_s(TIMES, circle(TIMES)[:, 2], drift).seconds is None

    def test_not_a_number_has_no_lag(self) -> None:
        assert lag_s(TIMES, circle(TIMES)[:, 0], np.full(len(TIMES), np.nan)).seconds is None

    @pytest.mark.parametrize("shift", [0.0, 3.99, 10.0])
    def test_peak_to_peak_as_in_the_thesis(self, shift: float) -> None:
        for axis in range(3):
            peak = peak_lag_s(TIMES, circle(TIMES)[:, axis], circle(TIMES - shift)[:, axis])
            assert peak == pytest.approx(shift, abs=0.15)

    def test_no_peak_no_peak_lag(self) -> None:
        assert peak_lag_s(TIMES, 0.1 * TIMES, 0.1 * TIMES) is None


class TestSummary:
    def test_a_perfect_run(self) -> None:
        summary = summarise(make_record())
        assert not summary.failed and summary.failure == ""
        assert summary.fov_max_deg == pytest.approx(0.0, abs=1e-6)
        assert summary.distance_min_m == pytest.approx(2.0)
        assert summary.rmse_whole_m == pytest.approx(0.0, abs=1e-9)
        assert summary.time_shift_s == pytest.approx((0.0, 0.0, 0.0), abs=0.005)
        assert summary.real_time_factor == pytest.approx(50.0)
        assert summary.solve_ms.median == summary.solve_ms.max == 5.0
        assert (summary.path, summary.condition, summary.seed, summary.vehicles) == ("circle", "default", 0, 2)

    def test_shift_and_error_of_a_late_run(self) -> None:
        summary = summarise(make_record(shift_s=2.0))
        assert summary.time_shift_s == pytest.approx((2.0, 2.0, 2.0), abs=0.01)
        error = np.linalg.norm(circle(TIMES) - circle(TIMES - 2.0), axis=1)
        assert summary.rmse_whole_m == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-3)

    def test_one_instant_of_lost_sight_is_a_failure(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[777, 1, ATTITUDE] = heading_quaternion(np.array([np.pi + np.radians(60.5)]))[0]
        summary = summarise(with_states(record, states))
        assert summary.fov_failed and summary.failed and not summary.distance_failed
        assert summary.fov_max_deg == pytest.approx(60.5)
        assert summary.fov_max_at_s == pytest.approx(77.7)
        assert summary.fov_max_pair == "bluerov3 -> bluerov2"
        assert "60.5" in summary.failure and "77.7" in summary.failure

    def test_just_inside_the_bounds_is_no_failure(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[777, 1, ATTITUDE] = heading_quaternion(np.array([np.pi + np.radians(59.9)]))[0]
        assert not summarise(with_states(record, states)).failed
        assert not summarise(make_record(separation_m=0.76)).failed

    def test_one_instant_too_close_is_a_failure(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[500, 0, POSITION] = states[500, 1, POSITION] + [-0.74, 0.0, 0.0]
        summary = summarise(with_states(record, states))
        assert summary.distance_failed and summary.distance_min_m == pytest.approx(0.74)
        assert summary.distance_min_at_s == pytest.approx(50.0) and summary.distance_min_pair == "bluerov2 - bluerov3"

    @pytest.mark.parametrize("direction", [(0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    def test_a_vehicle_that_drifts_off_after_50_s_is_a_failure(self, direction: tuple[float, float, float]) -> None:
        """Thrusters dead: it drifts, in any direction, also straight away, where neither angle nor distance breaks."""
        summary = summarise(drifting(make_record(), direction, from_s=50.0, speed_mps=0.15))
        assert summary.failed and summary.path_failed

    def test_a_vehicle_that_floats_up_loses_sight(self) -> None:
        assert summarise(drifting(make_record(), (0.0, 0.0, -1.0), from_s=50.0, speed_mps=0.15)).fov_failed

    def test_not_a_number_is_a_failure_of_everything(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[1500:, 0] = np.nan
        summary = summarise(with_states(record, states))
        assert summary.failed and summary.broken and summary.fov_failed and summary.distance_failed
        assert "not a number" in summary.failure
        json.loads(summary.model_dump_json())  # and it still is JSON
        assert "NaN" not in summary.model_dump_json()

    def test_fallbacks_are_counted(self) -> None:
        record = make_record()
        mode = record.mode.copy()
        mode[10:13, 1] = 1
        summary = summarise(replace(record, mode=mode))
        assert summary.fallbacks == 3
        assert summary.fallback_share == pytest.approx(3 / mode.size)

    def test_nothing_to_see_and_alone(self) -> None:
        record = make_record()
        assert summarise(replace(record, must_see=())).fov_max_deg is None
        alone = summarise(only_first(record))
        assert alone.distance_min_m is None and not alone.distance_failed and not alone.fov_failed

    def test_a_wrong_shape_is_told(self) -> None:
        with pytest.raises(ValueError, match="solve_ms has shape"):
            replace(make_record(), solve_ms=np.zeros((3, 2)))


def drifting(record: RunRecord, direction: tuple[float, float, float], from_s: float, speed_mps: float) -> RunRecord:
    states = record.states.copy()
    late = record.times_s >= from_s
    hold = states[late][0, 1, 0:3]
    states[late, 1, POSITION] = hold + np.outer(record.times_s[late] - from_s, direction) * speed_mps
    return with_states(record, states)


def only_first(record: RunRecord) -> RunRecord:
    cut = {
        name: getattr(record, name)[:, :1]
        for name in ("states", "odometry", "thrust_N", "slots_m", "solve_ms", "mode", "slack_max", "neighbour_age_s",
                     "current_mps", "plans_m")
    }  # fmt: skip
    return replace(record, names=record.names[:1], must_see=(), **cut)
