"""Metrics of thruster faults, on recordings whose health is made up."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from closed_loop import changed
from shoal.evaluation.metrics import find_metric, summarise
from shoal.messages.health import Code, Issue, Mode, Severity
from shoal.recordings.parquet import read_parquet, write_parquet
from shoal.recordings.recording import HealthEvent, Recording, TrueFault
from shoal.tasks.run import RunSpec, simulate

BROKEN = {"vehicle": 0, "kind": "thruster_dead", "thruster": "thruster2", "from_s": 1.0}


@lru_cache(maxsize=1)
def recording() -> Recording:
    return simulate(RunSpec(condition=changed(faults=[BROKEN]), duration_s=2.0))


def with_report(made: Recording, t_s: float, code: Code, thruster: str, vehicle: int = 0) -> Recording:
    event = HealthEvent(t_s, made.names[vehicle], Mode.CONTROLLER, (Issue(code, Severity.WARNING, thruster),))
    return replace(made, events=(*made.events, event))


def test_the_truth_is_recorded_and_read_back(tmp_path: Path) -> None:
    made = recording()
    assert made.true_faults == (TrueFault(1.0, made.names[0], Code.THRUSTER_DEAD, "thruster2"),)
    both = replace(made, true_faults=(*made.true_faults, TrueFault(0.0, made.names[1])))
    write_parquet(both, tmp_path)
    assert read_parquet(tmp_path).true_faults == both.true_faults


@pytest.mark.parametrize(
    ("t_s", "code", "thruster", "after_s", "alarms"),
    [
        (4.0, Code.THRUSTER_DEAD, "thruster2", 3.0, 0),
        (12.0, Code.THRUSTER_DEAD, "thruster2", 11.0, 0),
        (4.0, Code.THRUSTER_WEAK, "thruster2", None, 0),  # the right one, as something else
        (4.0, Code.THRUSTER_DEAD, "thruster3", None, 1),
        (0.5, Code.THRUSTER_DEAD, "thruster2", None, 1),  # before it broke
        (4.0, Code.THRUSTER_SUSPECT, "thruster3", None, 0),
    ],
)
def test_when_it_was_named_rightly(t_s: float, code: Code, thruster: str, after_s: float | None, alarms: int) -> None:
    found = summarise(with_report(recording(), t_s, code, thruster)).metrics
    assert found["fault_named_s"].value == (None if after_s is None else pytest.approx(after_s))
    assert found["fault_named_s"].failed == (after_s is None or after_s > 10.0)
    assert found["false_alarms"].value == alarms and found["false_alarms"].failed == bool(alarms)
    assert found["false_suspects"].value == (code is Code.THRUSTER_SUSPECT)


def test_a_vehicle_with_more_than_one_fault_raises_no_false_alarm() -> None:
    made = replace(recording(), true_faults=(TrueFault(0.0, recording().names[0]),))
    alarms, named = find_metric("false_alarms"), find_metric("fault_named_s")
    assert alarms(with_report(made, 1.5, Code.THRUSTER_WEAK, "thruster5")).number == 0
    assert alarms(with_report(made, 1.5, Code.THRUSTER_WEAK, "thruster5", vehicle=1)).number == 1
    assert named(made) is None


def test_the_error_counts_from_fifteen_seconds_after_the_fault() -> None:
    made, metric = recording(), find_metric("fault_error_max_m")
    assert metric(made) is None
    slow = replace(made, times_s=10.0 * made.times_s)  # the fault at 1 s, the end at 20 s
    states = slow.states.copy()
    states[:, :, :3] = slow.setpoints_m
    states[slow.times_s < 15.9, 1, 0] += 1.0
    assert metric(replace(slow, states=states)).number == pytest.approx(0.0, abs=1e-9)
    states[-1, 1, 0] += 0.3
    assert metric(replace(slow, states=states)).number == pytest.approx(0.3)
    assert np.isfinite(states).all()


def test_the_error_until_it_is_found_counts_from_the_fault_on() -> None:
    slow = replace(recording(), times_s=10.0 * recording().times_s)  # the fault at 1 s
    states = slow.states.copy()
    states[:, :, :3] = slow.setpoints_m
    states[slow.times_s < 0.9, 0, 0] += 1.0  # before it
    states[(slow.times_s > 1.0) & (slow.times_s < 5.9), 0, 0] += 0.2
    states[slow.times_s > 6.1, 1, 0] += 0.1
    made = replace(slow, states=states)
    assert find_metric("fault_peak_m")(made).number == pytest.approx(0.2)
    assert find_metric("fault_held_m")(made).number == pytest.approx(0.1)
    assert find_metric("fault_held_m")(recording()) is None
