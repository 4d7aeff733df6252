"""The excitation stops for good outside of its room, out of its depth or near another vehicle."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.control.registry import ControllerFile
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.wording import sentence


def _run(fleet: str, **settings: float) -> shoal.Recording:
    excitation = ControllerFile(version=1, name="excitation", controller="excitation", settings=settings)
    return shoal.simulate(fleet=fleet, controller=excitation, duration_s=8, seed=3)


@pytest.mark.parametrize(
    ("fleet", "settings", "code"),
    [
        ("one", {"hard_box_m": 0.2}, Code.LEFT_ITS_ROOM),
        ("one", {"most_depth_m": 0.5}, Code.LEFT_ITS_DEPTH),
        ("one", {"least_depth_m": 100.0}, Code.LEFT_ITS_DEPTH),
        ("two", {"least_distance_m": 50.0}, Code.TOO_CLOSE_TO_EXCITE),
    ],
)
def test_it_stops_and_stays_stopped(fleet: str, settings: dict[str, float], code: Code) -> None:
    run = _run(fleet, **settings)
    assert sentence(Issue(code, Severity.ERROR)) in run.issue_shares
    for thrust_N in run.thrust_N.values():
        assert np.abs(np.asarray(thrust_N)[-60:]).max() == 0.0


def test_within_its_limits_it_goes_on() -> None:
    run = _run("one")
    assert not run.issue_shares
    assert all(np.abs(np.asarray(t)[-60:]).max() > 1.0 for t in run.thrust_N.values())
