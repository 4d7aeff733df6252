"""A pilot's dive as a task: simulator, campaigns and metrics know it."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.control.registry import load_controller_file
from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.tasks.run import RunSpec, build_run, simulate

SPEC = RunSpec("circle", "one", "default", 3, "autopilot", 5.0, task="pilot_dive")


def test_a_dive_is_followed_and_judged_on_the_truth() -> None:
    """The whole of it, on the worst of the first five plants: estimator, gate, lag, thrusters that differ."""
    summary = summarise(simulate(RunSpec("circle", "one", "default", 0, "autopilot", task="pilot_dive")))
    errors = [summary.value(f"dive_error_{axis}_deg") or 99.0 for axis in ("roll", "pitch", "yaw")]
    assert not summary.failed, summary.failure
    assert (np.array(errors) <= [2, 2, 5]).all() and (summary.value("tilt_max_deg") or 180) < 45, errors


def test_a_fast_law_does_not_answer_its_own_last_command() -> None:
    """At 4 rad/s thrust alternated between its limits, while the lag was predicted with the last command going on."""
    fast = load_controller_file("autopilot").model_copy(update={"settings": {"attitude_radps": 4.0}})
    summary = summarise(simulate(RunSpec("circle", "one", "default", 0, fast, 15.0, task="pilot_dive")))
    assert not summary.failed, summary.failure
    assert (summary.value("thrust_jump") or 9.0) < 0.45


def test_a_dive_in_waves_stays_upright() -> None:
    """0.5 m/s, and as much up and down: the seed that turned over. It asks for 37° of tilt."""
    summary = summarise(simulate(RunSpec("circle", "one", "current_05_waves", 3, "autopilot", task="pilot_dive")))
    assert not summary.failed, summary.failure
    assert (summary.value("tilt_max_deg") or 180) < 60
    assert (summary.value("dive_error_yaw_deg") or 99) < 5


def test_without_a_pilots_controller_the_dive_is_not_followed() -> None:
    """The NMPC holds its place, whatever the pilot sends: the metric tells."""
    held = summarise(simulate(RunSpec("circle", "one", "default", 3, "pid", 5.0, task="pilot_dive")))
    followed = summarise(simulate(SPEC))
    assert (held.value("dive_error_yaw_deg") or 0) > 3 * (followed.value("dive_error_yaw_deg") or 99)


def test_random_levels_are_judged_by_the_jump_of_thrust() -> None:
    spec = RunSpec("circle", "one", "default", 3, "autopilot", 5.0, task="pilot_dive",
                   task_settings={"switch_chance": 0.86})  # fmt: skip
    summary = summarise(simulate(spec))
    jump = summary.value("thrust_jump")
    assert not summary.failed and jump is not None and 0.01 < jump <= 0.2
    assert summary.value("dive_error_yaw_deg") is None


def test_who_tilts_a_vehicle_whose_levels_change_at_random() -> None:
    """The pilot does, by leaving roll and pitch to the sticks; the same changes with both held or led stay upright."""
    tilts = []
    for direct_tilt in (True, False):
        settings = {"switch_chance": 0.86, "direct_tilt": direct_tilt}
        spec = RunSpec("circle", "one", "default", 0, "autopilot", 18.0, task="pilot_dive", task_settings=settings)
        summary = summarise(simulate(spec))
        assert not summary.failed, summary.failure
        tilts.append(summary.value("tilt_max_deg") or 180.0)
    assert tilts[0] > 50 > 40 > tilts[1]


@pytest.mark.parametrize(("fleet", "settings", "word"), [("two", {}, "expected one"), ("one", {"course": "x"}, "x")])
def test_what_makes_no_sense_is_refused(fleet: str, settings: dict[str, str], word: str) -> None:
    with pytest.raises(ShoalError, match=word):
        build_run(RunSpec("circle", fleet, "default", 0, "autopilot", task="pilot_dive", task_settings=settings))
