"""Verdicts against hand-made signals: known angle, known minimum, known shift, known failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.errors import ShoalError, ShoalWarning
from shoal.evaluation.metric import Bound, Metric, Value
from shoal.evaluation.metrics import METRICS, all_metrics, find_metric, summarise
from shoal.evaluation.summary import Summary
from shoal.evaluation.time_shift import lag_s, peak_lag_s
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Outcome, Recording
from synthetic_runs import OddTask, circle, heading_quaternion, make_record, with_states

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
                continue  # z repeats every 50 s: a longer lag cannot be distinguished from an early response
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

    def test_a_still_axis_is_zero_and_marked_as_unmeasured(self) -> None:
        noise = np.random.default_rng([5, 1]).normal(0.0, 0.02, len(TIMES))
        lag = lag_s(TIMES, np.full(len(TIMES), 5.0), 5.0 + noise)
        assert lag.seconds == 0.0 and not lag.measured

    def test_an_unrelated_response_has_no_lag(self) -> None:
        drift = np.cumsum(np.random.default_rng([6, 1]).normal(0.0, 0.5, len(TIMES)))
        assert lag_s(TIMES, circle(TIMES)[:, 2], drift).seconds is None

    def test_not_a_number_has_no_lag(self) -> None:
        assert lag_s(TIMES, circle(TIMES)[:, 0], np.full(len(TIMES), np.nan)).seconds is None

    @pytest.mark.parametrize("shift", [0.0, 3.99, 10.0])
    def test_peak_to_peak_as_in_fosso_2023(self, shift: float) -> None:
        for axis in range(3):
            peak = peak_lag_s(TIMES, circle(TIMES)[:, axis], circle(TIMES - shift)[:, axis])
            assert peak == pytest.approx(shift, abs=0.15)

    def test_no_peak_no_peak_lag(self) -> None:
        assert peak_lag_s(TIMES, 0.1 * TIMES, 0.1 * TIMES) is None


SHIFTS = ("time_shift_x_s", "time_shift_y_s", "time_shift_z_s")


class TestSummary:
    def test_a_perfect_run(self) -> None:
        summary = summarise(make_record())
        assert not summary.failed and summary.failure == ""
        assert summary.value("fov_max_deg") == pytest.approx(0.0, abs=1e-6)
        assert summary.value("distance_min_m") == pytest.approx(2.0)
        assert summary.value("rmse_whole_m") == pytest.approx(0.0, abs=1e-9)
        assert [summary.value(name) for name in SHIFTS] == pytest.approx([0.0, 0.0, 0.0], abs=0.005)
        assert summary.value("real_time_factor") == pytest.approx(50.0)
        assert summary.value("solve_ms_median") == summary.value("solve_ms_max") == 5.0
        assert (summary.path, summary.condition, summary.seed, summary.vehicles) == ("circle", "default", 0, 2)

    def test_shift_and_error_of_a_late_run(self) -> None:
        summary = summarise(make_record(shift_s=2.0))
        assert [summary.value(name) for name in SHIFTS] == pytest.approx([2.0, 2.0, 2.0], abs=0.01)
        error = np.linalg.norm(circle(TIMES) - circle(TIMES - 2.0), axis=1)
        assert summary.value("rmse_whole_m") == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-3)

    def test_one_instant_of_lost_sight_is_a_failure(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[777, 1, ATTITUDE] = heading_quaternion(np.array([np.pi + np.radians(60.5)]))[0]
        summary = summarise(with_states(record, states))
        assert summary.broke("fov_max_deg") and summary.failed and not summary.broke("distance_min_m")
        result = summary.metrics["fov_max_deg"]
        assert (result.value, result.at_s) == pytest.approx((60.5, 77.7))
        assert result.subject == "rov2 -> rov1" and result.bound == 60.0
        assert summary.failure == "FOV 60.5 deg > 60 deg at 77.7 s (rov2 -> rov1)"

    def test_just_inside_the_bounds_is_no_failure(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[777, 1, ATTITUDE] = heading_quaternion(np.array([np.pi + np.radians(59.9)]))[0]
        assert not summarise(with_states(record, states)).failed
        assert not summarise(make_record(separation_m=0.76)).failed

    def test_bounds_are_the_fleet_s_own(self) -> None:
        record = make_record(separation_m=1.0)
        assert not summarise(record).failed
        stricter = replace(record, limits=record.limits.model_copy(update={"distance_hard_m": 1.2}))
        assert summarise(stricter).failure.startswith("distance 1.00 m < 1.2 m at ")

    def test_one_instant_too_close_is_a_failure(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[500, 0, POSITION] = states[500, 1, POSITION] + [-0.74, 0.0, 0.0]
        result = summarise(with_states(record, states)).metrics["distance_min_m"]
        assert result.failed and (result.value, result.at_s) == pytest.approx((0.74, 50.0))
        assert result.subject == "rov1 - rov2"

    @pytest.mark.parametrize("direction", [(0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    def test_a_vehicle_that_drifts_off_after_50_s_is_a_failure(self, direction: tuple[float, float, float]) -> None:
        """Thrusters dead: it drifts, in any direction, also straight away, where neither angle nor distance breaks."""
        summary = summarise(drifting(make_record(), direction, from_s=50.0, speed_mps=0.15))
        assert summary.failed and summary.broke("path_error_max_m")
        assert "m from the setpoint > 2 m at " in summary.failure

    def test_a_vehicle_that_floats_up_loses_sight(self) -> None:
        assert summarise(drifting(make_record(), (0.0, 0.0, -1.0), from_s=50.0, speed_mps=0.15)).broke("fov_max_deg")

    def test_not_a_number_is_a_failure_of_everything(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[1500:, 0] = np.nan
        summary = summarise(with_states(record, states))
        for name in ("not_a_number_share", "fov_max_deg", "distance_min_m", "path_error_max_m"):
            assert summary.broke(name), name
        assert summary.failed and summary.failure == "a state is not a number"
        assert "NaN" not in summary.model_dump_json()
        assert Summary.model_validate_json(summary.model_dump_json()) == summary

    def test_fallbacks_are_counted(self) -> None:
        record = make_record()
        mode = record.mode.copy()
        mode[10:13, 1] = 1
        summary = summarise(replace(record, mode=mode))
        assert summary.value("fallbacks") == 3
        assert summary.value("fallback_share") == pytest.approx(3 / mode.size)

    def test_nothing_to_see_and_alone(self) -> None:
        record = make_record()
        assert "fov_max_deg" not in summarise(replace(record, must_see=())).metrics
        alone = summarise(only_first(record))
        assert not {"distance_min_m", "distance_max_m", "fov_max_deg"} & set(alone.metrics) and not alone.failed

    def test_a_still_axis_has_no_shift_and_a_lost_run_an_unknown_one(self) -> None:
        record = make_record()
        still = replace(record, reference_m=np.tile(record.reference_m[:1], (len(record.times_s), 1)))
        assert "time_shift_x_s" not in summarise(still).metrics
        wander = np.cumsum(np.random.default_rng([6, 1]).normal(0.0, 0.5, record.states.shape[:1]))
        lost = with_states(record, record.states + wander[:, None, None] * np.eye(13)[2])
        assert summarise(lost).metrics["time_shift_z_s"].value is None

    def test_a_goal_that_is_missed_is_a_failure_and_lost_sight_at_the_start_is_not(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[0, 1, ATTITUDE] = heading_quaternion(np.array([0.0]))[0]  # turned away
        back = replace(with_states(record, states), outcome=Outcome("back in sight", 3.5))
        summary = summarise(back)
        assert not summary.failed and summary.goal == "back in sight"
        assert summary.value("goal_s") == 3.5 and summary.metrics["fov_max_deg"].failed is None
        missed = summarise(replace(back, outcome=Outcome("back in sight", None)))
        assert missed.failed and missed.failure == "not reached: back in sight" and missed.broke("goal_s")
        assert "goal_s" not in summarise(record).metrics

    def test_a_wrong_shape_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="solve_ms has shape"):
            replace(make_record(), solve_ms=np.zeros((3, 2)))


class TestNewMetrics:
    """Each against a signal whose answer is known."""

    def test_own_setpoint_error_names_the_vehicle_and_waits_for_settling(self) -> None:
        record = make_record()
        states = record.states.copy()
        states[:50, 0, POSITION] += [9.0, 0.0, 0.0]  # settling
        states[:, 1, POSITION] += [0.0, 0.3, 0.0]
        states[900, 1, POSITION] += [0.0, 0.7, 0.0]
        summary = summarise(with_states(record, states))
        largest = summary.metrics["setpoint_error_max_m"]
        assert (largest.value, largest.at_s) == pytest.approx((1.0, 90.0)) and largest.subject == "rov2"
        rms = summary.metrics["setpoint_error_rms_m"]
        assert rms.value == pytest.approx(0.3, abs=0.001) and rms.subject == "rov2"
        assert summary.value("rmse_m") == pytest.approx(0.15, abs=0.001)  # the centroid hides half of it

    def test_tilt_is_of_roll_and_pitch_and_not_of_yaw(self) -> None:
        record = make_record()
        assert summarise(record).value("tilt_max_deg") == pytest.approx(0.0, abs=1e-6)
        states = record.states.copy()
        half = np.radians(20.0) / 2
        states[40, 1, ATTITUDE] = [np.cos(half), np.sin(half), 0.0, 0.0]
        result = summarise(with_states(record, states)).metrics["tilt_max_deg"]
        assert (result.value, result.at_s, result.subject) == (pytest.approx(20.0), pytest.approx(4.0), "rov2")

    def test_saturation_counts_commands_at_either_limit(self) -> None:
        record = make_record()
        assert "thrust_saturated_share" not in summarise(record).metrics  # limits unknown
        bounds = {"rov1": np.array([[-9.0] * 8, [7.0] * 8]), "rov2": np.array([[0.0] * 6, [9.0] * 6])}
        summary = summarise(replace(record, thrust_bounds_N=bounds))
        result = summary.metrics["thrust_saturated_share"]
        assert result.value == pytest.approx(1 / 6) and result.subject == "rov2"  # 0 N, and 7 N of eight

    def test_activity_is_the_rms_change_per_period(self) -> None:
        record = make_record()
        assert summarise(record).value("thrust_activity_N") == 0.0
        zigzag = {
            name: thrust + (np.arange(len(thrust)) % 2)[:, None] * 3.0 for name, thrust in record.thrust_N.items()
        }
        assert summarise(replace(record, thrust_N=zigzag)).value("thrust_activity_N") == pytest.approx(3.0)

    def test_thrust_rms_is_over_all_thrusters_of_a_mixed_fleet(self) -> None:
        """Commands 0 … 7 N of eight thrusters and 0 … 5 N of six."""
        expected = np.sqrt((np.sum(np.arange(8) ** 2) + np.sum(np.arange(6) ** 2)) / 14)
        assert summarise(make_record()).value("thrust_rms_N") == pytest.approx(expected)


DEPTH = Metric("depth_max_m", "m", lambda r: float(r.states[:, :, 2].max()), Bound(5.5), label="largest depth")
SHALLOW = Metric("depth_min_m", "m", lambda r: Value(float(r.states[:, :, 2].min()), 1.0, "someone"), worst="min")


class Deep(OddTask):
    """A task with a metric of its own."""

    metrics = ("test_metrics:DEPTH",)


class TestByName:
    def test_a_task_adds_its_own(self) -> None:
        summary = summarise(make_record(about={"task": "test_metrics:Deep, deadly=True"}))
        assert summary.value("depth_max_m") == pytest.approx(6.0) and summary.broke("depth_max_m")

    def test_a_task_that_is_not_at_hand_costs_a_warning_and_not_the_verdict(self) -> None:
        with pytest.warns(ShoalWarning, match="task = 'gone:Task'.*its own metrics are left out"):
            assert not summarise(make_record(about={"task": "gone:Task"})).failed

    def test_names_are_unique_and_say_their_unit(self) -> None:
        names = [metric.name for metric in METRICS]
        assert len(set(names)) == len(names)
        ends = {"m": "_m", "s": "_s", "°": "_deg", "N": "_N"}
        for metric in METRICS:
            assert metric.name.endswith(ends.get(metric.unit, "")), metric.name
            assert metric.description, metric.name

    def test_a_metric_of_one_s_own_is_judged_and_worded_like_ours(self) -> None:
        summary = summarise(make_record(), [DEPTH, "test_metrics:SHALLOW"])
        assert summary.failed and summary.failure == "largest depth 6 m > 5.5 m"
        assert summary.value("depth_max_m") == pytest.approx(6.0)
        assert (summary.metrics["depth_min_m"].at_s, summary.metrics["depth_min_m"].subject) == (1.0, "someone")
        assert summary.row()["depth_max_m_failed"] is True and "depth_min_m_failed" not in summary.row()

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("fov_mx", "metric = 'fov_mx': unknown; expected one of .*fov_max_deg"),
            ("test_metrics:NOTHING", "expected an importable package.module:Name"),
            ("test_metrics:drifting", "is a function; expected a shoal.Metric"),
        ],
    )
    def test_wrong_names_are_answered(self, name: str, words: str) -> None:
        with pytest.raises(ShoalError, match=words):
            find_metric(name)

    def test_two_of_one_name_are_refused(self) -> None:
        with pytest.raises(ShoalError, match="'fov_max_deg': there are two of that name"):
            all_metrics([Metric("fov_max_deg", "°", lambda r: 1.0)])


def drifting(record: Recording, direction: tuple[float, float, float], from_s: float, speed_mps: float) -> Recording:
    states = record.states.copy()
    late = record.times_s >= from_s
    hold = states[late][0, 1, POSITION]
    states[late, 1, POSITION] = hold + np.outer(record.times_s[late] - from_s, direction) * speed_mps
    return with_states(record, states)


def only_first(record: Recording) -> Recording:
    cut = {
        name: getattr(record, name)[:, :1]
        for name in ("states", "odometry", "setpoints_m", "solve_ms", "mode", "slack_max", "neighbour_age_s",
                     "current_mps", "plans_m")
    }  # fmt: skip
    first = record.names[0]
    return replace(record, names=(first,), thrust_N={first: record.thrust_N[first]}, must_see=(), **cut)
