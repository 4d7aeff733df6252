"""The fleet in closed loop, judged on the plant's truth: paths, offsets, recovery, give-way."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.campaigns.job import Job
from shoal.evaluation.metrics import summarise
from shoal.messages.geometry import distances_m, fov_angles_deg
from shoal.simulation.conditions import Condition, load_condition
from shoal.simulation.simulator import RunSpec, simulate
from shoal.tasks.exchange import simulate_exchange
from shoal.tasks.recover import simulate_recovery

PATHS = ("line", "circle", "spiral", "torus")


@pytest.mark.parametrize("path", PATHS)
def test_ideal_plant(path: str) -> None:
    summary = summarise(simulate(RunSpec(path, "2", "ideal", duration_s=30.0)))
    assert summary.rmse_whole_m < 0.03
    assert summary.rmse_m < 0.03
    assert summary.distance_min_m > 1.95
    assert summary.fov_max_deg < 30
    assert all(abs(shift or 0.0) <= 0.1 for shift in summary.time_shift_s)
    assert summary.fallbacks == 0


def test_sea_trial_plant() -> None:
    summary = summarise(simulate(RunSpec("circle", "2", "default", seed=3, duration_s=25.0)))
    assert not summary.failed
    assert summary.rmse_m < 0.05


def test_same_seed_same_run_bit_for_bit() -> None:
    first, second, other = (simulate(RunSpec("circle", "2", "default", seed=s, duration_s=3.0)) for s in (4, 4, 5))
    np.testing.assert_array_equal(first.states, second.states)
    np.testing.assert_array_equal(first.thrust_N, second.thrust_N)
    assert not np.array_equal(first.states, other.states)


@pytest.mark.parametrize("condition", ["mass_x2", "damping_half", "damping_x2", "added_mass_half", "added_mass_x2"])
def test_wrong_model_leaves_no_offset(condition: str) -> None:
    """Steady error ≤ 2 cm with a wrong controller model and 0.5 m/s of current (line path: at rest at first)."""
    wrong = load_condition("ideal").model_copy(update={"controller_model": load_condition(condition).controller_model})
    water = {"currents": [{"kind": "constant", "velocity_mps": [0.3, -0.4, 0.0]}]}
    checked = Condition.model_validate(wrong.model_dump(mode="json") | {"environment": water, "name": "offset"})
    record = simulate(RunSpec("line", "2", checked, duration_s=16.0))
    late = record.times_s > 12.0
    offset = (record.centroid_m - record.reference_m)[late].mean(axis=0)
    assert np.linalg.norm(offset) < 0.02


def recover(seed: int) -> None:
    job = Job("circle", "2", Condition(name="r", start={"radius_m": 0}), seed, duration_s=12.0,
              control_period_s=0.05)  # fmt: skip
    record = simulate_recovery(job)
    assert record.meta["goal_s"] is not None, seed
    assert not summarise(record).failed
    assert distances_m(record.states).min() > 0.75


@pytest.mark.parametrize("seed", range(6))
def test_recovery_from_anyhow(seed: int) -> None:
    recover(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 16))
def test_recovery_from_anyhow_more(seed: int) -> None:
    recover(seed)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_head_on_exchange_has_no_standoff(seed: int) -> None:
    """Seed 0 is exactly symmetric."""
    record = simulate_exchange(Job("circle", "2", load_condition("ideal"), seed, duration_s=25.0))
    assert record.meta["goal_s"] is not None
    assert distances_m(record.states).min() > 0.75
    assert record.duration_s == pytest.approx(record.meta["goal_s"] + 2.0, abs=0.1)  # then there is no more to see
    assert len(record.plans_m) == len(record.plan_times_s) and record.plan_times_s[-1] <= record.duration_s


@pytest.mark.slow
def test_head_on_exchange_more() -> None:
    for seed in range(3, 21):
        record = simulate_exchange(Job("circle", "2", load_condition("ideal"), seed, duration_s=25.0))
        assert record.meta["goal_s"] is not None, seed
        assert distances_m(record.states).min() > 0.75, seed


def test_eight_exchange_with_late_and_lost_plans() -> None:
    condition = Condition(name="e", start={"radius_m": 0}, link={"delay_s": 0.3, "loss": 0.6})
    record = simulate_exchange(Job("circle", "8", condition, 1, duration_s=30.0))
    assert record.meta["goal_s"] is not None
    assert distances_m(record.states).min() > 0.75


def test_three_vehicles_see_each_other() -> None:
    record = simulate(RunSpec("circle", "3", "default", seed=1, duration_s=15.0))
    assert fov_angles_deg(record.states, record.must_see).max() < 60
    assert distances_m(record.states).min() > 0.75


def test_dead_thrusters_are_judged_a_failure() -> None:
    broken = Condition(name="dead", stopped=[{"vehicle": 0, "from_s": 5.0}, {"vehicle": 1, "from_s": 5.0}])
    assert summarise(simulate(RunSpec("circle", "2", broken, duration_s=60.0))).failed


def test_stopped_neighbour_is_not_run_over() -> None:
    record = simulate(RunSpec("circle", "2", "one_vehicle_stopped", seed=2, duration_s=40.0))
    assert distances_m(record.states).min() > 0.75
