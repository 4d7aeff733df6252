"""What is known of the neighbours, and for how long."""

from __future__ import annotations

import numpy as np

from shoal.fleet.neighbour_table import NeighbourTable
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan


def plan(stamp_s: float, x: float = 0.0, sequence: int = 1, name: str = "b") -> Plan:
    return Plan(name, sequence, stamp_s, np.array([stamp_s, stamp_s + 1]), np.full((2, 3), x), np.zeros((2, 3)))


def odometry(stamp_s: float, x: float = 0.0, heading: float = 0.0) -> Odometry:
    q = np.array([np.cos(heading / 2), 0, 0, np.sin(heading / 2)])
    return Odometry.of_parts(stamp_s, np.array([x, 0, 0]), q, np.array([0.5, 0, 0]), np.zeros(3))


def test_newest_by_stamp_whatever_the_sequence() -> None:
    table = NeighbourTable("me", ["b"], 0.5, 2.0)
    table.add_plan(plan(1.0, 1.0, sequence=500), 1.0)
    table.add_plan(plan(1.2, 2.0, sequence=1), 1.2)  # its controller was restarted
    table.add_plan(plan(1.1, 3.0, sequence=501), 1.1)  # overtaken on the way
    assert table.known(1.3)["b"].positions_m[0, 0] == 2.0


def test_strangers_are_not_neighbours() -> None:
    table = NeighbourTable("me", ["b"], 0.5, 2.0)
    table.add_plan(plan(1.0, name="stranger"), 1.0)
    assert table.known(1.0) == {}


def test_odometry_takes_over_when_the_plan_is_old_and_gives_back() -> None:
    table = NeighbourTable("me", ["b"], 0.5, 2.0)
    table.add_plan(plan(1.0, 1.0), 1.0)
    table.add_odometry("b", odometry(1.4, 7.0, heading=np.pi / 2), 1.4)
    assert table.known(1.4)["b"].positions_m[0, 0] == 1.0
    assert table.without_plan(1.4) == []
    taken = table.known(1.6)["b"]
    assert table.without_plan(1.6) == ["b"]
    assert taken.positions_m[0, 0] == 7.0 and not taken.committed
    np.testing.assert_allclose(taken.velocities_mps[0], [0, 0.5, 0], atol=1e-12)  # it swims east
    table.add_plan(plan(1.65, 2.0), 1.65)
    assert table.known(1.7)["b"].positions_m[0, 0] == 2.0


def moving(stamp_s: float, x: float, begins_s: float | None = None) -> Plan:
    """From `x` on, 0.2 m/s; `begins_s`: unless at its stamp."""
    times_s = np.array([0.0, 1.0]) + (stamp_s if begins_s is None else begins_s)
    return Plan("b", 1, stamp_s, times_s, np.array([[x, 0, 0], [x + 0.2, 0, 0]]), np.full((2, 3), [0.2, 0, 0]))


def test_a_moving_one_that_repeats_its_plan_is_silent_until_it_plans_again() -> None:
    table = NeighbourTable("me", ["b"], 0.5, 2.0)
    for t_s in (1.0, 2.0, 3.0, 4.0):
        table.add_plan(moving(t_s, 5.0), t_s)
    assert table.repeating() == ["b"] and table.known(4.0)["b"].stamp_s == 1.0
    assert table.lost(4.0) == {"b": 3.0} and [h.vehicle for h in table.hazards(4.0)] == ["b"]
    table.add_plan(moving(4.1, 5.6), 4.1)
    assert table.repeating() == [] and table.known(4.1)["b"].stamp_s == 4.1 and table.lost(4.2) == {}


def test_who_stands_still_or_follows_an_old_plan_repeats_nothing() -> None:
    for second in (plan(2.0, 1.0), moving(2.0, 5.0, begins_s=1.0)):
        table = NeighbourTable("me", ["b"], 0.5, 2.0)
        table.add_plan(plan(1.0, 1.0) if second.positions_m[0, 0] == 1.0 else moving(1.0, 5.0), 1.0)
        table.add_plan(second, 2.0)
        assert table.repeating() == [] and table.known(2.0)["b"].stamp_s == 2.0


def test_no_fallback_when_it_is_off() -> None:
    table = NeighbourTable("me", ["b"], 0.0, 2.0)
    table.add_plan(plan(1.0, 1.0), 1.0)
    table.add_odometry("b", odometry(9.0, 7.0), 9.0)
    assert table.known(9.0)["b"].positions_m[0, 0] == 1.0


def test_lost_after_silence_also_for_who_never_sent_a_plan() -> None:
    table = NeighbourTable("me", ["b", "c"], 0.5, 2.0)
    table.known(10.0)  # we begin here
    table.add_plan(plan(11.0), 11.0)
    assert table.lost(11.9) == {}
    assert table.lost(12.5) == {"c": 2.5}
    assert table.lost(13.5) == {"b": 2.5, "c": 3.5}
    table.add_plan(plan(13.6), 13.6)
    assert list(table.lost(13.7)) == ["c"]


def test_bad_numbers_do_not_replace_good_ones() -> None:
    table = NeighbourTable("me", ["b"], 0.5, 2.0)
    table.add_odometry("b", odometry(1.0, 1.0), 1.0)
    table.add_odometry("b", odometry(1.1, float("nan")), 1.1)
    table.add_odometry("b", odometry(0.9, 5.0), 0.9)
    assert table.known(1.2)["b"].positions_m[0, 0] == 1.0


def test_after_the_clock_went_back_nothing_from_the_future_stays() -> None:
    table = NeighbourTable("me", ["b"], 0.5, 2.0)
    table.add_plan(plan(100.0), 100.0)
    table.clear()
    table.add_plan(plan(100.1), 0.1)  # was on its way
    assert table.known(0.1) == {}
    table.add_plan(plan(0.2, 3.0), 0.2)
    assert table.known(0.3)["b"].positions_m[0, 0] == 3.0
