"""Loads of joints from a recording: by Newton's second law by hand; who is joined is seen; the report shows both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoal.assembly.file import load_assembly
from shoal.evaluation.joint_loads import joint_loads
from shoal.fleet.file import load_fleet
from shoal.messages.state import POSITION, TWIST
from shoal.recordings.recording import About, Recording
from shoal.reports.bag_report import write_bag_report
from synthetic_runs import make_record

PUSH_N = 12.0


def tandem_at_rest() -> Recording:
    """The bow module alone pushes ahead, through its own origin; the lag of its thrusters has long passed."""
    composite, modules = load_assembly("tandem").composite(), load_assembly("tandem").assembly().modules
    base = make_record(duration_s=4.0, about={"fleet": "tandem"})
    count = len(base.times_s)
    states = np.zeros((count, 1, 13))
    states[:, :, POSITION], states[:, 0, 3] = [1.0, 2.0, 5.0], 1.0
    thrust = np.zeros((count, composite.vehicle.input_count))
    push = np.array([PUSH_N, 0.0, 0.0, 0.0, 0.0, 0.0])
    thrust[:, composite.inputs["bow"]] = np.linalg.pinv(modules["bow"].input_matrix) @ push
    (name,) = load_fleet("tandem").names
    one = {field: getattr(base, field)[:, :1] for field in (
        "setpoints_m", "solve_ms", "mode", "slack_max", "neighbour_age_s", "current_mps", "plans_m")}  # fmt: skip
    return replace(base, names=(name,), states=states, odometry=states, thrust_N={name: thrust}, must_see=(), **one)


def test_half_of_the_push_goes_through_the_joint() -> None:
    """Two equal modules at rest: both get the same acceleration, so the pushed one hands on half of it."""
    loads = joint_loads(tandem_at_rest(), load_fleet("tandem"))
    assert loads is not None and loads.pairs == (("bow", "stern"),)
    assert loads.force_N[-1] == pytest.approx([PUSH_N / 2], rel=1e-3)
    assert loads.moment_Nm[-1] == pytest.approx([0.0], abs=0.2)  # what rights them acts on both alike
    assert loads.force_N[0] < 0.1 * PUSH_N  # the thrusters lag


def pair(separation_m: float, apart_from_s: float = np.inf) -> Recording:
    run = make_record(duration_s=20.0, separation_m=separation_m)
    states = run.states.copy()
    free = run.times_s >= apart_from_s
    states[free, 1, 2] += 1e-3 * (run.times_s[free] - apart_from_s)  # a millimetre per second is no joint
    idle = {name: np.zeros((len(run.times_s), 8)) for name in run.names}
    return replace(run, states=states, thrust_N=idle, about=About(fleet="two"))


def test_vehicles_joined_on_their_way_are_seen_in_the_truth() -> None:
    fleet = load_fleet("two")
    loads = joint_loads(pair(0.7, apart_from_s=10.0), fleet)
    assert loads is not None and loads.pairs == (("rov1", "rov2"),)
    there = np.isfinite(loads.force_N[:, 0])
    assert loads.times_s[there].max() == pytest.approx(9.0, abs=0.3) and loads.times_s[there].min() == 0.0
    assert joint_loads(pair(0.7, apart_from_s=0.0), fleet) is None
    assert joint_loads(pair(3.0), fleet) is None  # too far apart to be joined
    assert joint_loads(pair(0.7), load_fleet("three")) is None  # of another fleet


def test_joints_are_between_neighbours() -> None:
    """Three abreast hold each other's poses, the outer ones as well; two joints say it all."""
    run = make_record(duration_s=4.0, separation_m=0.5)
    states = np.concatenate([run.states, run.states[:, :1]], axis=1)
    states[:, 2, POSITION] = (run.states[:, 0, POSITION] + run.states[:, 1, POSITION]) / 2
    wide = {field: np.concatenate([getattr(run, field), getattr(run, field)[:, :1]], axis=1) for field in (
        "setpoints_m", "solve_ms", "mode", "slack_max", "neighbour_age_s", "current_mps", "plans_m")}  # fmt: skip
    names = load_fleet("three").names
    idle = {name: np.zeros((len(run.times_s), 8)) for name in names}
    loads = joint_loads(
        replace(run, names=names, states=states, odometry=states, thrust_N=idle, **wide), load_fleet("three")
    )
    assert loads is not None and {frozenset(pair) for pair in loads.pairs} == {
        frozenset((names[0], names[2])), frozenset((names[1], names[2]))}  # fmt: skip


def test_masses_that_are_thrown_about_load_the_joint() -> None:
    """An acceleration of the whole at constant thrust zero: what free water would not do, the joint has to."""
    still = joint_loads(pair(0.7), load_fleet("two"))
    run = pair(0.7)
    states = run.states.copy()
    states[:, :, TWIST] = 0.0
    states[:, 0, TWIST] = [0.5, 0, 0, 0, 0, 0]  # ahead, and the other one, which looks at it, backwards
    states[:, 1, TWIST] = [-0.5, 0, 0, 0, 0, 0]
    moving = joint_loads(replace(run, states=states), load_fleet("two"))
    assert still is not None and moving is not None
    assert np.nanmax(moving.force_N) == pytest.approx(np.nanmax(still.force_N), abs=0.5)  # equal drag, nothing between
    states[:, 0, TWIST] = 0.0  # the one at rest is pulled along
    towing = joint_loads(replace(run, states=states), load_fleet("two"))
    assert towing is not None and np.nanmedian(towing.force_N) > 10.0


def test_the_report_has_the_composites_numbers_and_the_loads(tmp_path: Path) -> None:
    write_bag_report("tandem", [tandem_at_rest()], tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Assembly tandem of fleet tandem" in page and "top speed, surge" in page and "Joint loads over time" in page
    assert f">{PUSH_N / 2:.2f}<" in page and "bow – stern" in page
    write_bag_report("free", [pair(3.0)], tmp_path / "free")
    free = (tmp_path / "free" / "report.html").read_text(encoding="utf-8")
    assert "Joint loads" not in free and "Assembly " not in free
