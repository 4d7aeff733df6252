"""Distances of vehicles that are more than a point: long ones, and several that are joined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.assembly.composite import compose
from shoal.assembly.file import load_assembly
from shoal.assembly.joints import Assembly, Joint
from shoal.evaluation.distance import METRICS
from shoal.fleet.file import Fleet, load_fleet
from shoal.fleet.hull_gaps import HullGaps, Hulls, gaps_along
from shoal.fleet.membership import Membership
from shoal.frames import from_yaw, rotation_matrix
from shoal.messages.geometry import all_pairs, distances_m
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, build_run
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.hull_points import hull_points_m

RAFT = hull_points_m(load_assembly("raft20").composite().vehicle)
ROV = load_vehicle("bluerov2_heavy")
CENTRE = np.zeros((1, 3))


def random_states(rng: np.random.Generator, *shape: int) -> np.ndarray:
    states = rng.standard_normal((*shape, 13))
    states[..., POSITION] *= 5.0
    states[..., ATTITUDE] /= np.linalg.norm(states[..., ATTITUDE], axis=-1, keepdims=True)
    return states


def test_points_of_vehicles() -> None:
    np.testing.assert_array_equal(hull_points_m(ROV), CENTRE)
    assert len(RAFT) == 20 and np.abs(RAFT).max() > 1.0
    long = hull_points_m(replace(ROV, size_m=(4.0, 1.0, 0.5)))
    assert len(long) >= 4 and not long[:, 1:].any()
    assert np.diff(long[:, 0]).max() <= 1.0 and np.abs(long[:, 0]).max() == pytest.approx(1.5)


def test_distances_between_hulls_by_brute_force() -> None:
    states = random_states(np.random.default_rng(0), 7, 3)
    hulls = [RAFT, CENTRE, RAFT[:4]]
    found = distances_m(states, hulls)
    for t in range(7):
        points = [states[t, v, POSITION] + hulls[v] @ rotation_matrix(states[t, v, ATTITUDE]).T for v in range(3)]
        for column, (a, b) in enumerate(all_pairs(3)):
            nearest = min(float(np.linalg.norm(p - q)) for p in points[a] for q in points[b])
            assert found[t, column] == pytest.approx(nearest, abs=1e-12)
    np.testing.assert_array_equal(distances_m(states, [CENTRE] * 3), distances_m(states))


def test_what_is_kept_off_further_makes_up_for_the_hulls() -> None:
    """At the closest instant: distance between centres less the margin is the distance between hulls."""
    rng, times_s = np.random.default_rng(1), np.arange(6.0)
    states = random_states(rng, 6)
    there, headings = 5.0 * rng.standard_normal((6, 3)), rng.uniform(-3, 3, 6)
    plan = Plan("raft", 1, 0.0, times_s, there, np.zeros((6, 3)), headings_rad=headings)
    gaps = HullGaps(Hulls(RAFT[:3], {"raft": RAFT}), times_s, states)
    margin_m = gaps.of_plans([plan], there[None], times_s)[0]
    other = np.zeros((6, 13))
    other[:, POSITION], other[:, ATTITUDE] = there, from_yaw(headings)
    hulls_m = distances_m(np.stack([states, other], axis=1), [RAFT[:3], RAFT])[:, 0]
    centres_m = np.linalg.norm(states[:, POSITION] - there, axis=1)
    k = int(np.argmin(hulls_m))
    assert margin_m == pytest.approx(max(0.0, centres_m[k] - hulls_m[k]), abs=1e-9) and margin_m > 0.3
    unknown = gaps.of_plans([replace(plan, headings_rad=None)], there[None], times_s)[0]
    assert unknown >= margin_m  # without a heading the worst one counts


def test_members_know_the_hulls_of_all_groups() -> None:
    """In the frame of the group's plan: that of the composite which its pilot flies."""
    run = build_run(RunSpec(fleet="three", duration_s=0.1))
    names = run.fleet.names
    vehicles = dict.fromkeys(names, ROV)
    at = np.array([0.0, 0.7, 0.0])
    joint = DrawnJoint(names[0], names[1], at / 2, -at / 2, np.array([1.0, 0.0, 0.0, 0.0]))
    for me in names:
        runtime = run.simulator.runtimes[me]
        member = Membership(runtime, vehicles)
        assert runtime.agent.hulls.compact
        assert gaps_along(runtime.agent.hulls, None, 0.0, np.zeros(13)) is None  # and nothing is worked out
        member.on_assembly(Joining(1, (joint,)), 0.0)
        drawn = Joint(joint.a, joint.b, joint.at_a_m, joint.at_b_m, joint.attitude)
        group = compose(Assembly(vehicles, (drawn,)), names[:2]).vehicle
        hulls = runtime.agent.hulls
        for name in names[:2]:
            found = hulls.own_m if name == me else hulls.of(name)
            np.testing.assert_allclose(found, hull_points_m(group), atol=1e-12)
        assert not (hulls.own_m if me == names[2] else hulls.of(names[2])).any()
        member.on_assembly(Joining(2), 0.1)
        assert runtime.agent.hulls.compact


def swum(*, centres_only: bool) -> Recording:
    """A single ROV is sent to a place beside two joined ones that is too close to the nearer of them."""
    data = load_fleet("mixed").model_dump(mode="json")
    data["vehicles"] = [v for v in data["vehicles"] if v["name"] in ("rov", "pair")]
    data["vehicles"] = [{k: x for k, x in v.items() if x is not None} for v in data["vehicles"]]
    for member in data["vehicles"]:
        if "assembly" in member:
            member.pop("type")
    data["formation"] = {"kind": "offsets", "offsets_m": {"rov": [0, 0.5, 0], "pair": [0, -0.5, 0]}}
    run = build_run(RunSpec(fleet=Fleet.model_validate(data), condition="ideal", duration_s=8.0))
    for runtime in run.simulator.runtimes.values():
        if centres_only:
            runtime.set_hulls(Hulls())
    run.simulator.run()
    return run.recording()


def test_a_vehicle_keeps_off_the_nearest_hull_of_two_joined_ones() -> None:
    """They begin at their places, 0.7 m between the hulls; both soft and hard limits count between hulls."""
    with_hulls, without = swum(centres_only=False), swum(centres_only=True)
    kept, ignored = with_hulls.distances_m[-1, 0], without.distances_m[-1, 0]
    centres_m = float(distances_m(with_hulls.states)[-1, 0])
    assert centres_m > kept + 0.15
    assert kept > ignored + 0.15 and kept > with_hulls.limits.distance_hard_m
    smallest = {m.name: m for m in METRICS}["distance_min_m"](with_hulls)  # the verdict is between hulls
    assert smallest is not None and smallest.number == pytest.approx(float(with_hulls.distances_m.min()))
