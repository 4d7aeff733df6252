"""What is seen of a neighbour beside what its plan says: drifting navigations, wrong plans, and the silent."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.estimation.relative_position import DISAGREE_M, RelativePosition
from shoal.fleet.neighbour_table import GONE_LOOKS, NeighbourTable
from shoal.frames import from_yaw
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.health import Code
from shoal.messages.plan import Plan
from shoal.messages.scan import Scan
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import Condition, RelativeSensor
from shoal.simulation.relative_sensor import RelativeSensors
from shoal.tasks.run import RunSpec, simulate

LOOK_S = 0.2
NAMES = ("a", "b")


def states(b_m: tuple[float, float, float], yaw_rad: float = 0.0) -> np.ndarray:
    """Of a, at the origin, and b."""
    both = np.array([State.at_rest((0.0, 0.0, 0.0)).array, State.at_rest(b_m).array])
    both[0, ATTITUDE] = from_yaw(yaw_rad)
    return both


# -- the sensor -----------------------------------------------------------------------------------------------------


def looks(settings: RelativeSensor, where: np.ndarray, count: int, seed: int = 0) -> list[Scan]:
    sensors = RelativeSensors(settings, NAMES, np.random.default_rng(seed))
    return [sensors.scans(k * LOOK_S, where)["a"] for k in range(count)]


def test_noise_is_in_range_and_bearing_as_the_condition_has_it() -> None:
    settings = RelativeSensor(enabled=True, bearing_std_deg=2.0, range_std_m=0.1, range_share=0.02, dropout=0.25)
    where = states((0.0, 5.0, 0.0), yaw_rad=np.pi / 2 - 0.3)
    found = [s.seen_m["b"] for s in looks(settings, where, 4000) if "b" in s.seen_m]
    assert len(found) / 4000 == pytest.approx(0.75, abs=0.03)
    ranges = np.linalg.norm(found, axis=1)
    assert ranges.std() == pytest.approx(np.hypot(0.1, 0.1), rel=0.06) and ranges.mean() == pytest.approx(5.0, abs=0.02)
    bearings = np.degrees(np.arctan2(np.array(found)[:, 1], np.array(found)[:, 0]))
    assert bearings.mean() == pytest.approx(np.degrees(0.3), abs=0.15)
    assert bearings.std() == pytest.approx(2.0, rel=0.06)


@pytest.mark.parametrize(
    ("b_m", "seen"), [((5.0, 0.0, 0.0), True), ((-5.0, 0.0, 0.0), False), ((2.0, 4.0, 0.0), False), ((9, 0, 0), False)]
)
def test_only_whoever_is_in_the_cone_and_near_enough_is_seen(b_m: tuple[float, float, float], seen: bool) -> None:
    settings = RelativeSensor(enabled=True, dropout=0.0, range_m=8.0)
    where = states(b_m)
    angle_deg, range_m = sight_angle_deg(where[0], where[1, POSITION]), float(np.linalg.norm(b_m))
    assert (angle_deg <= 60 and range_m <= 8) is seen
    assert ("b" in looks(settings, where, 1)[0].seen_m) is seen


def test_who_is_seen_does_not_change_the_noise_of_later_looks() -> None:
    settings, sensors = RelativeSensor(enabled=True, dropout=0.0), []
    for first in (states((5.0, 0.0, 0.0)), states((-5.0, 0.0, 0.0))):
        made = RelativeSensors(settings, NAMES, np.random.default_rng(1))
        made.scans(0.0, first)
        sensors.append(made.scans(LOOK_S, states((4.0, 0.0, 0.0)))["a"].seen_m["b"])
    np.testing.assert_array_equal(*sensors)


# -- the filter -----------------------------------------------------------------------------------------------------


def test_a_constant_difference_is_found_through_the_noise_and_an_outlier_is_not_believed() -> None:
    rng, found = np.random.default_rng(0), RelativePosition()
    truth = np.array([0.6, -0.3, 0.1])
    for k in range(100):
        found.see(k * LOOK_S, truth + rng.normal(0, 0.1, 3), np.zeros(3))
    assert found.bias_m is not None and np.linalg.norm(found.bias_m - truth) < 0.1
    before = found.bias_m.copy()
    found.see(20.0, np.array([9.0, 9.0, 9.0]), np.zeros(3))
    np.testing.assert_array_equal(found.bias_m, before)
    assert found.disagreement_m == 0.0


def test_a_difference_that_jumps_is_followed_within_three_looks_and_doubted() -> None:
    found = RelativePosition()
    for k in range(20):
        found.see(k * LOOK_S, np.zeros(3), np.zeros(3))
    for k in range(20, 23):
        assert found.disagreement_m == 0.0
        found.see(k * LOOK_S, np.array([2.0, 0.0, 0.0]), np.zeros(3))
    assert found.disagreement_m == pytest.approx(2.0) and found.disagreement_m > DISAGREE_M
    assert found.margin_m(23 * LOOK_S) > 0.1  # and kept off from further for a while


# -- the table ------------------------------------------------------------------------------------------------------


def standing(t_s: float, x_m: float) -> Plan:
    return Plan("b", 1, t_s, np.array([t_s]), np.array([[x_m, 0.0, 0.0]]), np.zeros((1, 3)))


def table_of(seconds: float, planned_m: float, seen_m: float | None) -> NeighbourTable:
    """a at the origin, looking north; b's plan has it at one place, and it is seen at another."""
    table = NeighbourTable("a", ["b"], 0.0, 2.0)
    for k in range(round(seconds / LOOK_S)):
        table.add_plan(standing(k * LOOK_S, planned_m), k * LOOK_S)
        table.see(Scan(k * LOOK_S, {} if seen_m is None else {"b": np.array([seen_m, 0.0, 0.0])}), states((0, 0, 0))[0])
    return table


