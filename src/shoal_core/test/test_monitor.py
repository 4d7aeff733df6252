"""What a controller that still steers warns of: by hand, and in whole runs of conditions that ask too much."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from shoal.estimation.mass_adaptation import MassAdaptation
from shoal.evaluation.metrics import summarise
from shoal.evaluation.summary import Summary
from shoal.fleet.monitor import LIMIT, MODEL, UNSURE, WEIGHED, HealthMonitor, MonitorSettings, late
from shoal.simulation.scenario import RunSpec
from shoal.simulation.simulator import simulate

CALM = np.zeros(6)


def test_each_reason_has_its_sentence() -> None:
    def said(wrench: np.ndarray = CALM, ages_s: dict[str, float] | None = None, slack: float = 0.0) -> tuple[str, ...]:
        return HealthMonitor(MonitorSettings()).check(0.0, wrench, ages_s or {}, slack)

    assert said() == ()
    assert said(np.array([40.0, 0, 40.0, 14.0, 0, 0])) == ()
    assert said(np.array([50.0, 0, 40.0, 0, 0, 0])) == (MODEL,)  # 64 N
    assert said(np.array([0, 0, 0, 0, 16.0, 0])) == (MODEL,)
    assert said(ages_s={"a": 1.9, "b": 2.1}) == (late("b"),)
    assert said(slack=0.05) == (LIMIT,)


def test_what_comes_and_goes_is_one_piece_of_news() -> None:
    watch = HealthMonitor(MonitorSettings(linger_s=1.0))
    heard = [watch.check(t / 10, CALM, {}, 0.1 * (t in (10, 15))) for t in range(40)]
    assert heard == [()] * 10 + [(LIMIT,)] * 16 + [()] * 14
    watch.check(100.0, CALM, {}, 0.1)
    assert watch.check(5.0, CALM, {}, 0.0) == ()  # the clock went back: nothing of what was said is known to hold


def told(condition: str, duration_s: float = 8.0, seed: int = 0) -> Summary:
    return summarise(simulate(RunSpec("circle", "2", condition, seed, duration_s=duration_s)))


def test_runs_that_ask_too_much_say_so() -> None:
    assert told("default").warnings == {}
    assert told("mass_x2").warnings[MODEL] > 0.9
    # Plans of 10 s ago: nobody has one within 8 s, and the news from before the start is old after two.
    assert set(told("delay_10").warnings) == {late("bluerov2"), late("bluerov3")}


def test_a_mass_that_is_far_off_is_found_by_weighing() -> None:
    """100 kg instead of 11.5: 870 N too heavy, more than ten times what the thrusters lift."""
    summary = told("mass_100kg", 25.0)
    assert not summary.failed and summary.fallbacks == 0
    assert summary.rmse_m is not None and summary.rmse_m < 0.05
    assert summary.warnings[WEIGHED] > 0.9 > 0.2 > summary.warnings[MODEL]  # then the new one fits


@pytest.mark.parametrize("seed", [1, 4])
def test_nobody_turns_away_by_a_position_that_scatters(seed: int) -> None:
    """±3 m, two metres apart: by the first measurements the other may be anywhere. Seed 4 once lost sight in 0.8 s."""
    summary = told("noise_uniform_3", seed=seed)
    assert not summary.failed and summary.fallbacks == 0
    assert summary.fov_max_deg is not None and summary.fov_max_deg < 45.0
    assert 0.05 < summary.warnings[UNSURE] < 0.7  # 8 s of run: it waits, but not for ever


def test_weighing_goes_on_until_little_is_left() -> None:
    weighing, weight_N, changes = MassAdaptation(260.0), 981.0, []
    felt_N = 0.0  # the estimate, which takes half of what it misses in each tenth of a second
    for k in range(40):
        felt_N += 0.5 * (113.0 - weight_N - felt_N)
        better = weighing.weight_N(k / 10, weight_N, felt_N)
        if better is not None:
            felt_N -= better - weight_N
            weight_N = better
            changes.append(k / 10)
    assert weighing.done and abs(weight_N - 113.0) < 5.0
    assert changes[0] >= 0.5 and all(b - a >= 0.5 - 1e-9 for a, b in pairwise(changes)) and changes[-1] < 3.0
    assert weighing.weight_N(10.0, weight_N, 200.0) is None  # what remains is not weight
    brief = MassAdaptation(260.0)
    assert [brief.weight_N(k / 10, 113.0, 900.0 if k % 5 else 0.0) for k in range(40)] == [None] * 40 and not brief.done
    light = MassAdaptation(260.0)
    assert [light.weight_N(t, 200.0, -300.0) for t in (0.0, 0.6)] == [None, None] and not light.done
