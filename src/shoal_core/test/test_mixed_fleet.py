"""Vehicles of five kinds in one fleet: steered, recorded and judged each by what it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.evaluation.metrics import summarise
from shoal.fleet.file import load_fleet
from shoal.messages.health import Mode
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, simulate

INPUTS = {"rov": 8, "pair": 16, "six": 6, "vessel": 4, "boat": 4}  # the vessel's are of two azimuths


@pytest.fixture(scope="module")
def run() -> Recording:
    return simulate(RunSpec("circle", "mixed", "default", 3, duration_s=14.0))


def test_five_kinds_follow_the_circle_without_fallback(run: Recording) -> None:
    assert {name: run.thrust_N[name].shape[1] for name in run.names} == INPUTS
    assert set(run.mode.ravel().tolist()) == {Mode.CONTROLLER}
    settled = run.times_s > 10.0
    for i, name in enumerate(run.names):
        error_m = np.linalg.norm(run.states[settled, i, :3] - run.setpoints_m[settled, i], axis=1)
        assert error_m.mean() < (0.1 if name == "vessel" else 0.03), name  # 0.4 N at most, and 0.2 s of lag
    assert not summarise(run).failed, summarise(run).failure


def test_each_is_judged_by_its_own_thrusters(run: Recording) -> None:
    """One that rattles over its own small range is found beside vehicles with a hundred times its thrust."""
    quiet = summarise(run).metrics["thrust_activity_N"]
    assert quiet.failed is False
    rattling = run.thrust_N["vessel"].copy()
    rattling[::2], rattling[1::2] = run.thrust_bounds_N["vessel"]
    found = summarise(replace(run, thrust_N={**run.thrust_N, "vessel": rattling})).metrics["thrust_activity_N"]
    assert found.failed and found.subject == "vessel" and found.value is not None and found.value < 1.0
    changes_N = np.diff(run.thrust_N["six"], axis=0)  # more than the vessel may, and far from its own limit
    assert found.bound is not None and np.sqrt(np.mean(changes_N**2)) > found.bound


def test_places_have_their_mean_at_the_common_point() -> None:
    offsets = load_fleet("mixed").formation.offsets_m
    assert offsets is not None and np.mean(list(offsets.values()), axis=0) == pytest.approx(np.zeros(3))
