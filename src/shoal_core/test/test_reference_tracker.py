"""Following the formation's place, or holding one's own; stepping on time; saying what is the matter."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.fleet.monitor import MODEL, late
from shoal.fleet.reference_tracker import ReferenceTracker
from shoal.fleet.step_trigger import StepTrigger
from shoal.guidance.formation import Formation
from shoal.messages.health import Health, Mode
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal_mpc.report import sight, verdict
from shoal_mpc.setup_agent import load_role

HERE = Odometry.of_parts(0.0, np.array([3.0, 4.0, 5.0]), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))
SLOTS = Formation(kind="point", spacing_m=2.0).assign(["a", "b"], np.array([[0, -1, 5], [0, 1, 5.0]]), [0, 0, 5.0])


def preview(t_s: float) -> Preview:
    times = t_s + np.arange(0, 4, 0.5)
    return Preview(times, np.tile([0.0, 0, 5], (8, 1)), np.zeros((8, 3)), np.zeros(8))


def test_holds_where_it_is_until_it_knows_better() -> None:
    course = ReferenceTracker("a", 1.5)
    goal = course.goal(1.0, HERE)
    assert goal.reason == "no reference"
    np.testing.assert_array_equal(goal.own.positions_m[0], HERE.position_m)
    course.take(preview(1.0))
    assert course.goal(1.1, HERE).reason == "no formation"
    course.form(SLOTS)
    goal = course.goal(1.2, HERE)
    assert goal.reason == ""
    np.testing.assert_allclose(goal.own.positions_m[0], [0, -1, 5], atol=1e-9)
    np.testing.assert_allclose(goal.places["b"].positions_m[0], [0, 1, 5], atol=1e-9)
    assert "b" not in goal.places.without(["b"]) and "a" in goal.places.without(["b"])


def test_old_reference_means_hold_at_the_place_where_it_got_old() -> None:
    course = ReferenceTracker("a", 1.5)
    course.form(SLOTS)
    course.take(preview(1.0))
    assert course.goal(2.5, HERE).reason == ""
    there = Odometry.of_parts(2.6, np.array([9.0, 9, 9]), HERE.attitude, np.zeros(3), np.zeros(3))
    assert course.goal(2.6, there).reason == "reference is old"
    later = course.goal(5.0, HERE)
    np.testing.assert_array_equal(later.own.positions_m[0], [9, 9, 9])  # not drifting along with the vehicle
    course.take(preview(5.0))
    assert course.goal(5.1, HERE).reason == ""


def test_reference_from_before_the_clock_went_back_is_not_followed() -> None:
    course = ReferenceTracker("a", 1.5)
    course.form(SLOTS)
    course.take(preview(100.0))
    course.clear()
    assert course.goal(0.0, HERE).reason == "no reference"
    course.take(preview(100.0))
    assert course.goal(0.0, HERE).reason == "reference is old"


def test_no_place_in_the_formation() -> None:
    course = ReferenceTracker("c", 1.5)
    course.form(SLOTS)
    course.take(preview(1.0))
    assert "no place" in course.goal(1.0, HERE).reason


@pytest.mark.parametrize("odometry_hz", [20, 30, 50, 100])
def test_mean_rate_is_the_control_rate_whatever_odometry_does(odometry_hz: int) -> None:
    beat, steps = StepTrigger(0.05), 0
    rng = np.random.default_rng(2)
    for k in range(10 * odometry_hz):
        t = k / odometry_hz + rng.uniform(0, 0.002)
        if beat.due(t):
            beat.stepped(t)
            steps += 1
    assert steps == pytest.approx(200, rel=0.03)


def test_the_clock_steps_when_odometry_stays_away() -> None:
    beat = StepTrigger(0.05)
    assert beat.overdue(0.0)
    beat.stepped(0.0)
    assert not beat.overdue(0.05)
    assert beat.overdue(0.08)


def test_late_odometry_makes_no_burst() -> None:
    beat = StepTrigger(0.05)
    beat.stepped(0.0)
    beat.stepped(1.0)  # a second of nothing
    assert not beat.due(1.001)
    assert beat.due(1.05)


@pytest.mark.parametrize(
    ("health", "holding", "gone", "level", "words"),
    [
        (Health(Mode.NMPC), "", [], 0, "following"),
        (Health(Mode.NMPC), "no reference", [], 1, "holding station: no reference"),
        (Health(Mode.NMPC), "", ["b"], 1, "b is gone"),
        (Health(Mode.NMPC, warnings=(MODEL, late("b"))), "", [], 1, f"{MODEL}; plans of b come late"),
        (Health(Mode.NMPC, warnings=(late("b"), MODEL)), "", ["b"], 1, f"b is gone: no plan from it; {MODEL}"),
        (Health(Mode.SHIFTED_PLAN, "odometry is 0.61 s old, expected at most 0.50 s"), "", [], 1, "odometry is old"),
        (Health(Mode.STATION_KEEPING, "solver failed with status 3"), "", [], 1, "keeping station: solver failed"),
        (Health(Mode.ZERO_THRUST, "odometry is not finite"), "", [], 2, "zero thrust: odometry is not finite"),
    ],
)
def test_verdict(health: Health, holding: str, gone: list[str], level: int, words: str) -> None:
    got, message = verdict(health, holding, gone)
    assert got == level and words in message


def test_sight_by_hand() -> None:
    assert sight(HERE, HERE.position_m + np.array([2.0, 0, 0])) == (0.0, 2.0)
    assert sight(HERE, HERE.position_m + np.array([0.0, 0, 3.0])) == pytest.approx((90.0, 3.0))
    assert sight(HERE, HERE.position_m - np.array([1.0, 0, 0])) == pytest.approx((180.0, 1.0))
    assert sight(HERE, HERE.position_m) == (180.0, 0.0)


def test_role_is_what_the_simulator_gives_its_controllers() -> None:
    role = load_role("two", "bluerov3", "mass_x2", 0.05)
    assert role.others == ("bluerov2",) == tuple(role.must_see)
    assert role.settings.actuation_delay_s == pytest.approx(0.05)
    assert role.model.mass_kg == pytest.approx(2 * role.fleet.vehicles[1].vehicle().mass_kg)
    with pytest.raises(ShoalError, match="bluerov9"):
        load_role("two", "bluerov9", "default", 0.05)
