"""Who of two that dock moves is negotiated by their ports, over plans that may be lost; a blind one is fetched."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.docking.part import ACCEPTED, LEADS, spokesman
from shoal.docking.partner import PartnerTrack
from shoal.docking.phases import Phase
from shoal.docking.yielding import MOST, Yielding
from shoal.frames import from_yaw, matrix
from shoal.messages.docking import DockingFeedback, DockingOrder, DockingWord
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.recordings.codec import plan_from_bytes, plan_to_bytes
from shoal.simulation.conditions import Condition
from shoal.tasks.run import RunSpec, build_run

BIASED = {"position_bias_std_m": 0.2, "heading_bias_std_deg": 2.0}


def word(turn: int, view: float) -> DockingWord:
    return DockingWord(7, turn, view)


def plan(docking: DockingWord | None = None) -> Plan:
    times = np.array([0.0, 1.0])
    places = np.array([[1.0, 2.0, 3.0], [1.5, 2.0, 3.0]])
    return Plan("b", 1, 0.0, times, places, np.zeros((2, 3)), headings_rad=np.zeros(2), docking=docking)


@pytest.mark.parametrize("seed", range(5))
def test_never_two_move_whatever_is_lost_and_the_one_that_sees_ends_up_moving(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = Yielding(7, True), Yielding(7, False)
    views, phases = [0.0, 50.0], list(Phase)
    for k in range(1200):
        t_s = 0.1 * k
        if k == 600:
            views.reverse()
        for one, view in zip(sides, views, strict=True):
            late = k >= 1000  # then the first one's eye is out for good, and it is never too near
            one.decide(t_s, view, Phase.APPROACH if late else phases[rng.integers(len(phases))])
        for one, other, view in ((*sides, views[0]), (*sides[::-1], views[1])):
            if k % 5 == 0 and rng.random() > 0.3:
                other.hear(word(one.turn, view), t_s)
        assert not (sides[0].moves and sides[1].moves)
    assert sides[0].turn == sides[1].turn == 2
    assert sides[0].moves


def test_it_is_not_given_away_lightly() -> None:
    mine = Yielding(7, True)
    for k in range(100):
        mine.hear(DockingWord(6, 9, 99.0), 0.1 * k)  # of another order
        mine.decide(0.1 * k, 1.0, Phase.APPROACH)
    assert mine.moves
    for k in range(100, 200):  # better, and not markedly
        mine.hear(word(0, 2.9), 0.1 * k)
        mine.decide(0.1 * k, 1.0, Phase.APPROACH)
    assert mine.moves
    for k in range(200, 300):  # with the ports near each other
        mine.hear(word(0, 99.0), 0.1 * k)
        mine.decide(0.1 * k, 0.0, Phase.CLOSE)
    assert mine.moves
    mine.decide(30.0, 0.0, Phase.ABORT)
    mine.decide(35.0, 0.0, Phase.ALIGN)  # its word is too old
    assert mine.moves
    for k in range(4000):
        mine.hear(word(mine.turn + (not mine.moves), 99.0), 40.0 + 0.1 * k)
        mine.decide(40.0 + 0.1 * k, 0.0, Phase.ALIGN)
    assert mine.turn == MOST  # not to and fro for ever


def test_the_word_goes_with_the_plan() -> None:
    short, long = word(1, 12.5), DockingWord(7, 2, 0.25, (0.123, -4.5, 0.006), -0.0349)
    for sent in (None, short, long):
        found = plan_from_bytes(plan_to_bytes(plan(sent))).docking
        assert found == sent
    assert plan(long).payload_bits - plan().payload_bits == 96
    assert plan(short).payload_bits - plan().payload_bits == 32


def test_one_that_sees_nothing_believes_what_the_other_sees_of_it() -> None:
    """As a rigid turn of the other's navigation: right at any distance, with both headings off."""
    truth, mine_off, its_off = np.array([2.0, 0.5, -0.2]), np.array([0.3, -0.2, 0.1]), np.array([-0.2, 0.4, 0.0])
    mine_rad, its_rad = math.radians(3.0), math.radians(-2.0)
    own = State.at_rest(tuple(mine_off), mine_rad).array  # in truth at the origin, heading north
    other_says = truth + its_off
    seen_of_us = other_says + matrix(from_yaw(its_rad)) @ -truth  # the other, heading north, sees us at −truth
    off = seen_of_us - mine_off
    track = PartnerTrack(np.zeros(3))
    track.hear(DockingWord(7, 0, 30.0, tuple(off.tolist()), its_rad - mine_rad), 0.0)
    said = plan()
    positions = np.tile(other_says, (2, 1))
    said = Plan("b", 1, 0.0, said.times_s, positions, np.zeros((2, 3)), headings_rad=np.full(2, its_rad))
    odometry = Odometry(0.5, own)
    track.step(odometry, said)
    found = track.corrected(said)
    apart = matrix(own[ATTITUDE]).T @ (found.positions_m[0] - own[POSITION])
    np.testing.assert_allclose(apart, truth, atol=1e-9)
    assert found.headings_rad is not None and found.headings_rad[0] == pytest.approx(mine_rad)
    track.step(Odometry(9.0, own), said)
    np.testing.assert_allclose(track.corrected(said).positions_m, positions)  # too old


