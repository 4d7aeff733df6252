"""What a controller that still steers warns of: by hand, and in whole runs of conditions that ask too much."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest

from closed_loop import Figures, figures, simulated
from shoal.estimation.mass_adaptation import MassAdaptation
from shoal.fleet.monitor import HealthMonitor, MonitorSettings
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.wording import sentence
from shoal.recordings.recording import Recording

CALM = np.zeros(6)


def codes(issues: Iterable[Issue]) -> list[tuple[Code, str]]:
    return [issue.key for issue in issues]


def test_each_reason_has_its_code() -> None:
    def found(wrench: np.ndarray = CALM, ages_s: dict[str, float] | None = None, slack: float = 0.0) -> list[object]:
        return [*codes(HealthMonitor(MonitorSettings()).check(0.0, wrench, ages_s or {}, slack))]

    assert found() == []
    assert found(np.array([40.0, 0, 40.0, 14.0, 0, 0])) == []
    assert found(np.array([50.0, 0, 40.0, 0, 0, 0])) == [(Code.MODEL_MISMATCH, "")]  # 64 N
    assert found(np.array([0, 0, 0, 0, 16.0, 0])) == [(Code.MODEL_MISMATCH, "")]
    assert found(ages_s={"a": 1.9, "b": 2.1}) == [(Code.STALE_PLAN, "b")]
    assert found(slack=0.05) == [(Code.LIMIT_INFEASIBLE, "")]


def test_an_issue_carries_its_figure() -> None:
    monitor = HealthMonitor(MonitorSettings())
    (mismatch,) = monitor.check(0.0, np.array([60.0, 0, 80.0, 0, 0, 0]), {}, 0.0)
    assert mismatch == Issue(Code.MODEL_MISMATCH, Severity.WARNING, value=100.0)


def test_what_comes_and_goes_is_one_issue() -> None:
    monitor = HealthMonitor(MonitorSettings(linger_s=1.0))
    limit = [(Code.LIMIT_INFEASIBLE, "")]
    found = [codes(monitor.check(t / 10, CALM, {}, 0.1 * (t in (10, 15)))) for t in range(40)]
    assert found == [[]] * 10 + [limit] * 16 + [[]] * 14
    monitor.check(100.0, CALM, {}, 0.1)
    assert monitor.check(5.0, CALM, {}, 0.0) == ()  # the clock went back: no earlier issue is known to hold


def share(recording: Recording, code: Code, subject: str = "") -> float:
    """Of all control steps, how many report that."""
    return recording.issue_shares.get(sentence(Issue(code, Severity.WARNING, subject)), 0.0)


def run(condition: str, duration_s: float = 8.0, seed: int = 0) -> tuple[Recording, Figures]:
    recording = simulated("circle", "2", condition, seed=seed, duration_s=duration_s)
    return recording, figures(recording)


def test_runs_that_ask_too_much_report_it() -> None:
    assert run("default")[0].issue_shares == {}
    assert share(run("mass_x2")[0], Code.MODEL_MISMATCH) > 0.9
    # Plans of 10 s ago: those from before the start are stale from the beginning, and then contact counts as lost.
    late, _ = run("delay_10")
    lost = [sentence(Issue(Code.LOST_CONTACT, Severity.WARNING, name)) for name in late.names]
    assert set(late.issue_shares) == set(lost)


def test_a_mass_that_is_far_off_is_found_by_weighing() -> None:
    """100 kg instead of 11.5: 870 N too heavy, more than ten times what the thrusters lift."""
    recording, found = run("mass_100kg", 25.0)
    assert not found.failed and found.fallbacks == 0
    assert found.rmse_m < 0.05
    # then the new one fits
    assert share(recording, Code.MASS_REPLACED) > 0.9 > 0.2 > share(recording, Code.MODEL_MISMATCH)


@pytest.mark.parametrize("seed", [1, 4])
def test_nobody_turns_away_by_a_position_that_scatters(seed: int) -> None:
    """±3 m, two metres apart: by the first measurements the other may be anywhere. Seed 4 once lost sight in 0.8 s."""
    recording, found = run("noise_uniform_3", seed=seed)
    assert not found.failed and found.fallbacks == 0
    assert found.fov_max_deg < 45.0
    assert 0.05 < share(recording, Code.POSITION_NOISE) < 0.7  # 8 s of run: it waits, but not for ever


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
