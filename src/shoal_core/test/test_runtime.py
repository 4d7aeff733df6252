"""Everything between a message in and a message out: odd messages, silence, deadlines, another vehicle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.messages.health import Code, Mode
from shoal.messages.odometry import Odometry
from shoal.messages.state import POSITION, State
from swim import NAME, OTHER, PERIOD_S, STARTS_M, VEHICLE, Swim, codes, reference
from vehicles_for_tests import with_thrusters


def test_follows_its_place_a_step_each_period() -> None:
    swim = Swim()
    found = swim.run(6.0, velocity_mps=(0.2, 0.0, 0.0))
    assert len(found) == 120
    assert {h.mode for h in found} == {Mode.CONTROLLER} and not any(h.issues for h in found)
    moved = STARTS_M[NAME] + np.array([0.2 * swim.t_s, 0, 0])
    assert swim.off_m(moved) < 0.05


# -- odometry ---------------------------------------------------------------------------------------------------


def test_one_odometry_from_far_in_the_future_is_refused_and_the_good_stream_goes_on() -> None:
    swim = Swim()
    swim.run(2.0)
    swim.runtime.on_odometry(Odometry(swim.t_s + 1000.0, State.at_rest((50.0, 0.0, 5.0)).array), swim.t_s)
    found = swim.run(1.0)
    assert {h.mode for h in found} == {Mode.CONTROLLER}
    assert all(codes(h) == {Code.ODOMETRY_IN_FUTURE} for h in found)
    assert found[0].issues[0].value == pytest.approx(1000.0)
    later = swim.run(3.0)
    assert not later[-1].issues  # reported for a while, then forgotten
    assert swim.off_m() < 0.02


def test_nothing_but_odometry_from_the_future_is_no_odometry() -> None:
    swim = Swim()
    found = swim.run(1.0, lambda s: Odometry(s.t_s + 1000.0, s.state.array))
    assert {h.mode for h in found} == {Mode.ZERO_THRUST}
    assert all(codes(h) >= {Code.NO_ODOMETRY, Code.ODOMETRY_IN_FUTURE} for h in found)


def test_overtaken_odometry_never_replaces_newer_one() -> None:
    swim = Swim()
    swim.run(2.0)
    swim.runtime.on_odometry(Odometry(swim.t_s - 0.3, State.at_rest((9.0, 9.0, 9.0)).array), swim.t_s)
    swim.runtime.tick(swim.t_s)
    np.testing.assert_allclose(swim.runtime.agent.estimator.state[POSITION], swim.state.position_m, atol=0.05)
    found = swim.run(1.0)
    assert {h.mode for h in found} == {Mode.CONTROLLER} and swim.off_m() < 0.02


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_stamp_that_is_no_number_does_not_outlive_good_ones(bad: float) -> None:
    swim = Swim()
    swim.run(1.0)
    swim.runtime.on_odometry(Odometry(bad, swim.state.array), swim.t_s)
    found = swim.run(1.0)
    assert found[-1].mode is Mode.CONTROLLER and swim.off_m() < 0.02


def test_steps_by_the_clock_when_odometry_stays_away_and_ends_in_zero_thrust() -> None:
    swim = Swim()
    swim.run(2.0)
    found = swim.run(3.0, lambda s: None)
    assert len(found) >= 55  # the clock takes over after one and a half periods
    assert [m for m, _ in _runs([h.mode for h in found])] == [
        Mode.CONTROLLER,  # the last odometry is good for half a second
        Mode.PREVIOUS_PLAN,
        Mode.ZERO_THRUST,
    ]
    assert not swim.thrust_N.any()
    assert swim.run(1.0)[-1].mode is Mode.CONTROLLER


def _runs(values: list[Mode]) -> list[tuple[Mode, int]]:
    """Equal ones that follow each other, counted."""
    found: list[tuple[Mode, int]] = []
    for value in values:
        if found and found[-1][0] is value:
            found[-1] = value, found[-1][1] + 1
        else:
            found.append((value, 1))
    return found


# -- reference --------------------------------------------------------------------------------------------------


def test_without_reference_or_formation_it_holds_where_it_is() -> None:
    swim = Swim()
    found = swim.run(2.0, velocity_mps=None)
    assert all(codes(h) == {Code.NO_REFERENCE} and h.mode is Mode.CONTROLLER for h in found)
    assert swim.off_m() < 0.02


def test_the_timing_is_probed_when_motion_is_asked_for_and_not_before() -> None:
    """A controller that restarts and holds adds no motion of its own; the first reference starts the probe."""
    swim, felt = Swim(), []

    def note(swim: Swim) -> Odometry:
        felt.append(VEHICLE.thrust_matrix @ swim.thrust_N)
        return swim.odometry()

    swim.run(3.0, note, velocity_mps=None)
    assert np.abs(np.array(felt)[:, 5]).max() < 0.2
    felt.clear()
    swim.run(1.0, note, velocity_mps=(0.1, 0.0, 0.0))
    assert np.abs(np.array(felt)[:, 5]).max() > 1.0


def test_lost_references_mean_hold_after_the_timeout_and_following_again_with_the_next() -> None:
    swim = Swim()
    swim.run(4.0, velocity_mps=(0.2, 0.0, 0.0))
    silent = swim.run(6.0, velocity_mps=None)
    held = [Code.STALE_REFERENCE in codes(h) for h in silent]
    # The last reference went out 0.2 s before the silence, at the latest; it is good for 1.5 s.
    assert 1.3 <= held.index(True) * PERIOD_S <= 1.5 + PERIOD_S
    assert all(held[held.index(True) :])
    assert np.linalg.norm(swim.state.velocity_mps) < 0.02  # and it stands
    stopped_at = swim.state.position_m.copy()
    assert 0.2 * 5.0 < stopped_at[0] < 0.2 * 6.5
    found = swim.run(0.5, velocity_mps=(0.2, 0.0, 0.0))
    assert not any(h.issues for h in found)


def test_late_references_are_followed_where_they_are_by_now() -> None:
    """A preview that comes 0.5 s late is read at the present instant: no lag follows from it."""
    swim = Swim()
    for k in range(40):
        swim.runtime.on_reference(reference(max(0.0, 0.2 * k - 0.5), (0.2, 0.0, 0.0)))
        assert not any(h.issues for h in swim.run(0.2, velocity_mps=None))
    assert swim.off_m(STARTS_M[NAME] + np.array([0.2 * swim.t_s, 0, 0])) < 0.05


def test_a_reference_later_than_the_timeout_is_not_followed() -> None:
    swim = Swim()
    for k in range(10):
        swim.runtime.on_reference(reference(0.2 * k - 2.0, (0.2, 0.0, 0.0)))
        assert all(codes(h) == {Code.STALE_REFERENCE} for h in swim.run(0.2, velocity_mps=None))
    assert swim.off_m() < 0.02


# -- deadlines --------------------------------------------------------------------------------------------------


def test_missed_deadlines_mean_previous_plan_then_station_keeping_then_back() -> None:
    clock = [0.0]
    slow_s = [0.0]

    def stopwatch() -> float:
        clock[0] += slow_s[0]
        return clock[0]

    swim = Swim(stopwatch)
    swim.run(2.0)
    slow_s[0] = 1.01 * PERIOD_S
    late = swim.run(3.0)
    assert all(h.issues[0].code is Code.DEADLINE_MISSED and h.overrun for h in late)
    assert late[0].issues[0].value == pytest.approx(1.01 * PERIOD_S * 1e3)
    previous, keeping = _runs([h.mode for h in late])
    assert previous == (Mode.PREVIOUS_PLAN, 20)  # one second
    assert keeping == (Mode.STATION_KEEPING, 40)
    assert swim.off_m() < 0.1
    slow_s[0] = 0.99 * PERIOD_S
    assert {h.mode for h in swim.run(0.5)} == {Mode.CONTROLLER}


# -- neighbours -------------------------------------------------------------------------------------------------


def test_lost_contact_replaces_the_stale_plan() -> None:
    """One sentence about a silent neighbour, not two."""
    swim = Swim()
    swim.run(1.0)
    found = swim.run(4.0, plans=False)
    reported = [h for h in found if h.issues]
    assert reported and all(codes(h) == {Code.LOST_CONTACT} for h in reported)
    assert {i.subject for h in reported for i in h.issues} == {OTHER}
    first_s = found.index(reported[0]) * PERIOD_S
    assert first_s == pytest.approx(2.0, abs=2.1 * PERIOD_S)
    assert not swim.run(2.5)[-1].issues


def test_a_stale_plan_is_reported_before_contact_counts_as_lost() -> None:
    swim = Swim(lost_s=3.5)
    swim.run(1.0)
    found = swim.run(4.0, plans=False)
    order = list(dict.fromkeys(code for h in found for code in codes(h)))
    assert order == [Code.STALE_PLAN, Code.LOST_CONTACT]


def test_a_neighbour_without_plan_is_avoided_by_its_odometry() -> None:
    """It stands a metre from our place, where the formation has nobody: only its odometry shows it."""
    swim = Swim()
    intruder = State.at_rest(STARTS_M[NAME] + np.array([0.0, 1.0, 0.0]))

    def seen(s: Swim) -> Odometry:
        s.runtime.on_neighbour_odometry(OTHER, Odometry(s.t_s, intruder.array), s.t_s)
        return s.odometry()

    swim.run(6.0, seen, plans=False)
    assert np.linalg.norm(swim.state.position_m - intruder.position_m) > 1.8  # of 2 m of soft distance
    assert swim.runtime.neighbours.without_plan(swim.t_s) == [OTHER]


def test_a_plan_takes_over_from_odometry_again() -> None:
    swim = Swim()
    swim.run(1.0)
    assert swim.runtime.neighbours.stale(swim.t_s) == []
    swim.run(1.0, plans=False)
    assert swim.runtime.neighbours.stale(swim.t_s) == [OTHER]
    swim.run(0.1)
    assert swim.runtime.neighbours.stale(swim.t_s) == []


# -- another vehicle --------------------------------------------------------------------------------------------


def test_another_vehicle_between_two_steps_keeps_swimming() -> None:
    """Twice the mass on board from one step to the next, in the water and in the description."""
    swim = Swim()
    swim.run(4.0, velocity_mps=(0.2, 0.0, 0.0))
    heavier = VEHICLE.scaled(mass=2.0)
    heavier = replace(heavier, buoyancy_N=heavier.weight_N + 2.0)
    swim.start_with(heavier, swim.state)
    swim.runtime.set_vehicle(heavier)
    found = swim.run(4.0, velocity_mps=(0.2, 0.0, 0.0))
    assert {h.mode for h in found} == {Mode.CONTROLLER} and not any(h.issues for h in found)
    assert swim.off_m(STARTS_M[NAME] + np.array([0.2 * swim.t_s, 0, 0])) < 0.1


def test_another_number_of_thrusters_between_two_steps_keeps_swimming() -> None:
    """Two of eight are gone, six remain for six axes."""
    swim = Swim()
    swim.run(3.0, velocity_mps=(0.2, 0.0, 0.0))
    six = with_thrusters(VEHICLE, 0, 1, 2, 4, 5, 6)
    swim.start_with(six, swim.state)
    swim.runtime.set_vehicle(six)
    swim.thrust_N = np.zeros(6)
    found = swim.run(5.0, velocity_mps=(0.2, 0.0, 0.0))
    assert swim.thrust_N.shape == (6,)
    assert {h.mode for h in found} == {Mode.CONTROLLER}
    assert swim.off_m(STARTS_M[NAME] + np.array([0.2 * swim.t_s, 0, 0])) < 0.1
