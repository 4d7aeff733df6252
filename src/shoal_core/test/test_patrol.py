"""A path followed again and again, and whether a long run ends as it began."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.evaluation.endurance import METRICS
from shoal.evaluation.metric import Value
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, simulate
from test_fast_paths import CONDITION, path_file, straight

GROWTH = METRICS[0]


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
    assert isinstance(steady, Value) and abs(steady.number) < 0.02
    states = long.states.copy()
    states[long.times_s > 1400.0, :, POSITION.start + 2] += 0.3
    grown = GROWTH.compute(replace(long, states=states))
    assert isinstance(grown, Value) and grown.number == pytest.approx(0.3, abs=0.03)
