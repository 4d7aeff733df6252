"""A path followed again and again, and whether a long run ends as it began."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.benchmarks import patrol as bench
from shoal.evaluation.endurance import METRICS
from shoal.evaluation.metric import Value
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, simulate
from test_fast_paths import CONDITION, path_file, straight

GROWTH = METRICS[0]


def test_the_bench_measures_error_and_memory_of_every_stretch() -> None:
    result = bench.patrol(30.0, 3)
    errors_mm = [row.value for row in result.rows if row.label.startswith("until")]
    assert len(errors_mm) == 3 and all(0.1 < error < 50.0 for error in errors_mm)
    grown = {row.label: row.value for row in result.rows}["growth of memory"]
    assert abs(grown) < 2000  # in 200 periods of two vehicles: ten each that are kept would be 4000


def test_the_error_of_a_stretch_is_that_of_the_worse_vehicle(patrol: Recording) -> None:
    states = patrol.setpoints_m.copy()
    moved = replace(patrol, states=patrol.states.copy())
    moved.states[:, :, POSITION] = states
    moved.states[patrol.times_s >= 25.0, :, POSITION.start] += 0.5
    first, second = bench.errors_m(moved, [25.0, 50.0])
    assert first == pytest.approx(0.0, abs=1e-9) and second == pytest.approx(0.5)


@pytest.fixture(scope="module")
def patrol(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Two metres there and back, twice."""
    path = path_file(tmp_path_factory.mktemp("patrol"), straight(2.0), 0.25)
    spec = RunSpec(path=path, fleet="one", condition=CONDITION, duration_s=50.0, task_settings={"repeat": 2})
    return simulate(spec)


def test_a_path_is_followed_as_often_as_asked(patrol: Recording) -> None:
    north = patrol.reference_m[:, 0]
    there = np.flatnonzero(np.diff((north > 1.9).astype(int)) == 1)
    assert len(there) == 2 and north[there[0] : there[1]].min() < 0.01


def test_growth_of_the_error_is_measured_between_beginning_and_end(patrol: Recording) -> None:
    assert GROWTH.compute(patrol) is None  # too short
    long = replace(patrol, times_s=patrol.times_s * 40)  # 2000 s
    steady = GROWTH.compute(long)
    assert isinstance(steady, Value) and abs(steady.number) < 0.03
    states = long.states.copy()
    states[long.times_s > 1400.0, :, POSITION.start + 2] += 0.3
    grown = GROWTH.compute(replace(long, states=states))
    assert isinstance(grown, Value) and grown.number == pytest.approx(0.3, abs=0.03)
