"""A neighbour that fell silent is kept clear of where it was last known, until it is known to be elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.fleet.hazards import hazard_of
from shoal.fleet.neighbour_table import NeighbourTable
from shoal.fleet.neighbours import NeighbourSettings, PlanForecast
from shoal.messages.health import Code
from shoal.messages.plan import Plan
from shoal.messages.state import POSITION
from shoal.simulation.conditions import Condition
from shoal.tasks.run import RunSpec, simulate
from swim import NAME, OTHER, PERIOD_S, STARTS_M, Swim, codes

HARD_M = 0.75
OWN_M = np.array([0.0, 3.0, 5.0])


def standing(t_s: float, place_m: np.ndarray, name: str = OTHER) -> Plan:
    return Plan(name, 1, t_s, np.array([t_s]), place_m[None].copy(), np.zeros((1, 3)))


def test_silence_is_counted_from_the_last_arrival_and_not_by_stamps() -> None:
    """10 s of delay are no silence, and who is heard again is no hazard any more."""
    table = NeighbourTable("a", ["b"], 0.0, 2.0)
    for k in range(60):
        t_s = 10.0 + k * PERIOD_S
        table.add_plan(standing(t_s - 10.0, np.zeros(3), "b"), t_s)
        assert table.hazards(t_s) == ()
    (found,) = table.hazards(1000.0)  # however long ago
    assert found.vehicle == "b" and found.since_s == pytest.approx(12.95)
    table.add_plan(standing(1000.0, np.ones(3), "b"), 1010.0)
    assert table.hazards(1010.1) == ()
    table.forget("b")
    assert table.hazards(2000.0) == () and table.known(2000.0) == {}


def test_it_may_be_anywhere_between_beginning_and_end_of_its_plan_and_drifts_from_there() -> None:
    times = np.array([5.0, 6.0, 7.0])
    plan = Plan("b", 1, 5.0, times, np.array([[0.0, 0, 5], [0.4, 0, 5], [0.8, 0, 5]]), np.full((3, 3), 0.4))
    settings = NeighbourSettings()
    hazard = hazard_of(plan, 5.0)
    known = PlanForecast([], 25.0, {}, settings, [hazard], OWN_M).at(np.array([25.0, 27.0]))
    assert known.names == ("b (last seen)",)
    np.testing.assert_allclose(known.positions_m[0], [[0.4, 0, 5]] * 2)
    assert known.margins_m[0] == pytest.approx(0.4 + 20 * settings.hazard_growth_mps)
    later = PlanForecast([], 1e4, {}, settings, [hazard], OWN_M).at(np.array([1e4]))
    assert later.margins_m[0] == pytest.approx(0.4 + settings.hazard_max_m)


def test_the_water_above_it_is_kept_clear_since_a_dead_vehicle_floats_up() -> None:
    hazard = hazard_of(standing(5.0, np.array([0.0, 0.0, 5.0])), 5.0)
    rise_mps = NeighbourSettings().hazard_rise_mps
    assert hazard.nearest_m(np.array([0.0, 1.0, 3.0]), 7.0, rise_mps)[2] == pytest.approx(5.0 - 2 * rise_mps)
    assert hazard.nearest_m(np.array([0.0, 1.0, 3.0]), 100.0, rise_mps)[2] == 3.0  # at our own depth
    assert hazard.nearest_m(np.array([0.0, 1.0, 9.0]), 100.0, rise_mps)[2] == 5.0  # it does not sink
    assert hazard.nearest_m(np.array([0.0, 1.0, -1.0]), 100.0, rise_mps)[2] == 0.0  # nor fly


def passed(swim: Swim, seconds: float) -> tuple[float, float]:
    """Smallest distance from where the other was, and how far beyond it we are at the end; 0.3 m/s to the east."""
    nearest_m = np.inf
    for _ in range(round(seconds / PERIOD_S)):
        swim.run(PERIOD_S, velocity_mps=(0.0, 0.3, 0.0), plans=False)
        nearest_m = min(nearest_m, float(np.linalg.norm(swim.state.position_m - STARTS_M[OTHER])))
    return nearest_m, float(swim.state.position_m[1] - STARTS_M[OTHER][1])


def test_nobody_swims_through_a_silent_neighbour_and_the_path_goes_on_behind_it() -> None:
    swim = Swim()
    swim.run(1.0)
    nearest_m, _ = passed(swim, 5.0)
    assert swim.runtime.last is not None and Code.HAZARD in codes(swim.runtime.last.health)
    later_m, beyond_m = passed(swim, 15.0)
    assert min(nearest_m, later_m) > 1.5 * HARD_M and beyond_m > 1.5


def test_forgotten_by_order_it_is_swum_through() -> None:
    swim = Swim()
    swim.run(1.0)
    swim.runtime.on_forget(OTHER)
    nearest_m, beyond_m = passed(swim, 15.0)
    assert nearest_m < 0.3 and beyond_m > 1.5
    assert swim.runtime.last is not None and Code.HAZARD not in codes(swim.runtime.last.health)


def test_a_dead_and_silent_vehicle_in_the_way_is_not_rammed() -> None:
    """It lies where the other's place comes along half a minute later; once it was rammed."""
    faults = [{"vehicle": 1, "kind": kind, "from_s": 12.0} for kind in ("radio_silent", "frozen")]
    condition = Condition.model_validate({"name": "dead", "faults": faults})
    recording = simulate(RunSpec("line", "2", condition, 0, duration_s=34.0))
    places = recording.states[:, :, POSITION]
    assert np.linalg.norm(places[:, 0] - places[:, 1], axis=1).min() > 1.5 * HARD_M
    crossed = np.linalg.norm(recording.setpoints_m[:, 0] - places[:, 1], axis=1).min()
    assert crossed < HARD_M  # where its path goes
    assert recording.names[0] == NAME and places[-1, 0, 0] > places[-1, 1, 0] + 1.0  # and it went round
