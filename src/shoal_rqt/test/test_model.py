"""What the station knows: updates in, state, ages and verdicts out. Neither Qt nor ROS."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopState
from shoal.guidance.path_file import load_path
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.health import Severity
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION
from shoal_ros.local_fleets import running_domains
from shoal_rqt import updates
from shoal_rqt.model import FleetModel
from shoal_rqt.requests import ParameterInfo
from shoal_rqt.trail import Trail
from shoal_rqt.update_queue import MAX_EVENTS, UpdateQueue
from shoal_rqt.water import Water
from shoal_rqt.waypoint_list import Mark, WaypointList


def odometry(north: float = 0.0, east: float = 0.0, heading_deg: float = 0.0, t_s: float = 1.0) -> Odometry:
    half = np.radians(heading_deg) / 2
    return Odometry.of_parts(t_s, np.array([north, east, 5.0]), np.array([np.cos(half), 0, 0, np.sin(half)]),
                    np.array([0.3, 0.4, 0.0]), np.zeros(3))  # fmt: skip


def pair(distance_m: float = 2.2, heading_deg: float = 0.0) -> FleetModel:
    """rov1 at the origin looks north to rov2, which looks back."""
    model = FleetModel(load_fleet("two"))
    names = ("rov1", "rov2")
    placement = Placement({name: np.zeros(3) for name in names}, 1.0, None, 0.0, names, (names, names[::-1]))
    model.apply(updates.FormationUpdate(placement), 0.0)
    model.apply(updates.OdometryUpdate("rov1", odometry(heading_deg=heading_deg)), 0.0)
    model.apply(updates.OdometryUpdate("rov2", odometry(north=distance_m, heading_deg=180.0)), 0.0)
    return model


# -- the queue of updates ---------------------------------------------------------------------------------------


def test_states_are_replaced_and_events_are_kept() -> None:
    box = UpdateQueue()
    for t in range(5):
        box.put(updates.ClockUpdate(float(t)))
        box.put(updates.EventUpdate(0, str(t)))
        box.put(updates.ModeUpdate("hold"))
    drained = box.drain()
    assert [n.t_s for n in drained if isinstance(n, updates.ClockUpdate)] == [4.0]
    assert [n.text for n in drained if isinstance(n, updates.EventUpdate)] == ["0", "1", "2", "3", "4"]
    assert box.drain() == []


def test_a_window_that_sleeps_costs_no_memory() -> None:
    box = UpdateQueue()
    for t in range(10 * MAX_EVENTS):
        box.put(updates.OdometryUpdate(f"rov{t % 3}", odometry(t_s=t)))
        box.put(updates.EventUpdate(0, str(t)))
    assert len(box.drain()) == MAX_EVENTS + 3


def test_threads_may_fill_it_while_it_is_emptied() -> None:
    box, taken = UpdateQueue(), []
    threads = [
        threading.Thread(target=lambda: [box.put(updates.EventUpdate(0, "x")) for _ in range(100)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += box.drain()
    assert len(taken + box.drain()) == 400


# -- the fleet --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance_m", "heading_deg", "angle", "distance"),
    [
        (2.2, 0.0, Severity.OK, Severity.OK),
        (2.2, 40.0, Severity.WARNING, Severity.OK),
        (2.2, -61.0, Severity.ERROR, Severity.OK),
        (1.0, 0.0, Severity.OK, Severity.WARNING),
        (0.7, 0.0, Severity.OK, Severity.ERROR),
    ],
)
def test_limits(distance_m: float, heading_deg: float, angle: Severity, distance: Severity) -> None:
    view = pair(distance_m, heading_deg).neighbour("rov1", "rov2", 0.1)
    assert (view.sight_severity, view.distance_severity) == (angle, distance)
    assert view.violates_hard_limit == (Severity.ERROR in (angle, distance))
    assert view.angle_deg == pytest.approx(abs(heading_deg)) and view.distance_m == pytest.approx(distance_m)


def test_angles_are_those_of_the_reports() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        a, b = rng.normal(size=(2, 13))
        a[ATTITUDE] /= np.linalg.norm(a[ATTITUDE])
        model = FleetModel()
        for name, state in (("a", a), ("b", b)):
            model.apply(updates.OdometryUpdate(name, Odometry(0.0, state)), 0.0)
        view = model.neighbour("a", "b", 0.0)
        assert view.angle_deg == pytest.approx(float(fov_angles_deg(np.stack([a, b])[None], ((0, 1),))[0, 0]), abs=1e-6)
        assert view.distance_m == pytest.approx(float(np.linalg.norm(a[POSITION] - b[POSITION])))


def test_an_angle_matters_only_to_a_vehicle_that_must_see() -> None:
    model = pair(heading_deg=170.0)
    model.sight_pairs = (("rov2", "rov1"),)
    assert not model.neighbour("rov1", "rov2", 0.1).violates_hard_limit


def test_the_vehicles_own_report_is_used_while_it_is_fresh() -> None:
    model = pair()
    model.apply(updates.SightUpdate("rov1", "rov2", 75.0, None), 0.0)
    fresh, old = model.neighbour("rov1", "rov2", 0.5), model.neighbour("rov1", "rov2", 1.5)
    assert fresh.angle_deg == 75.0 and fresh.distance_m == pytest.approx(2.2) and fresh.violates_hard_limit
    assert old.angle_deg == pytest.approx(0.0)


def test_a_lost_vehicle_is_reported_once_and_so_is_its_return() -> None:
    model = pair()
    for wall_s in (1.0, 2.5, 3.0):
        model.apply(updates.OdometryUpdate("rov1", odometry()), wall_s)
        model.check(wall_s)
    assert [e.text for e in model.events] == ["rov2 is lost: no odometry"]
    assert model.vehicles["rov2"].status_line(9.0) == (2, "LOST: no odometry for 9 s")
    assert model.neighbour("rov1", "rov2", 3.0).distance_m is None
    model.apply(updates.OdometryUpdate("rov2", odometry(north=2.2)), 4.0)
    assert model.events[-1].text == "rov2 is back"


def test_the_reason_for_a_fallback_is_shown_with_its_figures() -> None:
    model = pair()
    why = "odometry is 0.61 s old"
    values = {"mode": "station_keeping", "reason": why, "solve_ms": "3.4"}
    message = "keeping station: odometry is stale"
    model.apply(updates.DiagnosticUpdate("shoal: rov1 controller", "rov1", 1, message, values), 0.1)
    vehicle = model.vehicles["rov1"]
    assert vehicle.status_line(0.2) == (1, f"keeping station: {why}")
    assert vehicle.status is not None and vehicle.status.number("solve_ms") == 3.4
    model.apply(updates.OdometryUpdate("rov1", odometry()), 20.0)
    assert vehicle.status_line(20.0) == (2, "controller silent for 20 s")


def test_a_message_that_is_not_a_number_counts_as_silence() -> None:
    model = pair()
    bad = replace(odometry(), state=np.full(13, np.nan))
    model.apply(updates.OdometryUpdate("rov1", bad), 5.0)
    assert model.vehicles["rov1"].received_s == 0.0


def test_ages_are_in_the_fleets_time() -> None:
    model = pair()
    model.apply(updates.ClockUpdate(10.0), 0.0)
    plan = Plan("rov1", 1, 9.6, np.array([9.6]), np.zeros((1, 3)), np.zeros((1, 3)))
    model.apply(updates.PlanUpdate("rov1", plan), 0.0)
    assert model.plan_age_s("rov1", 0.1) == pytest.approx(0.4)
    assert model.clock_has_stopped(3.0) and model.plan_age_s("rov1", 3.0) == pytest.approx(3.0)


def test_a_clock_that_goes_back_is_a_new_run() -> None:
    model = pair()
    model.apply(updates.ClockUpdate(10.0), 0.0)
    model.apply(updates.ClockUpdate(0.0), 0.1)
    assert len(model.vehicles["rov1"].trail.points_m) == 0 and "new run" in model.events[-1].text


def test_vehicles_come_in_the_files_order_and_strangers_behind() -> None:
    model = FleetModel()
    for name in ("zulu", "rov10", "rov2"):
        model.vehicle(name)
    model.apply(updates.ParametersUpdate("/guidance", {"fleet": "two"}), 0.0)
    assert list(model.vehicles) == ["rov1", "rov2", "zulu", "rov10"]
    model.apply(updates.ParametersUpdate("/rov1/mpc", {"limits.sight_hard_deg": 50.0}), 0.0)
    assert model.limits.sight_hard_deg == 50.0 and model.limits.sight_soft_deg == 30.0


def test_attitude_speed_and_saturation() -> None:
    model = pair(heading_deg=-90.0)
    vehicle = model.vehicles["rov1"]
    assert vehicle.euler_deg == pytest.approx([0.0, 0.0, 270.0]) and vehicle.speed_mps == pytest.approx(0.5)
    model.apply(updates.ThrustUpdate("rov1", np.array([39.9, -51.4, 38.0, 0, 0, 0, 0, np.nan])), 0.0)
    assert vehicle.saturated.tolist() == [True, True] + [False] * 6


@pytest.mark.parametrize("thrusters", [0, 1, 6, 12])
def test_any_number_of_thrusters(thrusters: int) -> None:
    """Of a vehicle that is in no fleet file: nothing is known of its limits."""
    model = FleetModel()
    vehicle = model.vehicle("boat")
    model.apply(updates.ThrustUpdate("boat", np.linspace(-40.0, 20.0, thrusters)), 0.0)
    assert len(vehicle.thrust_share) == thrusters and not vehicle.saturated.any()
    assert np.all(np.abs(vehicle.thrust_share) <= 1.0)


def test_each_thruster_has_its_own_limits_forward_and_reverse() -> None:
    vehicle = FleetModel().vehicle("boat")
    vehicle.thrust_limits_N = np.array([-10.0, -40.0, -10.0]), np.array([20.0, 50.0, 20.0])
    vehicle.thrust_N = np.array([-10.0, 20.0, 15.0])
    assert vehicle.thrust_share == pytest.approx([-1.0, 0.4, 0.75])
    assert vehicle.saturated.tolist() == [True, False, False]


# -- STOP -------------------------------------------------------------------------------------------------------

STOP_3, RELEASED_4 = StopState(3, True, "/fleet/stop"), StopState(4, False, "/fleet/release")


def test_a_new_station_shows_the_stop_that_the_fleet_reports() -> None:
    model = pair()
    assert not model.stopped and model.stop.releasable is None and model.stop.sentence() == ""
    model.apply(updates.StopUpdate("/rov1/mpc", STOP_3), 0.0)
    assert model.stopped and model.stop.releasable == 3 and model.stop.refusal
    assert model.stop.sentence() == "STOP 3 by /fleet/stop"
    assert model.events[-1].level == 2 and model.events[-1].text.startswith("STOP 3 by /fleet/stop")


def test_holders_that_disagree_are_named() -> None:
    model = pair()
    for holder in ("/rov1/mpc", "/rov2/mpc"):
        model.apply(updates.StopUpdate(holder, StopState(2)), 0.0)
    model.apply(updates.StopUpdate("/rov1/mpc", STOP_3), 0.1)
    assert model.stopped and "not stopped yet: /rov2/mpc" in model.stop.sentence()
    model.apply(updates.StopUpdate("/rov2/mpc", STOP_3), 0.2)
    assert model.stop.sentence() == "STOP 3 by /fleet/stop"
    model.apply(updates.StopUpdate("/rov1/mpc", RELEASED_4), 0.3)
    assert not model.stopped and model.stop.releasable == 3  # what rov2 has to be given once more
    assert model.stop.sentence() == "released, but still stopped: /rov2/mpc"
    model.apply(updates.StopUpdate("/rov2/mpc", RELEASED_4), 0.4)
    assert model.stop.sentence() == "" and model.stop.releasable is None


def test_a_stop_that_nobody_confirms_is_shown_as_such() -> None:
    model = pair()
    model.apply(updates.StopUpdate("/rov1/mpc", StopState(2)), 0.0)
    model.apply(updates.StopRequestUpdate(True), 0.0)
    assert "not confirmed" in model.stop.sentence() and model.stop.refusal and not model.stopped
    model.apply(updates.StopUpdate("/rov1/mpc", STOP_3), 0.1)
    assert not model.stop.requested and model.stopped


def test_a_stop_does_not_end_because_its_holders_are_gone() -> None:
    """A restarted node reports anew; nodes of the next run replace those of the last."""
    model = pair()
    both = frozenset({"/rov1/mpc", "/rov2/mpc"})
    model.apply(updates.StopUpdate("/rov1/mpc", STOP_3), 0.0)  # before its node is found
    model.apply(updates.GraphUpdate((), both, False), 0.1)
    assert model.stopped
    model.apply(updates.GraphUpdate((), frozenset(), False), 0.2)
    assert model.stopped and model.stop.releasable == 3
    model.apply(updates.StopUpdate("/rov1/mpc", StopState()), 0.3)
    assert not model.stopped


def test_updates_of_different_keys_keep_their_order() -> None:
    box, model = UpdateQueue(), pair()
    box.put(updates.StopUpdate("/rov1/mpc", StopState(2)))
    box.put(updates.StopRequestUpdate(True))
    box.put(updates.StopUpdate("/rov1/mpc", STOP_3))
    for item in box.drain():
        model.apply(item, 0.0)
    assert not model.stop.requested


# -- tests and their verdict ------------------------------------------------------------------------------------


def run_test(model: FleetModel, last_s: float, after: str) -> None:
    status: dict[str, Any] = {"test": "circle", "index": 0, "round": 1, "duration_s": 10.0, "state": "running"}
    for t_s in (0.0, last_s):
        model.apply(updates.TestUpdate(status | {"t_s": t_s}), 0.1)
        model.check(0.1)
    model.apply(updates.TestUpdate(status | {"state": after, "t_s": 0.0}), 0.1)
    model.check(0.1)
    model.check(0.1)


@pytest.mark.parametrize(
    ("heading_deg", "last_s", "after", "words"),
    [
        (10.0, 9.9, "done", "circle: passed. Largest angle 10° (rov1 → rov2), smallest distance 2.20 m"),
        (70.0, 9.9, "done", "circle: FAILED. Lost sight: largest angle 70°"),
        (10.0, 4.0, "idle", "circle: aborted"),
    ],
)
def test_a_test_gets_one_verdict(heading_deg: float, last_s: float, after: str, words: str) -> None:
    model = pair(heading_deg=heading_deg)
    run_test(model, last_s, after)
    assert [v.sentence().startswith(words) for v in model.verdicts] == [True], model.verdicts[0].sentence()
    assert model.verdicts[0].passed == ("passed" in words)


# -- waypoints --------------------------------------------------------------------------------------------------


def test_waypoints_travel_through_a_file(tmp_path: Path) -> None:
    drawn, seen = WaypointList(), []
    drawn.watchers.append(lambda: seen.append(len(drawn.marks)))
    drawn.add((1.0, 2.0, 5.0), 0.25)
    drawn.add((4.001, 2.0, 6.0))
    drawn.add((4.0, 6.0, 6.0), 0.1)
    assert drawn.marks[1] == Mark((4.0, 2.0, 6.0), 0.25)  # to the centimetre, as fast as the one before
    drawn.save(tmp_path / "mine.yaml")
    read = WaypointList()
    read.load(tmp_path / "mine.yaml")
    assert read.marks == drawn.marks and seen == [1, 2, 3]
    assert np.allclose(load_path(str(tmp_path / "mine.yaml")).position(0.0), [1.0, 2.0, 5.0])


def test_waypoints_that_make_no_path_are_refused(tmp_path: Path) -> None:
    drawn = WaypointList()
    assert drawn.problem() == "no waypoints"
    drawn.add((0.0, 0.0, 5.0))
    with pytest.raises(ShoalError, match="one waypoint"):
        drawn.save(tmp_path / "x.yaml")
    drawn.add((0.0, 0.0, 5.0))
    assert drawn.problem() == "waypoints 1 and 2 are the same place"
    (tmp_path / "broken.yaml").write_text("version: 1\nspeed_mps: fast\nwaypoints: []\n")
    with pytest.raises(ShoalError, match=r"broken\.yaml"):
        drawn.load(tmp_path / "broken.yaml")


def test_changes_are_unsent_until_sent() -> None:
    drawn = WaypointList()
    drawn.add((0.0, 0.0, 5.0))
    drawn.add((1.0, 0.0, 5.0))
    drawn.mark_sent()
    assert not drawn.unsent
    assert drawn.swap(0, 1) == 1 and drawn.unsent
    assert drawn.swap(1, 1) == 1  # there is no later place
    drawn.remove(0)
    drawn.clear()
    assert drawn.marks == ()


# -- the rest ---------------------------------------------------------------------------------------------------


def test_a_trail_stays_small_and_keeps_its_ends() -> None:
    trail = Trail(step_m=0.1, most=200)
    for x in np.arange(0.0, 300.0, 0.11):
        trail.add(np.array([x, 0.0, 5.0]))
    points = trail.points_m
    assert len(points) <= 200 and points[0, 0] == 0.0 and points[-1, 0] > 299.0
    assert np.all(np.diff(points[:, 0]) > 0)
    trail.add(np.array([0.0, 50.0, 5.0]))  # a leap: the fleet was put somewhere else
    assert len(trail.points_m) == 1


def test_waves_on_a_current() -> None:
    water = Water((0.2, 0.0, 0.0), (0.1, 0.0, 0.05), 8.0)
    assert water.moving and water.velocity(2.0) == pytest.approx([0.3, 0.0, 0.05])
    assert Water(waves_mps=(0.1, 0, 0), period_s=8.0, shape="square").velocity(5.0) == pytest.approx([-0.1, 0, 0])
    assert not Water((0.2, 0.0, 0.0)).moving
    assert "at most 5" in Water((4.0, 0.0, 0.0), (3.0, 0.0, 0.0)).problem()


@pytest.mark.parametrize(
    ("name", "description", "unit"),
    [
        ("limits.distance_soft_m", "", "m"),
        ("weights.position_xy", "1/m², horizontal position", "1/m²"),
        ("weights.velocity", "s²/m², against the reference's velocity", "s²/m²"),
        ("weights.attitude", "on ‖ε̃‖² = 1", ""),
        ("acceleration_limit_mps2", "m/s², of the setpoint", "m/s²"),
        ("penalties.distance_soft", "1/m", "1/m"),
        ("rate_hz", "Hz of ROS time", "Hz"),
    ],
)
def test_units(name: str, description: str, unit: str) -> None:
    assert ParameterInfo(name, 1.0, description).unit == unit


def test_ranges() -> None:
    assert ParameterInfo("x", 1.0, low=0.0, high=1000.0).range_text == "0 … 1000"
    assert ParameterInfo("x", 1.0, low=0.0).range_text == "0 … "
    assert ParameterInfo("x", 1.0).range_text == ""


def test_running_fleets_are_found(tmp_path: Path) -> None:
    table = tmp_path / "unix"
    table.write_text("Num RefCount\n0000: 2 0 0 2 1 7 @shoal-ros-domain-42\n0001: 2 0 0 2 1 8 @other\n")
    assert running_domains(table) == [42]
    assert running_domains(tmp_path / "nothing") == []
