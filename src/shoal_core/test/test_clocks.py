"""Clocks that differ, restarts and absurd stamps: nobody is blocked for good, and delays are not taken for skew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.fleet.clock_skew import AGREE_S, ClockSkew
from shoal.fleet.neighbour_table import NeighbourTable
from shoal.messages.echo import Echo
from shoal.messages.health import Code
from shoal.messages.plan import Plan
from shoal.messages.state import POSITION
from shoal.simulation.conditions import Condition
from shoal.tasks.run import RunSpec, build_run, simulate

PERIOD_S = 0.05


def exchanged(offset_s: float, there_s: float, back_s: float, symmetric: bool = True, echo: bool = True) -> ClockSkew:
    """Ours and another vehicle's messages, for 3 s; the other's clock is ahead of ours by `offset_s`.

    An echo answers the newest of our messages that has reached the other when it sends.
    """
    skew = ClockSkew(symmetric, latest_s=30.0)
    for k in range(60):
        sent_s = k * PERIOD_S  # of the other's message, in our clock
        answered = np.floor((sent_s - there_s) / PERIOD_S) * PERIOD_S
        found = Echo(answered, sent_s - (answered + there_s)) if echo else None
        skew.message(sent_s + back_s, sent_s + offset_s, found)
    return skew


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.3, 2.0, 10.0])
@pytest.mark.parametrize("offset_s", [0.0, 0.1, -0.1])
def test_where_clocks_agree_a_delay_is_a_delay(delay_s: float, offset_s: float) -> None:
    assert exchanged(offset_s, delay_s, delay_s).skew_s == 0.0


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("offset_s", [0.5, -0.7, 5.0, -30.0, 100.0])
def test_clocks_apart_are_found_whatever_the_delay(delay_s: float, offset_s: float) -> None:
    found = exchanged(offset_s, delay_s, delay_s)
    assert found.skew_s == pytest.approx(-offset_s, abs=0.06)  # a step of ours is 0.05 s
    assert abs(found.skew_s + offset_s) <= found.uncertain_s + 1e-9


@pytest.mark.parametrize(("there_s", "back_s"), [(0.0, 2.0), (2.0, 0.0), (0.1, 1.0)])
def test_ways_of_unequal_delay_prove_nothing_about_clocks(there_s: float, back_s: float) -> None:
    assert exchanged(0.0, there_s, back_s, symmetric=False).skew_s == 0.0
    found = exchanged(50.0, there_s, back_s, symmetric=False)
    assert abs(found.skew_s + 50.0) <= 0.5 * (there_s + back_s) + 1e-9  # no better, but no worse either


def test_without_echoes_only_the_impossible_is_taken_for_skew() -> None:
    assert exchanged(0.0, 0.0, 10.0, echo=False).skew_s == 0.0  # late: perhaps the link
    assert exchanged(0.9 * AGREE_S, 0.0, 0.0, echo=False).skew_s == 0.0
    assert exchanged(5.0, 0.0, 0.02, echo=False).skew_s == pytest.approx(-5.0, abs=0.15)  # from the future
    assert exchanged(-100.0, 0.0, 0.02, echo=False).skew_s == pytest.approx(100.0, abs=0.15)  # later than any link


def plan(stamp_s: float, sequence: int = 1, x: float = 0.0) -> Plan:
    return Plan("b", sequence, stamp_s, np.array([stamp_s, stamp_s + 1]), np.full((2, 3), x), np.zeros((2, 3)))


def ages(table: NeighbourTable, begin_s: float, seconds: float, offset_s: float, first: int) -> list[float]:
    """A stream of plans; how old the newest known one really is, by the x it carries."""
    found = []
    for k in range(round(seconds / PERIOD_S)):
        t_s = begin_s + k * PERIOD_S
        table.add_plan(plan(t_s + offset_s, first + k, x=t_s), t_s)
        known = table.known(t_s).get("b")
        found.append(np.inf if known is None else t_s - float(known.positions_m[0, 0]))
    return found


@pytest.mark.parametrize("absurd_s", [1000.0, -1000.0, 1e9])
def test_one_absurd_stamp_costs_nothing(absurd_s: float) -> None:
    table = NeighbourTable("a", ["b"], 0.0, 2.0)
    assert max(ages(table, 0.0, 2.0, 0.0, 1)) < 1e-9
    table.add_plan(plan(2.0 + absurd_s, 10**9, x=-50.0), 2.0)
    assert max(ages(table, 2.0 + PERIOD_S, 2.0, 0.0, 41)) < 1e-9


@pytest.mark.parametrize("jump_s", [-1000.0, -3.0, 5.0, 1000.0])
def test_a_reboot_with_another_clock_is_believed_within_seconds(jump_s: float) -> None:
    """Sequence 0 and stamps from another time; what was known before counts until they have proved a stream."""
    table = NeighbourTable("a", ["b"], 0.0, 2.0)
    ages(table, 0.0, 2.0, 0.0, 500)
    found = ages(table, 2.0, 4.0, jump_s, 0)
    assert max(found) < 1.2 and max(found[30:]) < 1e-9
    if jump_s > 0:  # from the future, which is impossible
        assert table.known(6.0)["b"].stamp_s == pytest.approx(6.0 - PERIOD_S, abs=0.15)
    else:  # late, as far as anybody can tell without an echo
        assert jump_s > -30.0 or table.known(6.0)["b"].stamp_s == pytest.approx(6.0 - PERIOD_S, abs=0.15)


def test_a_plan_from_a_translated_clock_is_kept_off_from_by_what_is_not_known() -> None:
    table, echo = NeighbourTable("a", ["b"], 0.0, 2.0), Echo(8.0, 0.0)
    table.add_plan(replace(plan(30.0), heard={"a": echo}), 10.0)
    for k in range(30):
        t_s = 10.05 + k * PERIOD_S
        table.add_plan(replace(plan(t_s + 20.0), heard={"a": Echo(t_s - 2.0, 0.0)}), t_s)
    known = table.known(12.0)["b"]  # a round trip of 2 s: the clock may be off by one
    assert known.margin_m == pytest.approx(0.5)
    assert table.skews_s()["b"] == pytest.approx(-21.0, abs=0.06)


# -- whole fleets ---------------------------------------------------------------------------------------------------


def swum(**changes: object) -> tuple[float, float, set[Code]]:
    """Largest distance from its place of anybody after 4 s, smallest distance, issues after 2 s."""
    condition = Condition.model_validate({"name": "clocks", "start": {"radius_m": 0.0}, **changes})
    recording = simulate(RunSpec("circle", "2", condition, 3, duration_s=8.0))
    places = recording.states[:, :, POSITION]
    off_m = np.linalg.norm(places - recording.setpoints_m, axis=2)[recording.times_s > 4.0]
    apart_m = np.linalg.norm(places[:, 0] - places[:, 1], axis=1)
    later = {issue.code for event in recording.events if event.t_s > 2.0 for issue in event.issues}
    return float(off_m.max()), float(apart_m.min()), later


@pytest.mark.parametrize("offsets_s", [(0.5, 0.0), (-100.0, 100.0), (0.0, -2.0)])
def test_a_fleet_whose_clocks_differ_swims_as_one_whose_clocks_agree(offsets_s: tuple[float, float]) -> None:
    usual_m, usual_apart_m, _ = swum()
    off_m, apart_m, issues = swum(clocks={"offsets_s": offsets_s, "drifts_ppm": [100, -100]})
    assert off_m < usual_m + 0.03 and apart_m > usual_apart_m - 0.05
    assert not issues & {Code.STALE_REFERENCE, Code.LOST_CONTACT, Code.STALE_PLAN}


def test_a_reboot_and_an_absurd_stamp_block_nobody() -> None:
    faults = [
        {"vehicle": 0, "kind": "reboot", "from_s": 1.0, "to_s": 1.5},
        {"vehicle": 1, "kind": "absurd_stamp", "from_s": 2.0, "to_s": 2.05},
    ]
    usual_m, usual_apart_m, _ = swum()
    off_m, apart_m, _ = swum(faults=faults)
    assert off_m < usual_m + 0.1 and apart_m > usual_apart_m - 0.2


def test_a_restarted_controller_counts_from_one_and_is_heard() -> None:
    faults = [{"vehicle": 0, "kind": "reboot", "from_s": 0.5, "to_s": 1.0}]
    run = build_run(RunSpec("circle", "2", Condition.model_validate({"name": "reboot", "faults": faults}), 3))
    first, second = run.fleet.names
    before = run.simulator.runtimes[first]
    for k, _ in enumerate(run.simulator.ticks()):
        if k == 40:
            break
    assert run.simulator.runtimes[first] is not before
    known = run.simulator.runtimes[second].neighbours.known(2.0)[first]
    assert known.sequence == 20 or known.sequence == 21  # 1 s of steps
    assert known.stamp_s == pytest.approx(2.0, abs=PERIOD_S)


def test_more_clocks_than_vehicles_are_refused() -> None:
    condition = Condition.model_validate({"name": "clocks", "clocks": {"offsets_s": [0.0, 1.0, 2.0]}})
    with pytest.raises(ShoalError, match=r"clocks.offsets_s has 3 values in a fleet of 2; expected at most 2"):
        build_run(RunSpec("circle", "2", condition))
