"""The excitation stops for good outside of its room, out of its depth or near another vehicle."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.control.registry import ControllerFile
from shoal.errors import ShoalError
from shoal.identification.excited import excitation_file, fly_simulated
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


def test_a_flight_that_stops_at_once_is_refused_with_its_reason() -> None:
    file = excitation_file("excitation", 0.3)
    assert file.settings["level"] == 0.3 and excitation_file("excitation", None).settings["level"] == 0.6
    narrow = file.model_copy(update={"settings": {**file.settings, "hard_box_m": 0.2}})
    with pytest.raises(ShoalError, match=r"stopped after .* from where the excitation began.* expected at least 15 s"):
        fly_simulated("bluerov2_heavy", None, narrow, "default", 3)
    with pytest.raises(ShoalError, match="is of controller 'pid'; expected excitation"):
        excitation_file("pid", None)
