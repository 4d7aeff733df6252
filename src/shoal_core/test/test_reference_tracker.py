"""Following the formation's place, or holding one's own; stepping on time."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.reference_tracker import ReferenceTracker
from shoal.fleet.setup import load_role
from shoal.fleet.step_trigger import StepTrigger
from shoal.guidance.formation import Formation
from shoal.messages.directive import Directive
from shoal.messages.health import Code
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview
from shoal.simulation.conditions import load_condition
from shoal.tasks.run import believed_timing

HERE = Odometry.of_parts(0.0, np.array([3.0, 4.0, 5.0]), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))
PLACEMENT = Formation(kind="point", spacing_m=2.0).assign(
    ["a", "b"], np.array([[0, -1, 5], [0, 1, 5.0]]), np.array([0, 0, 5.0])
)


def preview(t_s: float) -> Preview:
    times = t_s + np.arange(0, 4, 0.5)
    return Preview(times, np.tile([0.0, 0, 5], (8, 1)), np.zeros((8, 3)), np.zeros(8))


def directive(
    tracker: ReferenceTracker, t_s: float, odometry: Odometry | None = HERE, without: tuple[str, ...] = ()
) -> tuple[Directive, Code | None]:
    found, issue = tracker.directive(t_s, odometry, without)
    assert (found.kind == "hold") == (issue is not None)
    return found, None if issue is None else issue.code


def test_holds_where_it_is_until_it_knows_better() -> None:
    tracker = ReferenceTracker("a", 1.5)
    held, code = directive(tracker, 1.0)
    assert code is Code.NO_REFERENCE
    np.testing.assert_array_equal(held.setpoint.positions_m[0], HERE.position_m)
    tracker.on_reference(preview(1.0))
    assert directive(tracker, 1.1)[1] is Code.NO_FORMATION
    tracker.on_formation(PLACEMENT)
    found, code = directive(tracker, 1.2)
    assert code is None
    np.testing.assert_allclose(found.setpoint.positions_m[0], [0, -1, 5], atol=1e-9)
    np.testing.assert_allclose(found.formation_setpoints["b"].positions_m[0], [0, 1, 5], atol=1e-9)
    left, _ = directive(tracker, 1.2, without=("b",))
    assert "b" not in left.formation_setpoints and "a" in left.formation_setpoints


def test_stale_reference_means_hold_at_the_place_where_it_became_stale() -> None:
    tracker = ReferenceTracker("a", 1.5)
    tracker.on_formation(PLACEMENT)
    tracker.on_reference(preview(1.0))
    assert directive(tracker, 2.5)[1] is None
    there = Odometry.of_parts(2.6, np.array([9.0, 9, 9]), HERE.attitude, np.zeros(3), np.zeros(3))
    assert directive(tracker, 2.6, there)[1] is Code.STALE_REFERENCE
    later, _ = directive(tracker, 5.0)
    np.testing.assert_array_equal(later.setpoint.positions_m[0], [9, 9, 9])  # not drifting along with the vehicle
    tracker.on_reference(preview(5.0))
    assert directive(tracker, 5.1)[1] is None


def test_nowhere_to_hold_without_odometry() -> None:
    held, code = directive(ReferenceTracker("a", 1.5), 1.0, None)
    assert code is Code.NO_REFERENCE and np.isnan(held.setpoint.positions_m).all()


def test_reference_from_before_the_clock_went_back_is_not_followed() -> None:
    tracker = ReferenceTracker("a", 1.5)
    tracker.on_formation(PLACEMENT)
    tracker.on_reference(preview(100.0))
    tracker.clear()
    assert directive(tracker, 0.0)[1] is Code.NO_REFERENCE
    tracker.on_reference(preview(100.0))
    assert directive(tracker, 0.0)[1] is Code.STALE_REFERENCE


def test_no_place_in_the_formation() -> None:
    tracker = ReferenceTracker("c", 1.5)
    tracker.on_formation(PLACEMENT)
    tracker.on_reference(preview(1.0))
    assert directive(tracker, 1.0)[1] is Code.NOT_IN_FORMATION


def test_a_formation_changes_who_must_be_seen() -> None:
    tracker = ReferenceTracker("a", 1.5, frozenset({"b"}))
    assert directive(tracker, 1.0)[0].must_see == {"b"}
    tracker.on_formation(PLACEMENT)  # in which nobody must see anybody
    assert directive(tracker, 1.0)[0].must_see == frozenset()


@pytest.mark.parametrize("odometry_hz", [20, 30, 50, 100])
def test_mean_rate_is_the_control_rate_whatever_odometry_does(odometry_hz: int) -> None:
    trigger, steps = StepTrigger(0.05), 0
    rng = np.random.default_rng(2)
    for k in range(10 * odometry_hz):
        t = k / odometry_hz + rng.uniform(0, 0.002)
        if trigger.due(t):
            trigger.stepped(t)
            steps += 1
    assert steps == pytest.approx(200, rel=0.03)


def test_the_clock_steps_when_odometry_stays_away() -> None:
    trigger = StepTrigger(0.05)
    assert trigger.overdue(0.0)
    trigger.stepped(0.0)
    assert not trigger.overdue(0.05)
    assert trigger.overdue(0.08)


def test_late_odometry_makes_no_burst() -> None:
    trigger = StepTrigger(0.05)
    trigger.stepped(0.0)
    trigger.stepped(1.0)  # a second of nothing
    assert not trigger.due(1.001)
    assert trigger.due(1.05)


def test_role_and_timing_are_those_of_fleet_and_condition() -> None:
    fleet = load_fleet("two")
    role = load_role(fleet, "rov2")
    assert role.others == ("rov1",) == tuple(role.must_see)
    assert role.limits == fleet.limits
    assert believed_timing(load_condition("default"), 0.05).actuation_delay_s == pytest.approx(0.05)
    with pytest.raises(ShoalError, match="rov8"):
        load_role(fleet, "rov8")
