"""Docking in the simulator: partner seen through biased navigations, cones of any camera, latch, composite, parting."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.control.base import ControllerContext, Estimate, Neighbours
from shoal.control.nmpc.controller import NmpcController
from shoal.control.settings import NmpcSettings
from shoal.docking.partner import PartnerTrack, planned_twist
from shoal.docking.pilot import FollowerPilot, bearing_deg, level_heading_rad
from shoal.docking.side import Side
from shoal.errors import ShoalError
from shoal.estimation.timing_bank import TimingEstimate
from shoal.fleet.handover import Knowledge, placed
from shoal.fleet.link import Link, LinkSettings
from shoal.frames import from_yaw, matrix, multiply, tilt_rad, yaw_of
from shoal.messages.directive import Directive, Partner, View
from shoal.messages.docking import DockingOrder
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.relative_pose import FiducialPose
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.recordings import codec
from shoal.simulation.conditions import Condition
from shoal.tasks.run import RunSpec, build_run
from shoal.vehicles.description import load_vehicle

Array = NDArray[np.float64]
ROV = load_vehicle("bluerov2_heavy", "wu2018")
BOW, STERN = ROV.ports[:2]


def straight_plan(place: Array, velocity: Array, yaw: float, rate: float = 0.0) -> Plan:
    times = np.linspace(0.0, 2.0, 21)
    return Plan.along("leader", 1, 0.0, times, place + times[:, None] * velocity, yaw + rate * times)


def test_headings_of_plans_travel() -> None:
    plan = straight_plan(np.array([1.0, 2, 3]), np.array([0.1, 0, 0]), 3.0, 0.2)
    again = codec.plan_from_bytes(codec.plan_to_bytes(plan))
    assert again.headings_rad is not None and plan.headings_rad is not None
    np.testing.assert_allclose(np.unwrap(again.headings_rad), plan.headings_rad, atol=1e-9)
    assert codec.plan_from_bytes(codec.plan_to_bytes(replace(plan, headings_rad=None))).headings_rad is None
    assert plan.payload_bits == 21 * 4 * 32


def test_link_sends_at_its_rate() -> None:
    states = {"a": np.zeros(13), "b": np.zeros(13)}
    plan = straight_plan(np.zeros(3), np.zeros(3), 0.0)
    link, arrived = Link(LinkSettings(rate_hz=2.0), np.random.default_rng(0)), 0
    for k in range(200):
        link.broadcast(k * 0.05, "a", plan, states)
        arrived += len(link.receive(k * 0.05, "b"))
    assert arrived == 20
    assert link.sent_bits == 20 * plan.payload_bits


def test_plan_is_moved_to_where_the_partner_is_seen() -> None:
    """Both navigations are off by decimetres and degrees; by sight, the plan ends up where the partner really is."""
    rng = np.random.default_rng(3)
    true_yaw, own_off_rad, off_rad = 0.4, math.radians(3), math.radians(-2)
    place, own_off, off = np.array([3.0, 0.5, 5.2]), np.array([0.2, -0.3, 0.1]), np.array([-0.25, 0.1, 0.2])
    own_true = State.at_rest((0.0, 0.0, 5.0), 0.1).array
    believed = own_true.copy()
    believed[POSITION] += own_off
    believed[ATTITUDE] = multiply(from_yaw(own_off_rad), believed[ATTITUDE])
    marker = STERN.marker
    assert marker is not None
    track = PartnerTrack(marker.place_m)
    plan = straight_plan(place + off, np.zeros(3), true_yaw + off_rad)
    turn, other = matrix(own_true[ATTITUDE]).T, matrix(from_yaw(true_yaw))
    relative = multiply(own_true[ATTITUDE] * np.array([1, -1, -1, -1.0]), from_yaw(true_yaw))
    for k in range(60):
        seen = turn @ (place + other @ marker.place_m - own_true[POSITION]) + 0.01 * rng.standard_normal(3)
        track.on_sighting(FiducialPose(k * 0.05, seen, relative, np.diag([1e-4] * 3 + [1e-4] * 3)))
        track.step(Odometry(k * 0.05, believed), plan)
    # As our own navigation sees it: turned and shifted with it.
    frame = matrix(from_yaw(own_off_rad))
    expected = believed[POSITION] + frame @ (place - own_true[POSITION])
    found = track.corrected(plan)
    assert np.linalg.norm(found.positions_m[0] - expected) < 0.015
    assert found.headings_rad is not None
    assert found.headings_rad[0] == pytest.approx(true_yaw + own_off_rad, abs=0.01)
    assert np.linalg.norm(plan.positions_m[0] - expected) > 0.3


def test_planned_velocity_is_of_the_body() -> None:
    twist = planned_twist(straight_plan(np.zeros(3), np.array([0.0, 0.2, 0.0]), math.pi / 2, 0.3), 0.5)
    np.testing.assert_allclose(twist[:3], matrix(from_yaw(math.pi / 2 + 0.15)).T @ [0, 0.2, 0], atol=1e-9)
    assert twist[5] == pytest.approx(0.3)


def test_reference_is_the_plan_plus_the_ports() -> None:
    order = DockingOrder(1, "dock", "leader", "stern", "follower", "bow", blind=True)
    pilot = FollowerPilot(order, Side("follower", BOW), Side("leader", STERN))
    plan = straight_plan(np.array([0.0, 0.0, 5.0]), np.array([0.1, 0, 0]), 0.0)
    own = Odometry(0.0, State.at_rest((-3.6, 0.0, 5.0), 0.0).array)
    directive = Directive("hold", Preview(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3))))
    for k in range(3):
        found, _ = pilot.guide(0.05 * k, own, directive, {"leader": plan})
    # Ports at ∓0.3 m: with the separation of 3 m, 3.6 m behind; along with the leader, and closing at 0.35 m/s.
    np.testing.assert_allclose(found.setpoint.positions_m[0], [-3.6, 0, 5], atol=0.05)
    np.testing.assert_allclose(found.setpoint.velocities_mps[3], [0.1 + 0.35, 0, 0], atol=1e-6)
    assert found.partners["leader"].hard_m < 0.6 < Limits().distance_hard_m
    view = found.partners["leader"].view
    assert view is not None and view.hard_deg == 22.0


def test_ports_that_would_tilt_a_vehicle_are_refused() -> None:
    down = replace(BOW, direction=np.array([0.0, 0, 1]), up=np.array([1.0, 0, 0]))
    with pytest.raises(ShoalError, match="level"):
        level_heading_rad(down, BOW)
    assert level_heading_rad(STERN, BOW) == pytest.approx(0.0)
    assert abs(level_heading_rad(BOW, BOW)) == pytest.approx(math.pi)


def test_a_plain_latch_is_not_docked_at() -> None:
    problem = r"port 'starboard' of 'rov1' has no camera or no marker; expected one .*bow, stern"
    with pytest.raises(ShoalError, match=problem):
        build_run(RunSpec(task="dock", fleet="two", task_settings={"leader_port": "starboard"}))


class _Stands:
    """A neighbour that stands still."""

    def __init__(self, place: Array) -> None:
        self._place = place

    def at(self, times_s: Array) -> Neighbours:
        return Neighbours(("leader",), np.zeros(1), np.tile(self._place, (1, len(times_s), 1)), np.zeros(1))


@pytest.mark.parametrize("camera", ["bow", "stern", "starboard", "none"])
def test_cone_of_any_camera_turns_the_vehicle(camera: str) -> None:
    """The reference keeps the heading; the partner stands 60° off the camera's axis."""
    axes = {"bow": 0.0, "stern": math.pi, "starboard": math.pi / 2, "none": 0.0}
    axis, off = axes[camera], math.radians(60)
    view = View(np.array([0.1, 0, 0]), np.array([math.cos(axis), math.sin(axis), 0.0]), np.zeros(3), 18.0, 22.0)
    partner = Partner(0.5, 0.45, None if camera == "none" else view)
    context = ControllerContext("me", ROV, NmpcSettings(), Limits(), 0.05, ("leader",))
    controller = NmpcController(context)
    state = State.at_rest((0.0, 0.0, 5.0), 0.0).array
    place = state[POSITION] + 4 * np.array([math.cos(axis + off), math.sin(axis + off), 0.0])
    setpoint = Preview(np.array([0.0]), state[None, POSITION], np.zeros((1, 3)), np.zeros(1))
    directive = Directive("follow", setpoint, partners={"leader": partner})
    for _ in range(4):
        zeros = np.zeros(6), np.zeros(3)
        estimate = Estimate(0.0, 0.0, state, *zeros, True, np.zeros(8), Odometry(0.0, state))
        output = controller.step(0.0, estimate, directive, _Stands(place))
    turned = math.degrees(yaw_of(output.states[-1, ATTITUDE]))
    assert (turned > 20.0) == (camera != "none")
    assert np.linalg.norm(output.states[-1, POSITION] - state[POSITION]) < 1.5