def test_a_plan_is_shifted_to_where_its_vehicle_is_seen() -> None:
    table = table_of(4.0, 5.0, 4.6)
    assert table.known(3.8)["b"].positions_m[0, 0] == pytest.approx(4.6)
    assert table.known(3.8)["b"].committed and table.doubted() == {}


def test_a_plan_that_is_doubted_is_not_used_while_its_vehicle_is_seen() -> None:
    table = table_of(4.0, 5.0, 3.0)
    assert table.known(3.8)["b"].positions_m[0, 0] == pytest.approx(3.0)
    assert not table.known(3.8)["b"].committed and table.without_plan(3.8) == ["b"]
    assert table.doubted() == {"b": pytest.approx(2.0)}


def test_a_silent_one_is_where_it_is_seen_and_no_longer_where_it_was_heard() -> None:
    table, own = table_of(2.0, 5.0, 5.0), states((0, 0, 0))[0]
    for k in range(10, 60):
        table.see(Scan(k * LOOK_S, {"b": np.array([5.0 - 0.02 * (k - 10), 1.0, 0.0])}), own)
    t_s = 60 * LOOK_S
    assert table.known(t_s)["b"].positions_m[0] == pytest.approx([4.02, 1.0, 0.0])
    assert "b" in table.without_plan(t_s)  # it is not assumed to swim to its place
    (hazard,) = table.hazards(t_s + 3.0)
    assert hazard.place_m == pytest.approx([4.02, 1.0, 0.0])


@pytest.mark.parametrize(("place_m", "gone"), [(5.0, True), (-5.0, False), (12.0, False)])
def test_a_place_looked_at_again_and_again_where_nobody_is_has_nobody(place_m: float, gone: bool) -> None:
    """Behind our back, or too far away, nobody is proved to be gone."""
    table, own = table_of(1.0, place_m, None), states((0, 0, 0))[0]
    for k in range(20, 20 + GONE_LOOKS):
        assert table.hazards(k * LOOK_S) != ()
        table.see(Scan(k * LOOK_S, {}), own)
    assert (table.hazards(100.0) == ()) is gone


# -- whole fleets ---------------------------------------------------------------------------------------------------


def swum(seed: int, seconds: float, enabled: bool, **changes: object) -> Recording:
    sensors = {"position_drift_mps": changes.pop("drift", 0.0), "relative": {"enabled": enabled}}
    condition = Condition.model_validate({"name": "seen", "sensors": sensors, **changes})
    return simulate(RunSpec("circle", "fosso2023_two", condition, seed, duration_s=seconds))


def limits(recording: Recording) -> tuple[float, float]:
    """Smallest distance and largest sight angle, of the truth."""
    places = recording.states[:, :, POSITION]
    angles = [sight_angle_deg(s[i], s[j, POSITION]) for s in recording.states[::4] for i, j in recording.must_see]
    return float(np.linalg.norm(places[:, 0] - places[:, 1], axis=1).min()), max(angles)


def test_drifting_navigation_brings_nobody_together_who_can_see() -> None:
    """Both drift by 4 cm a second, each its own way; with sight the distance stays what it is without drift."""
    blind_m, _ = limits(swum(1, 30.0, False, drift=0.04))
    seeing_m, seeing_deg = limits(swum(1, 30.0, True, drift=0.04))
    assert blind_m < 1.6 and seeing_m > 1.9 and seeing_deg < 30


def reported(recording: Recording) -> set[tuple[Code, str]]:
    return {(i.code, i.subject) for e in recording.events for i in e.issues}


def test_plans_that_are_off_are_doubted_and_the_vehicle_is_kept_in_sight() -> None:
    faults = [{"vehicle": 1, "kind": "plans_offset", "from_s": 3.0, "offset_m": [1.2, -1.6, 0.0]}]
    _, blind_deg = limits(swum(0, 20.0, False, faults=faults))
    seeing = swum(0, 20.0, True, faults=faults)
    assert limits(seeing)[1] < min(20.0, 0.7 * blind_deg)
    assert (Code.PLAN_DOUBTED, seeing.names[1]) in reported(seeing)


def test_frozen_plans_are_no_plans_and_the_vehicle_is_kept_in_sight_unseen() -> None:
    """Its radio repeats an old plan under fresh stamps; it swims on, and is looked for at its place."""
    recording = swum(0, 20.0, False, faults=[{"vehicle": 1, "kind": "plans_frozen", "from_s": 3.0}])
    closest_m, sight_deg = limits(recording)
    assert sight_deg < 25.0 and closest_m > 1.5
    assert {(Code.PLAN_REPEATED, recording.names[1]), (Code.LOST_CONTACT, recording.names[1])} <= reported(recording)
