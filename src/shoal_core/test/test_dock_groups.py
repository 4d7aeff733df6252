"""Docking beyond two: a group that leads, a chain of three, a place kept in view meanwhile, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.assembly.composite import compose
from shoal.assembly.joints import Assembly, Joint
from shoal.docking.part import DockingPart
from shoal.docking.partner import FRESH_S, PartnerTrack
from shoal.docking.phases import DockingPhases, DockingSettings, Phase, Seen
from shoal.docking.pilot import WATCHED, FollowerPilot, LeaderPilot
from shoal.docking.side import Side, side_of
from shoal.errors import ShoalError
from shoal.frames import from_euler, from_yaw, matrix, multiply
from shoal.messages.directive import Directive
from shoal.messages.docking import DockingOrder
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.relative_pose import FiducialPose
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.recordings.docking_json import order_from_json, order_to_json
from shoal.simulation.conditions import Condition
from shoal.tasks.run import RunSpec, build_run
from shoal.vehicles.description import load_vehicle

Array = NDArray[np.float64]
ROV = load_vehicle("bluerov2_heavy")
BOW, STERN = ROV.ports[:2]
ORDER = DockingOrder(1, "dock", "b", "stern", "c", "bow")
CONJUGATE = np.array([1.0, -1, -1, -1])
BIASED = {"position_bias_std_m": 0.2, "heading_bias_std_deg": 2.0}


def pair():  # type: ignore[no-untyped-def]
    """b's bow at a's starboard latch, so that b is turned against the group."""
    a, b = {p.name: p for p in ROV.ports}["starboard"], BOW
    joint = Joint("a", "b", a.place_m, b.place_m, from_yaw(-math.pi / 2))
    return compose(Assembly({"a": ROV, "b": ROV}, (joint,)), ("a", "b"))


def plan_of(name: str, state: Array, heading: float) -> Plan:
    times = np.linspace(0.0, 2.0, 21)
    places = np.tile(state[POSITION], (21, 1))
    return Plan(name, 1, 0.0, times, places, np.zeros((21, 3)), headings_rad=np.full(21, heading))


def test_what_a_member_sees_is_read_in_the_frame_of_its_group() -> None:
    group = pair()
    state = State.at_rest((1.0, 2.0, 5.0), 0.4).array
    state[ATTITUDE] = from_euler(0.1, -0.05, 0.4)
    member = group.module_states(state)["b"]
    other = State.at_rest((4.0, 1.0, 5.5), 0.9).array
    turn = matrix(member[ATTITUDE])
    relative = multiply(member[ATTITUDE] * CONJUGATE, other[ATTITUDE])
    covariance = np.diag([0.04, 0.01, 0.01, 0.02, 0.03, 0.05])
    seen = FiducialPose(0.0, turn.T @ (other[POSITION] - member[POSITION]), relative, covariance)
    side = side_of("b", ROV.ports, "stern", group)
    assert side.senders == ("a", "b")
    found = side.seen_from(seen)
    place = state[POSITION] + matrix(state[ATTITUDE]) @ found.marker_m
    np.testing.assert_allclose(place, other[POSITION], atol=1e-9)
    expected = multiply(state[ATTITUDE] * CONJUGATE, other[ATTITUDE])
    assert abs(float(found.attitude @ expected)) == pytest.approx(1.0)
    ahead = matrix(group.poses["b"].attitude)[:, 0]
    assert ahead @ found.covariance[:3, :3] @ ahead == pytest.approx(0.04)  # still along the camera's axis
    # The other way round: the group's attitude from that of its member.
    seen_of = FiducialPose(0.0, np.zeros(3), multiply(other[ATTITUDE] * CONJUGATE, member[ATTITUDE]), covariance)
    back = side.seen_as(seen_of)
    expected = multiply(other[ATTITUDE] * CONJUGATE, state[ATTITUDE])
    assert abs(float(back.attitude @ expected)) == pytest.approx(1.0)
    assert side_of("b", ROV.ports, "stern", None).seen_as(seen_of) is seen_of


def test_the_plan_of_a_group_is_its_pilots() -> None:
    group = pair()
    leader, follower = side_of("b", ROV.ports, "stern", group), Side("c", BOW)
    pilot = FollowerPilot(replace(ORDER, blind=True), follower, leader)
    state = State.at_rest((0.0, 0.0, 5.0), 0.0).array
    port = group.module_states(state)["b"]
    away = port[POSITION] + matrix(port[ATTITUDE]) @ (STERN.place_m + 3.0 * STERN.direction)
    heading = math.atan2(*matrix(port[ATTITUDE])[[1, 0], 0])
    own = State.at_rest(away - matrix(from_yaw(heading)) @ BOW.place_m, heading).array
    hold = Directive("hold", Preview(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3))))
    found, plans = pilot.guide(0.0, Odometry(0.0, own), hold, {"a": plan_of("a", state, 0.0)})
    assert set(found.partners) == {"a"} and set(plans) == {"a"}
    np.testing.assert_allclose(found.setpoint.positions_m[0], own[POSITION], atol=0.05)
    assert found.setpoint.headings_rad is not None
    assert math.remainder(found.setpoint.headings_rad[0] - heading, 2 * math.pi) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("leads", [True, False])
def test_a_partner_is_not_expected_back_at_its_place_in_the_formation(leads: bool) -> None:
    """It may lie on our other side: we would get out of the way of one who is not coming."""
    sides = Side("b", STERN), Side("c", BOW)
    order = replace(ORDER, blind=True)
    pilot = LeaderPilot(order, *sides) if leads else FollowerPilot(order, *sides[::-1])
    states = State.at_rest((0.0, 0.0, 5.0)).array, State.at_rest((-3.6, 0.0, 5.0)).array
    here = Preview(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3)))
    directive = Directive("hold", here, formation_setpoints={"b": here, "c": here, "d": here})
    partner, own, other = ("c", *states) if leads else ("b", *states[::-1])
    found, _ = pilot.guide(0.0, Odometry(0.0, own), directive, {partner: plan_of(partner, other, 0.0)})
    assert set(found.formation_setpoints) == {"b", "c", "d"} - {partner}
    assert list(found.partners) == [partner]


def test_a_vehicle_that_has_parted_looks_before_it_leaves() -> None:
    """By their own navigations the two may be inside each other; what was seen before the latch closed is too old."""
    marker = STERN.marker
    assert marker is not None
    pilot = FollowerPilot(replace(ORDER, action="undock"), Side("c", BOW), Side("b", STERN))
    own, other = State.at_rest((-0.6, 0.0, 5.0)).array, State.at_rest((0.0, 0.0, 5.0)).array
    said = other.copy()
    said[POSITION] += [-0.4, 0.0, 0.0]
    here = Preview(np.zeros(1), own[None, POSITION], np.zeros((1, 3)))
    hold, plans = Directive("hold", here), {"b": plan_of("b", said, 0.0)}
    seen = FiducialPose(4.0, np.array([0.6 + marker.place_m[0], 0, 0]), np.array([1.0, 0, 0, 0]), 1e-4 * np.eye(6))
    pilot.on_sighting(seen)
    found, _ = pilot.guide(9.0, Odometry(9.0, own), hold, plans)
    assert found.setpoint is here and pilot.phases is None and list(found.partners) == ["b"]
    pilot.on_sighting(replace(seen, stamp_s=9.1))
    found, _ = pilot.guide(9.1, Odometry(9.1, own), hold, plans)
    assert pilot.phases is not None and pilot.phases.phase is Phase.LEAVE
    assert pilot.phases.separation_m == pytest.approx(0.0, abs=0.02)
    np.testing.assert_allclose(found.setpoint.positions_m[0], own[POSITION], atol=0.02)
    blind = FollowerPilot(replace(ORDER, action="undock"), Side("c", BOW), Side("b", STERN))
    for t_s in (9.0, 9.5, 10.1):
        blind.guide(t_s, Odometry(t_s, own), hold, plans)
    assert blind.phases is not None  # nothing to be seen: it leaves all the same


def test_out_of_sight_both_navigations_go_on_by_what_they_differ() -> None:
    marker = STERN.marker
    assert marker is not None
    off, own = np.array([0.3, -0.1, 0.05]), State.at_rest((0.0, 0.0, 5.0)).array
    other = State.at_rest((2.0, 0.2, 5.0)).array
    said = other.copy()
    said[POSITION] += off
    plan = replace(plan_of("b", said, 0.0), velocities_mps=np.zeros((21, 3)))
    for spread, kept in ((1e-4, True), (5.0, False)):
        track = PartnerTrack(marker.place_m)
        for k in range(30):
            place = other[POSITION] + marker.place_m - own[POSITION]
            seen = FiducialPose(0.05 * k, place, np.array([1.0, 0, 0, 0]), np.diag([spread] * 3 + [1e-4] * 3))
            track.on_sighting(seen)
            track.step(Odometry(0.05 * k, own), plan)
        np.testing.assert_allclose(track.corrected(plan).positions_m[0], other[POSITION], atol=0.01)
        late = Odometry(1.5 + FRESH_S, own)
        track.step(late, plan)
        expected = other[POSITION] if kept else said[POSITION]
        np.testing.assert_allclose(track.corrected(plan).positions_m[0], expected, atol=0.01)
        np.testing.assert_allclose(track.relative(late, track.corrected(plan)).other[POSITION], expected, atol=0.01)


def test_a_search_has_its_own_time_and_the_docking_begins_with_the_find() -> None:
    settings = DockingSettings(search_s=20.0, longest_s=10.0, tries=2)
    lost = Seen(3.0, 0.01, 0.5, 0.1, 99.0)
    phases = DockingPhases(settings, 6.0, Phase.SEARCH)
    for k in range(150):
        phases.step(0.1 * k, lost)
    assert phases.phase is Phase.SEARCH
    phases.step(15.0, replace(lost, camera_age_s=0.1))
    assert phases.phase is Phase.APPROACH
    for k in range(90):
        phases.step(15.1 + 0.1 * k, replace(lost, camera_age_s=0.1, angle_deg=9.0))
    assert phases.tries == 1 and phases.phase is Phase.ALIGN  # 24 s after the start, 9 s after the find
    never = DockingPhases(settings, 6.0, Phase.SEARCH)
    for k in range(600):
        never.step(0.1 * k, lost)
    assert (never.phase, never.reason, never.tries) == (Phase.FAILED, "not found", 2)


def test_the_watched_place_is_one_more_neighbour_in_the_cone_of_the_other_camera() -> None:
    order = replace(ORDER, blind=True, watch_port="bow", watch_m=(2.0, 0.5, 5.0))
    assert order_from_json(order_to_json(order)) == order
    pilot = LeaderPilot(order, Side("b", STERN), Side("c", BOW), BOW.camera)
    own, other = State.at_rest((0.0, 0.0, 5.0)).array, State.at_rest((-3.0, 0.0, 5.0)).array
    hold = Directive("hold", Preview(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3))))
    found, plans = pilot.guide(0.0, Odometry(0.0, own), hold, {"c": plan_of("c", other, 0.0)})
    view = found.partners[WATCHED].view
    assert BOW.camera is not None and view is not None
    assert view.hard_deg < BOW.camera.half_angle_deg and view.axis is BOW.camera.axis
    np.testing.assert_array_equal(plans[WATCHED].at(np.array([9.0]))[0], [2.0, 0.5, 5.0])


def run_of(task: str, fleet: str, seed: int, **settings: object):  # type: ignore[no-untyped-def]
    condition = Condition.model_validate({"name": "biased", "sensors": BIASED, "link": {"rate_hz": 2.0}})
    run = build_run(RunSpec(fleet=fleet, condition=condition, seed=seed, task=task, task_settings=settings))
    world = run.simulator.world
    run.simulator.run(None, lambda t_s: run.task.finished(t_s, world.states))
    return run, run.recording()


def test_three_dock_one_after_the_other_and_move_as_one() -> None:
    run, recording = run_of("dock_chain", "three", 25, first_m=1.5, settle_s=0.5, swim_on_s=1.0, duration_s=60.0)
    outcome = recording.outcome
    assert outcome is not None and outcome.reached_s is not None
    assert max(len(group) for group in run.simulator.world.groups) == 3
    found = outcome.measured
    assert found["dock_speed_mps"] <= 0.1 and found["dock_angle_deg"] <= 2.0 and found["dock_bearing_deg"] <= 22.0
    assert found["dock_beside"] == 0 and found["dock_distance_m"] > 0.55
    parts = run.simulator.docking._parts
    joined = DockingOrder(50, "dock", "rov1", "bow", "rov3", "stern")
    part = DockingPart(run.simulator.runtimes["rov1"], dict.fromkeys(("rov1", "rov2", "rov3", "x"), ROV.ports), None,
                       parts["rov1"]._group_of)  # fmt: skip
    assert part.on_order(joined)  # they are one already: nothing to be done, and no error
    assert part.on_order(replace(joined, counter=51, leader="x"))  # a group may come to a port, too
    assert isinstance(part.pilot, FollowerPilot) and part.pilot.own.senders == ("rov1", "rov2", "rov3")
    with pytest.raises(ShoalError, match="'rov3' with itself; expected two vehicles"):
        part.on_order(replace(joined, counter=52, leader="rov3"))


def test_the_leader_goes_around_an_object_while_it_is_docked_with() -> None:
    _, recording = run_of("inspect_and_dock", "two", 26, range_m=[2.0, 2.0], swim_on_s=0.0, duration_s=40.0)
    outcome = recording.outcome
    assert outcome is not None and outcome.reached_s is not None
    found = outcome.measured
    assert found["dock_watch_deg"] <= 25.0 and found["dock_watch_m"] <= 3.0
    assert found["dock_bearing_deg"] <= 22.0 and found["dock_speed_mps"] <= 0.1
    moved = np.linalg.norm(recording.states[-1, 0, POSITION] - recording.states[0, 0, POSITION])
    assert moved > 0.5  # it has not just held


def test_a_third_vehicle_in_between_hides_the_fiducial() -> None:
    condition = Condition.model_validate({"name": "clear", "sensors": {"fiducial": {"dropout": 0.0, "latency_s": 0.0}}})
    world = build_run(RunSpec(fleet="three", condition=condition, task="dock")).simulator.world
    names = world.names
    for name, place in zip(names, ((0.0, 0.0, 5.0), (-4.0, 0.0, 5.0), (-2.0, 3.0, 5.0)), strict=True):
        world.docks._plant.hold(names.index(name), State.at_rest(place).array[:7])
    world.docks.open(names[0], "stern", names[1], "bow")
    assert set(world.docks.sightings(0.1)) == set(names[:2])
    world.docks._plant.hold(2, State.at_rest((-2.0, 0.2, 5.1), 0.7).array[:7])
    assert world.docks.sightings(0.3) == {}
    world.docks._plant.hold(2, State.at_rest((-2.0, 0.0, 5.8), 0.7).array[:7])
    assert set(world.docks.sightings(0.5)) == set(names[:2])


def test_the_port_that_is_docked_at_cannot_watch_something_else() -> None:
    with pytest.raises(ShoalError, match="watch_port = 'stern'; expected another port of 'rov1'"):
        build_run(RunSpec(task="inspect_and_dock", fleet="two", task_settings={"watch_port": "stern"}))
