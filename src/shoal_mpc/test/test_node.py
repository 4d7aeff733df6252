"""The controller as a process. The test is plant, clock, neighbour and guidance: time moves when it says so."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import Point, PointStamped
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool, Header, String, UInt64
from std_srvs.srv import SetBool
from trajectory_msgs.msg import MultiDOFJointTrajectory

from shoal.fleet.file import load_fleet
from shoal.fleet.stop import StopState
from shoal.guidance.formation import Formation
from shoal.messages import topics
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION, State
from shoal.recordings.placement_json import formation_to_json
from shoal.simulation.plant import Plant
from shoal_ros import convert
from shoal_ros.harness import Harness, statuses
from shoal_ros.node_list import vehicle_node

pytestmark = pytest.mark.ros
ME, OTHER, PERIOD_S = "rov1", "rov2", 0.05
PLACES = {ME: np.array([0.0, -1.1, 5.0]), OTHER: np.array([0.0, 1.1, 5.0])}


class Sea:
    """Everything around one controller."""

    def __init__(self, harness: Harness) -> None:
        self.h = harness
        self.clock = harness.publisher(topics.CLOCK)
        self.odometry = {n: harness.publisher(topics.ODOMETRY, vehicle=n) for n in PLACES}
        self.plan = harness.publisher(topics.PLAN, vehicle=OTHER)
        self.reference, self.formation = harness.publisher(topics.REFERENCE), harness.publisher(topics.FORMATION)
        self.stop, self.release = harness.publisher(topics.STOP), harness.publisher(topics.RELEASE)
        self.stop_states = harness.listen(topics.STOP_STATE)
        self.thrust = [harness.listen(topics.THRUST, vehicle=ME, thruster=f"thruster{i}") for i in range(1, 9)]
        self.plans = harness.listen(topics.PLAN, vehicle=ME)
        self.diagnostics = harness.listen(topics.DIAGNOSTICS)
        self.fov = harness.listen(topics.FOV, vehicle=ME, other=OTHER)
        self.distance = harness.listen(topics.DISTANCE, vehicle=ME, other=OTHER)
        self.t_s = 0.0
        start = State.at_rest(PLACES[ME], np.pi / 2)
        self.plant = Plant([load_fleet("two").vehicles[0].vehicle()], start.array[None].copy())
        self.speaking = {"odometry", "plan", "reference", "other's odometry"}
        self.twist: Callable[[Odometry], Odometry] = lambda o: o  # what the sensors do to odometry
        there = np.array(list(PLACES.values()))
        placement = Formation(kind="point", spacing_m=2.2).assign(list(PLACES), there, np.array([0, 0, 5.0]))
        self.placement = replace(placement, sight=((ME, OTHER), (OTHER, ME)))
        self.formation.publish(String(data=formation_to_json(self.placement)))

    def where(self, name: str) -> Odometry:
        """Ours answers to thrust, or the controller would find out that it does not; the other one stands still."""
        state = self.plant.states[0] if name == ME else State.at_rest(PLACES[name], -np.pi / 2).array
        return Odometry(self.t_s, state.copy())

    def tick(self) -> None:
        """One control period of the world, and whatever the controller answers."""
        self.t_s = round(self.t_s + PERIOD_S, 6)
        t = self.t_s
        self.plant.step([np.nan_to_num(self.latest_thrust())], PERIOD_S)
        if "reference" in self.speaking and round(t / PERIOD_S) % 4 == 0:
            times = t + np.arange(0, 4.05, 0.2)
            still = np.zeros((len(times), 3))
            there = Preview(times, still + np.array([0, 0, 5.0]), still, np.zeros(len(times)))
            self.reference.publish(convert.preview_to_bytes(there, t))
        if "plan" in self.speaking:
            place = PLACES[OTHER][None]
            self.plan.publish(convert.plan_to_bytes(Plan(OTHER, 1, t, np.array([t]), place, np.zeros((1, 3)))))
        self.clock.publish(Clock(clock=convert.to_stamp(t)))
        if "other's odometry" in self.speaking:
            self.odometry[OTHER].publish(convert.odometry_to_message(self.where(OTHER), OTHER))
        if "odometry" in self.speaking:
            self.say_odometry(self.twist(self.where(ME)))
        self._wait_for_answer(t if "odometry" in self.speaking else t - 2 * PERIOD_S)

    def _wait_for_answer(self, since_s: float) -> None:
        """However slow the machine is, it shall not count as slowness of the controller."""
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            self.h.linger(0.004)
            if self.plans and convert.from_stamp(self.plans[-1].header.stamp) >= since_s - 1e-6:
                return

    def say_odometry(self, odometry: Odometry) -> None:
        self.odometry[ME].publish(convert.odometry_to_message(odometry, ME))

    def run(self, until: Callable[[], object], what: str, most_s: float = 10.0) -> float:
        """Let the world go on until that is true; the simulated seconds it took."""
        begin = self.t_s
        while not until():
            assert self.t_s - begin < most_s, f"{what}: not in {most_s} s\n{self.last()}\n{self.h.output()}"
            self.tick()
        return self.t_s - begin

    def last(self) -> Any:
        found = statuses(self.diagnostics, f"{ME} controller")
        return found[-1] if found else None

    def says(self, words: str) -> Callable[[], bool]:
        return lambda: (status := self.last()) is not None and words in status.message

    def latest_thrust(self) -> list[float]:
        return [received[-1].data if received else float("nan") for received in self.thrust]

    def is_zero(self) -> bool:
        return all(force == 0.0 for force in self.latest_thrust())


@pytest.fixture(scope="module")
def sea() -> Iterator[Sea]:
    with Harness() as harness:
        sea = Sea(harness)
        harness.start(vehicle_node("two", ME, lockstep=True))
        harness.spin(lambda: sea.clock.get_subscription_count() and sea.stop.get_subscription_count(), "the controller")
        harness.linger(0.5)
        yield sea


@pytest.fixture(autouse=True)
def calm(sea: Sea) -> None:
    """Every test begins and is left with a controller that follows: recovery without a restart."""
    sea.speaking = {"odometry", "plan", "reference", "other's odometry"}
    sea.twist = lambda o: o
    sea.run(sea.says("following"), "following", most_s=30.0)
    sea.run(lambda: not sea.is_zero(), "thrust")


def test_answers_every_odometry_with_thrust_and_plan(sea: Sea) -> None:
    before, plans = len(sea.thrust[7]), len(sea.plans)
    for _ in range(40):
        sea.tick()
    sea.h.spin(lambda: len(sea.plans) - plans >= 38, "plans")
    assert len(sea.thrust[7]) - before >= 38
    plan = convert.plan_from_message(sea.plans[-1])
    assert plan.vehicle == ME and len(plan.times_s) > 5
    assert plan.stamp_s == pytest.approx(sea.t_s, abs=0.11)
    np.testing.assert_allclose(plan.positions_m[0], PLACES[ME], atol=0.05)
    assert np.abs(sea.latest_thrust()).max() < 15  # it floats in place


def test_sight_and_distance(sea: Sea) -> None:
    sea.run(lambda: sea.fov and sea.distance, "sight")
    own = sea.plant.states[0]
    there = sea.where(OTHER).position_m
    assert sea.distance[-1].data == pytest.approx(float(np.linalg.norm(own[POSITION] - there)), abs=0.01)
    assert sea.fov[-1].data == pytest.approx(sight_angle_deg(own, there), abs=1.0)


def test_not_a_number_is_never_computed_with(sea: Sea) -> None:
    sea.twist = lambda o: replace(o, state=np.where(np.arange(13) == 7, np.nan, o.state))
    took = sea.run(sea.says("odometry is not finite"), "the reason")
    assert took <= 0.3
    assert np.isfinite(sea.latest_thrust()).all()
    sea.run(sea.says("zero thrust"), "zero thrust", most_s=2.0)
    sea.run(sea.is_zero, "zeros", most_s=0.5)
    assert sea.last().level == bytes([2])
    sea.twist = lambda o: o
    assert sea.run(lambda: not sea.is_zero(), "recovery") <= 0.5
    assert sea.run(sea.says("following"), "the end of the report") <= 2.5  # it stands for 2 s after its reason has gone


def test_odometry_that_stays_away_ends_in_zero_thrust(sea: Sea) -> None:
    """0.5 s old: the previous plan is followed; 1 s later: zero. Both by the clock alone."""
    sea.speaking.discard("odometry")
    old = sea.run(sea.says("odometry is stale"), "the reason")
    assert 0.5 <= old <= 0.8
    zero = sea.run(sea.says("zero thrust"), "zero thrust")
    assert zero <= 1.3
    sea.run(sea.is_zero, "zeros", most_s=0.5)
    sea.speaking.add("odometry")
    assert sea.run(sea.says("following"), "recovery") <= 0.5


def test_odometry_out_of_order_changes_nothing(sea: Sea) -> None:
    for _ in range(20):
        sea.tick()
        elsewhere = np.concatenate([[50.0, 0, 5], sea.where(ME).state[3:]])
        sea.say_odometry(Odometry(sea.t_s - 0.3, elsewhere))
    sea.run(lambda: convert.plan_from_message(sea.plans[-1]).stamp_s >= sea.t_s - 0.1, "a new plan")
    assert not sea.is_zero() and "plan" not in sea.last().message  # at most reported, never flown by
    np.testing.assert_allclose(convert.plan_from_message(sea.plans[-1]).positions_m[0], PLACES[ME], atol=0.1)


def test_without_reference_it_holds(sea: Sea) -> None:
    sea.speaking.discard("reference")
    took = sea.run(sea.says("holding station: stale reference"), "holding")
    assert took <= 1.5 + 0.5
    assert not sea.is_zero()


def test_silent_neighbour_is_reported_and_still_avoided(sea: Sea) -> None:
    sea.speaking.discard("plan")
    took = sea.run(sea.says(f"lost contact with {OTHER}"), "lost contact")
    assert 1.9 <= took <= 2.5
    seen = len(sea.distance)
    sea.run(lambda: len(sea.distance) > seen, "distance")
    assert sea.distance[-1].data == pytest.approx(2.2, abs=1e-3)  # by its odometry; ours is an estimate
    sea.speaking.add("plan")
    assert sea.run(sea.says("following"), "back again") <= 0.5


def stop_state(sea: Sea) -> StopState:
    return StopState.from_json(sea.stop_states[-1].data)


def test_a_plan_that_disagrees_with_what_is_seen_is_doubted(sea: Sea) -> None:
    """Its plan has it 2.2 m ahead; it is seen 4.2 m ahead, and then where it says."""
    sighting, forget = sea.h.publisher(topics.SIGHTING, vehicle=ME), sea.h.publisher(topics.FORGET)
    doubted = sea.says(f"plan of {OTHER} disagrees with what is seen")

    def seen(ahead_m: float) -> bool:
        header = Header(stamp=convert.to_stamp(sea.t_s), frame_id=OTHER)
        sighting.publish(PointStamped(header=header, point=Point(x=ahead_m)))
        return doubted()

    sea.run(lambda: seen(4.2), "the doubt", most_s=6.0)
    sea.run(lambda: not seen(2.2), "trust again", most_s=6.0)
    forget.publish(String(data="nobody"))
    forget.publish(String(data=OTHER))
    sea.run(lambda: f"{OTHER} is forgotten by order" in sea.h.output(), "the order", most_s=6.0)
    assert f"'nobody' is no neighbour; expected one of {OTHER}" in sea.h.output()


def test_stop_and_release(sea: Sea) -> None:
    sea.stop.publish(Bool(data=True))
    sea.h.spin(lambda: sea.is_zero(), "zero without any new odometry")
    sea.run(sea.says("stopped by the operator"), "the reason")
    for _ in range(20):
        sea.tick()
    assert sea.is_zero() and stop_state(sea).stopped
    sea.stop.publish(Bool(data=False))  # no counter: not a release
    sea.release.publish(UInt64(data=stop_state(sea).counter + 1))  # of another STOP
    for _ in range(20):
        sea.tick()
    assert sea.is_zero() and sea.says("stopped")()
    sea.release.publish(UInt64(data=stop_state(sea).counter))
    sea.run(sea.says("following"), "following")


def test_a_stop_learned_from_a_peer(sea: Sea) -> None:
    peer = sea.h.publisher(topics.STOP_STATE)
    sea.h.spin(lambda: peer.get_subscription_count() >= 2, "the controller")
    known = stop_state(sea)
    peer.publish(String(data=StopState(known.counter + 5, True, "rov2").to_json()))
    sea.h.spin(lambda: sea.is_zero(), "zero")
    peer.publish(String(data=StopState(known.counter + 3, False, "an old release").to_json()))
    for _ in range(10):
        sea.tick()
    assert sea.is_zero()
    peer.publish(String(data="nonsense"))
    answer = sea.h.call(SetBool, f"/{ME}/mpc/stop", SetBool.Request(data=False))
    assert answer.success, answer.message
    sea.run(sea.says("following"), "following")
    assert stop_state(sea) == StopState(known.counter + 6, False, "service of mpc")


def test_one_absurd_stamp_does_not_outlive_the_good_ones(sea: Sea) -> None:
    sea.say_odometry(Odometry(sea.t_s + 1000.0, sea.where(ME).state))
    sea.run(sea.says("stamped in the future"), "the reason")
    plans = len(sea.plans)
    sea.run(sea.says("following"), "following", most_s=3.0)
    assert len(sea.plans) - plans > 5


def test_a_formation_that_is_not_finite_is_refused(sea: Sea) -> None:
    text = formation_to_json(sea.placement)
    sea.formation.publish(String(data=text.replace("-1.0", "NaN", 1).replace("1.0", "NaN", 1)))
    for _ in range(10):
        sea.tick()
    assert sea.says("following")()
    assert any("/fleet/formation" in line for line in sea.h.children[f"/{ME}/mpc"].lines)


def test_a_second_publisher_is_named(sea: Sea) -> None:
    second = sea.h.publisher(topics.REFERENCE)
    sea.run(sea.says("more than one publisher of /fleet/reference"), "the warning", most_s=6.0)
    assert "harness" in {v.key: v.value for v in sea.last().values}["reason"]
    sea.h.node.destroy_publisher(second)
    sea.run(sea.says("following"), "following", most_s=6.0)


def test_parameters_at_run_time(sea: Sea) -> None:
    node = f"/{ME}/mpc"
    assert sea.h.set_parameters(node, {"weights.position_xy": 60.0, "ring.radius_m": 1.4}).successful
    refused = sea.h.set_parameters(node, {"limits.distance_soft_m": 0.1})
    assert not refused.successful and "distance_hard_m" in refused.reason
    assert "out of range" in sea.h.set_parameters(node, {"weights.position_xy": -5.0}).reason
    assert "read-only" in sea.h.set_parameters(node, {"fine_steps": 3}).reason
    assert "read-only" in sea.h.set_parameters(node, {"gate.odometry_age_s": 3.0}).reason
    # The optimisation itself has changed: kept further off, it plans to leave its place.
    assert sea.h.set_parameters(node, {"limits.distance_soft_m": 3.0}).successful
    sea.run(lambda: convert.plan_from_message(sea.plans[-1]).positions_m[-1, 1] < -1.15, "a plan further off")
    assert sea.h.set_parameters(node, {"limits.distance_soft_m": 2.0}).successful


def test_messages_that_make_no_sense_are_survived(sea: Sea) -> None:
    sea.plan.publish(MultiDOFJointTrajectory(joint_names=["nonsense"]))
    sea.reference.publish(MultiDOFJointTrajectory())
    sea.formation.publish(String(data=json.dumps({"offsets": 3})))
    for _ in range(10):
        sea.tick()
    assert sea.h.children[f"/{ME}/mpc"].running
    assert sea.says("following")()


def test_clock_going_back_starts_over(sea: Sea) -> None:
    sea.t_s = 0.0
    plans = len(sea.plans)
    sea.run(lambda: any(convert.from_stamp(m.header.stamp) < 5.0 for m in sea.plans[plans:]), "plans of the new time")
    sea.run(sea.says("following"), "following")


def test_zero_thrust_is_its_last_word(sea: Sea) -> None:
    """Last: afterwards there is no controller."""
    child = sea.h.children[f"/{ME}/mpc"]
    child.signal(signal.SIGTERM)
    sea.h.spin(lambda: not child.running, "the end")
    sea.h.linger(0.2)
    assert child.code == 0
    assert sea.is_zero()
