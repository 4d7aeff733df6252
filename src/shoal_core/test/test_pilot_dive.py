"""A pilot's dive as a task: simulator, campaigns and metrics know it."""

from __future__ import annotations

import pytest

from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.tasks.run import RunSpec, build_run, simulate

SPEC = RunSpec("circle", "one", "default", 3, "autopilot", 5.0, task="pilot_dive")


def test_a_dive_is_followed_and_judged_on_the_truth() -> None:
    summary = summarise(simulate(SPEC))
    errors = [summary.value(f"dive_error_{axis}_deg") for axis in ("roll", "pitch", "yaw")]
    assert not summary.failed, summary.failure
    assert all(error is not None and 0.05 < error < 10 for error in errors)


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


@pytest.mark.parametrize(("fleet", "settings", "word"), [("two", {}, "expected one"), ("one", {"course": "x"}, "x")])
def test_what_makes_no_sense_is_refused(fleet: str, settings: dict[str, str], word: str) -> None:
    with pytest.raises(ShoalError, match=word):
        build_run(RunSpec("circle", fleet, "default", 0, "autopilot", task="pilot_dive", task_settings=settings))
