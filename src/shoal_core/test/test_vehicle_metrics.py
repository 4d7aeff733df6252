"""What one vehicle does counts, whatever the others do: own errors, tilt, effort."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.campaigns.job import Job, check_inputs
from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.conditions import Condition
from shoal.tasks.follow_path import FollowPath
from shoal.tasks.recover import Recover
from shoal.tasks.run import RunSpec, simulate
from synthetic_runs import make_record, with_states
from test_metrics import only_first


def rolled(record: Recording, degrees: np.ndarray) -> Recording:
    """The second vehicle turns about its bow, (T,) degrees: sight, distance and place stay as they are."""
    half = np.radians(degrees) / 2
    states = record.states.copy()
    # bow to the south (yaw 180°), then the roll about it: q = (0, 0, 0, 1) ⊗ (cos, sin, 0, 0)
    states[:, 1, ATTITUDE] = np.stack([0 * half, 0 * half, np.sin(half), np.cos(half)], axis=1)
    return with_states(record, states)


class TestEveryVehicleCounts:
    """Systems that sleep, tumble or deceive the centroid must fail, and for that reason."""

    def test_a_good_run_passes(self) -> None:
        assert summarise(make_record(noise_m=0.01)).failure == ""

    def test_a_fleet_that_stands_still_fails(self) -> None:
        record = make_record(duration_s=30.0)
        states = np.repeat(record.states[:1], len(record.times_s), axis=0)
        summary = summarise(with_states(record, states))
        assert summary.broke("setpoint_error_max_m") and not summary.broke("formation_error_max_m")
        assert summary.metrics["setpoint_error_max_m"].at_s == pytest.approx(30.0)

    def test_vehicles_that_swap_places_fail_though_the_centroid_is_right(self) -> None:
        record = make_record()
        summary = summarise(with_states(record, record.states[:, ::-1].copy()))
        assert summary.value("rmse_m") == pytest.approx(0.0) and not summary.broke("path_error_max_m")
        assert " 2.00 m from its place > 1 m at " in summary.failure and ";" not in summary.failure
        assert summary.value("formation_error_rms_m") == pytest.approx(2.0)

    def test_a_formation_that_is_off_as_a_whole_is_in_formation(self) -> None:
        record = make_record()
        moved = record.states.copy()
        moved[:, :, POSITION] += [0.3, 0.4, 0.0]
        summary = summarise(with_states(record, moved))
        assert summary.value("setpoint_error_max_m") == pytest.approx(0.5)
        assert summary.value("formation_error_max_m") == pytest.approx(0.0, abs=1e-12)
        assert "formation_error_max_m" not in summarise(only_first(record)).metrics

    def test_each_vehicle_off_by_opposite_amounts_is_seen(self) -> None:
        """0.007 m of the centroid while each vehicle was 0.60 m off: the case that was once judged as good."""
        record = make_record()
        spread = record.states.copy()
        spread[:, :, POSITION] += np.array([[0.0, 1.2, 0.0], [0.0, -1.2, 0.0]])
        summary = summarise(with_states(record, spread))
        assert summary.value("rmse_m") == pytest.approx(0.0) and summary.broke("setpoint_error_max_m")
        assert summary.value("formation_error_rms_m") == pytest.approx(1.2)

    def test_a_vehicle_that_spins_fails_though_place_and_sight_are_right(self) -> None:
        record = make_record()
        summary = summarise(rolled(record, 90.0 * record.times_s))
        assert summary.broke("tilt_max_deg") and summary.broke("tilt_settled_max_deg")
        assert not summary.broke("fov_max_deg") and not summary.broke("setpoint_error_max_m")
        assert summary.failure.startswith("largest tilt 180.0° > 60° at 2.0 s (rov2); largest tilt, settled ")

    @pytest.mark.parametrize(("degrees", "fails"), [(59.0, False), (61.0, True)])
    def test_tilt_at_the_start_is_judged_by_the_wider_bound(self, degrees: float, fails: bool) -> None:
        record = make_record()
        summary = summarise(rolled(record, np.where(record.times_s < 4.0, degrees, 0.0)))
        assert summary.failed is fails and not summary.broke("tilt_settled_max_deg")

    def test_a_vehicle_thrown_in_upside_down_must_be_level_once_the_goal_is_reached(self) -> None:
        record = make_record()
        thrown = replace(
            rolled(record, np.where(record.times_s < 8.0, 170.0, 0.0)),
            outcome=Outcome("back", 9.0),
            bounds={"tilt_max_deg": 180.0},
        )
        assert not summarise(thrown).failed
        assert summarise(replace(thrown, outcome=Outcome("back", 7.0))).broke("tilt_settled_max_deg")
        assert summarise(replace(thrown, bounds={})).broke("tilt_max_deg")

    def test_thrusters_that_flip_between_their_limits_fail(self) -> None:
        record = make_record()
        bounds = {name: np.array([[-9.0], [9.0]]).repeat(t.shape[1], 1) for name, t in record.thrust_N.items()}
        assert not summarise(replace(record, thrust_bounds_N=bounds)).failed
        flip = np.where(np.arange(len(record.times_s)) // 5 % 2, 9.0, -9.0)[:, None]
        one_rattles = {**record.thrust_N, "rov2": np.repeat(flip, 6, axis=1)}
        summary = summarise(replace(record, thrust_bounds_N=bounds, thrust_N=one_rattles))
        assert summary.failure == (
            "thrust at its limit 100.00% > 20% (rov2); thrust change per period 8.050 N > 5.4 N (rov2)"
        )

    def test_places_that_nobody_recorded_are_not_judged(self) -> None:
        record = make_record()
        summary = summarise(replace(record, setpoints_m=np.full_like(record.setpoints_m, np.nan)))
        assert not summary.failed and "setpoint_error_max_m" not in summary.metrics

    def test_a_condition_widens_a_bound_by_name_and_a_wrong_name_is_refused(self) -> None:
        wider = Condition(name="wide", bounds={"setpoint_error_max_m": 3.0})
        recording = simulate(RunSpec("line", condition=wider, controller="pid", duration_s=1.0))
        assert summarise(recording).metrics["setpoint_error_max_m"].bound == 3.0
        wrong = RunSpec("line", condition=Condition(name="wide", bounds={"rmse_m": 3.0}))
        with pytest.raises(
            ShoalError, match=r"condition wide: bounds\.rmse_m is no metric with a bound; expected one of"
        ):
            check_inputs([Job(wrong)])

    def test_recovery_may_start_upside_down_and_only_recovery(self) -> None:
        assert Recover.bounds == {"tilt_max_deg": 180.0} and not FollowPath.bounds