def test_bearing_is_of_the_marker_in_the_camera() -> None:
    leader, follower = State.at_rest((0.0, 0.0, 5.0)).array, State.at_rest((-3.0, 1.0, 5.0)).array
    # Camera 0.1 m before the middle, marker 0.2 m behind the leader's: 2.7 m ahead, 1 m to port.
    assert bearing_deg(BOW, follower, STERN, leader) == pytest.approx(math.degrees(math.atan2(1.0, 2.7)))


def test_parted_vehicles_go_back_to_their_own_navigation() -> None:
    """The group's place is a mean of navigations that differ; noise alone is no reason to leave it."""
    estimate = State.at_rest((1.0, 2.0, 5.0), 0.3).array
    known = Knowledge(Odometry(7.0, estimate), np.zeros(6), np.zeros(3), np.zeros(8), TimingEstimate(0.15, 0.05))
    own = State.at_rest((1.2, 1.9, 5.1), 0.35).array
    found = placed(known, Odometry(7.0, own)).odometry
    np.testing.assert_array_equal(found.state[POSITION], own[POSITION])
    np.testing.assert_array_equal(found.state[ATTITUDE], own[ATTITUDE])
    near = own.copy()
    near[POSITION] = estimate[POSITION] + 0.02
    assert placed(known, Odometry(7.0, near)) is known
    assert placed(known, None) is known


