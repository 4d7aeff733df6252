"""The fleet in closed loop, judged on the plant's truth: paths, offsets, recovery, give-way."""

from __future__ import annotations

import numpy as np
import pytest

from closed_loop import changed, figures, simulated
from shoal.evaluation.time_shift import lag_s
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import load_condition

PATHS = ("line", "circle", "spiral", "torus")


@pytest.mark.parametrize("path", PATHS)
def test_ideal_plant(path: str) -> None:
    recording = simulated(path, condition="ideal", duration_s=30.0)
    found = figures(recording)
    assert found.rmse_whole_m < 0.03
    assert found.rmse_m < 0.03
    assert found.distance_min_m > 1.95
    assert found.fov_max_deg < 30
    assert found.fallbacks == 0
    settled = recording.times_s >= 10.0
    for axis in range(3):
        shift = lag_s(
            recording.times_s[settled], recording.reference_m[settled, axis], recording.centroid_m[settled, axis]
        )
        assert abs(shift.seconds or 0.0) <= 0.1


def test_sea_trial_plant() -> None:
    found = figures(simulated(seed=3, duration_s=25.0))
    assert not found.failed
    assert found.rmse_m < 0.05


def test_same_seed_same_run_bit_for_bit() -> None:
    first, second, other = (simulated(seed=s, duration_s=3.0) for s in (4, 4, 5))
    np.testing.assert_array_equal(first.states, second.states)
    for name in first.names:
        np.testing.assert_array_equal(first.thrust_N[name], second.thrust_N[name])
    assert not np.array_equal(first.states, other.states)


@pytest.mark.parametrize("condition", ["mass_x2", "damping_half", "damping_x2", "added_mass_half", "added_mass_x2"])
def test_wrong_model_leaves_no_offset(condition: str) -> None:
    """Steady error ≤ 2 cm with a wrong controller model and 0.5 m/s of current (line path: at rest at first)."""
    lag = load_condition("ideal").controller_model.thruster_lag
    wrong = load_condition(condition).controller_model.model_copy(update={"thruster_lag": lag})
    water = {"currents": [{"kind": "constant", "velocity_mps": [0.3, -0.4, 0.0]}]}
    checked = changed("ideal", controller_model=wrong.model_dump(exclude_none=True), environment=water)
    recording = simulated("line", condition=checked, duration_s=16.0)
    late = recording.times_s > 12.0
    offset = (recording.centroid_m - recording.reference_m)[late].mean(axis=0)
    assert np.linalg.norm(offset) < 0.02


def reached_s(recording: Recording) -> float:
    assert recording.outcome is not None and recording.outcome.reached_s is not None, recording.about
    return recording.outcome.reached_s


def recover(seed: int) -> None:
    recording = simulated(task="recover", seed=seed, duration_s=12.0)
    reached_s(recording)
    assert figures(recording).worst_error_m < 2.0
    assert distances_m(recording.states).min() > 0.75


@pytest.mark.parametrize("seed", range(6))
def test_recovery_from_any_attitude(seed: int) -> None:
    recover(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 16))
def test_recovery_from_any_attitude_more(seed: int) -> None:
    recover(seed)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_head_on_exchange_has_no_standoff(seed: int) -> None:
    """Seed 0 is exactly symmetric."""
    recording = simulated(task="exchange", condition="ideal", seed=seed, duration_s=25.0)
    arrived_s = reached_s(recording)
    assert distances_m(recording.states).min() > 0.75
    assert recording.duration_s == pytest.approx(arrived_s + 2.0, abs=0.11)  # then there is no more to see
    assert len(recording.plans_m) == len(recording.plan_times_s)
    assert recording.plan_times_s[-1] <= recording.duration_s


@pytest.mark.slow
def test_head_on_exchange_more() -> None:
    for seed in range(3, 21):
        recording = simulated(task="exchange", condition="ideal", seed=seed, duration_s=25.0)
        reached_s(recording)
        assert distances_m(recording.states).min() > 0.75, seed


def test_eight_exchange_with_late_and_lost_plans() -> None:
    condition = changed(link={"delay_s": 0.3, "loss": 0.6})
    recording = simulated(task="exchange", fleet="8", condition=condition, seed=1, duration_s=30.0)
    reached_s(recording)
    assert distances_m(recording.states).min() > 0.75


def test_three_vehicles_see_each_other() -> None:
    recording = simulated(fleet="3", seed=1, duration_s=15.0)
    assert fov_angles_deg(recording.states, recording.must_see).max() < 60
    assert distances_m(recording.states).min() > 0.75


def test_dead_thrusters_are_judged_a_failure() -> None:
    broken = changed(faults=[{"vehicle": i, "kind": "thrusters_dead", "from_s": 5.0} for i in (0, 1)])
    assert figures(simulated(condition=broken, duration_s=60.0)).failed


def test_stopped_neighbour_is_not_run_over() -> None:
    """Its thrusters die on the circle and it falls silent; the other goes on."""
    dead = [{"vehicle": 1, "kind": kind, "from_s": 10.0} for kind in ("thrusters_dead", "radio_silent")]
    recording = simulated(condition=changed(faults=dead), seed=2, duration_s=40.0)
    assert distances_m(recording.states).min() > 0.75