def test_the_word_on_an_order_is_that_of_whoever_moves() -> None:
    order = DockingOrder(7, "dock", "a", "stern", "b", "bow")

    def say(phase: str, tries: int = 0, counter: int = 7) -> DockingFeedback:
        return DockingFeedback(counter, phase, 0.0, 0.0, 0.0, 0.0, tries, "")

    assert spokesman(order, {"a": say(LEADS), "b": say(ACCEPTED)}) == say(ACCEPTED)
    assert spokesman(order, {"a": say("align", 1), "b": say(LEADS)}) == say("align", 1)
    assert spokesman(order, {"a": say("latched"), "b": say("latched", 2)}) == say("latched", 2)
    assert spokesman(order, {"a": say("align", 1), "b": say("close", 1, counter=6)}) == say("align", 1)
    assert spokesman(order, {"b": say("close", 1, counter=6)}) is None
    refused = DockingFeedback(7, ACCEPTED, 0.0, 0.0, 0.0, 0.0, 0, "", refused="no such port")
    assert spokesman(order, {"a": say(LEADS), "b": refused}) == refused


def run_of(task: str, fleet: str, faults: list[dict[str, object]], seed: int, **settings: object):  # type: ignore[no-untyped-def]
    condition = Condition.model_validate(
        {"name": "one is blind", "sensors": BIASED, "link": {"rate_hz": 2.0, "loss": 0.3}, "faults": faults}
    )
    run = build_run(RunSpec(fleet=fleet, condition=condition, seed=seed, task=task, task_settings=settings))
    world = run.simulator.world
    run.simulator.run(None, lambda t_s: run.task.finished(t_s, world.states))
    return run, run.recording()


def judged(recording) -> dict[str, float]:  # type: ignore[no-untyped-def]
    outcome = recording.outcome
    assert outcome is not None and outcome.reached_s is not None
    found: dict[str, float] = outcome.measured
    assert found["dock_speed_mps"] <= 0.1 and found["dock_angle_deg"] <= 2.0 and found["dock_beside"] == 0
    return found


def test_a_follower_whose_camera_fails_underway_is_fetched_by_the_leader() -> None:
    """As ordered it could only abort: by navigation alone nobody hits the port."""
    faults = [{"vehicle": 1, "kind": "camera_blind", "from_s": 4.0}]
    run, recording = run_of("dock", "two", faults, 31, swim_on_s=0.0, duration_s=60.0)
    found = judged(recording)
    assert found["dock_kbps"] <= 11.2  # 0.2 of which tell the blind one where it is
    began = next(t for t, phase in run.task._director.phases if phase == LEADS)
    moved = recording.states[-1, :, POSITION] - recording.states[np.searchsorted(recording.times_s, began), :, POSITION]
    leader, follower = np.linalg.norm(moved, axis=1)
    assert leader > 0.5 and follower < 0.3


def test_three_of_whom_the_last_is_blind_are_joined_by_the_pair_that_comes_to_it() -> None:
    faults = [{"vehicle": 2, "kind": "camera_blind"}]
    run, recording = run_of(
        "dock_chain", "three", faults, 25, first_m=1.5, settle_s=0.5, swim_on_s=0.0, duration_s=70.0
    )
    judged(recording)
    assert max(len(group) for group in run.simulator.world.groups) == 3