BIASED = {"position_bias_std_m": 0.2, "heading_bias_std_deg": 2.0}


def docked(seed: int, fleet: str = "fosso2023_two", **settings: object) -> tuple[dict[str, float], list[str], bool]:
    """What was measured with the largest tilt of all, the phases, and whether the goal was reached."""
    condition = Condition.model_validate({"name": "biased", "sensors": BIASED, "link": {"rate_hz": 2.0}})
    run = build_run(RunSpec(fleet=fleet, condition=condition, seed=seed, task="dock", task_settings=settings))
    world = run.simulator.world
    run.simulator.run(None, lambda t_s: run.task.finished(t_s, world.states))
    recording = run.recording()
    assert recording.outcome is not None
    tilt_deg = max(math.degrees(tilt_rad(q)) for q in recording.states[::4, :, ATTITUDE].reshape(-1, 4))
    phases = [name for _, name in run.task._director.phases]  # type: ignore[attr-defined]
    return {**recording.outcome.measured, "tilt_deg": tilt_deg}, phases, recording.outcome.reached_s is not None


def test_docks_through_biased_navigations_swims_on_as_one_and_parts() -> None:
    measured, phases, done = docked(5, range_m=[2.0, 2.0], swim_on_s=2.0, undock=True, duration_s=40.0)
    assert done
    assert phases == ["search", "approach", "align", "close", "latched", "leave", "clear"]
    assert measured["dock_bearing_deg"] <= 22 and measured["dock_speed_mps"] <= 0.1 and measured["dock_angle_deg"] <= 2
    assert measured["dock_beside"] == 0 and measured["dock_kbps"] <= 11
    assert measured["dock_distance_m"] > 0.55  # the latch holds, and parting brings nobody nearer
    assert measured["tilt_deg"] < 15


def test_without_the_camera_the_port_is_missed_and_nobody_is_tipped_over() -> None:
    """A seed whose vehicles, if they go on pushing beside the port, tip each other over by 38° (on others by 90°)."""
    measured, phases, done = docked(1008, "two", camera=False, duration_s=32.0)
    assert not done and phases[:4] == ["approach", "align", "close", "abort"]
    assert measured["tilt_deg"] < 15
