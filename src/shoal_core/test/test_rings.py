"""Rings of any size: who sees whom across them, at which angle, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from shoal.commands.check import check_file
from shoal.errors import ShoalError, ShoalWarning
from shoal.fleet.file import Fleet
from shoal.fleet.generate import resolve_fleet, ring_fleet
from shoal.fleet.placement import SPARE_DEG, assign, sight_problem, widest_sight
from shoal.fleet.topology import Pairs, pairs
from shoal.messages.geometry import fov_angles_deg
from shoal.simulation.conditions import load_condition
from shoal.tasks.base import TaskContext, TaskSettings
from shoal.tasks.follow_path import FollowPath
from shoal.tasks.run import RunSpec, build_run

SIZES = range(2, 21)


def groups(names: tuple[str, ...], sight: Pairs) -> int:
    """How many parts the graph has that see nothing of each other."""
    left, count = set(names), 0
    while left:
        count, front = count + 1, [left.pop()]
        while front:
            here = front.pop()
            found = {b for a, b in sight if a == here and b in left}
            left -= found
            front += found
    return count


def bearing_angles_deg(count: int, chosen: Pairs) -> list[float]:
    """By elementary geometry: half the angle between the two that each vehicle sees from its corner of a polygon."""
    corners = {f"v{i}": np.exp(2j * np.pi * i / count) for i in range(count)}
    angles = []
    for name, here in corners.items():
        first, *rest = [corners[b] - here for a, b in chosen if a == name]
        angles.append(abs(np.degrees(np.angle(rest[0] / first))) / 2 if rest else 0.0)
    return angles


@pytest.mark.parametrize("count", range(2, 65))
def test_across_is_one_closed_chain_seen_close_to_the_bow(count: int) -> None:
    names = tuple(f"v{i}" for i in range(count))
    found = pairs("across", names)
    assert {(b, a) for a, b in found} == set(found) and len(set(found)) == len(found)
    assert {sum(a == n for a, _ in found) for n in names} == {min(2, count - 1)}
    for gone in names[: 3 if count > 3 else 0]:  # and it stays connected without any one of them
        rest = tuple(n for n in names if n != gone)
        assert groups(rest, tuple(p for p in found if gone not in p)) == 1
    assert groups(names, found) == 1
    expected = 22.5 if count == 4 else 90 / count if count % 2 else 0.0 if count == 2 else 180 / count
    assert max(bearing_angles_deg(count, found)) == pytest.approx(expected)


@pytest.mark.parametrize("count", SIZES)
def test_fleets_of_any_size_stand_with_ten_degrees_to_spare_and_start_so(count: int) -> None:
    fleet = resolve_fleet(str(count))
    assert sight_problem(fleet) == ""
    context = TaskContext(fleet, load_condition("default"), TaskSettings(), "circle", seed=count)
    index = {name: i for i, name in enumerate(fleet.names)}
    states = np.array([state.array for state in FollowPath(context).start().values()])
    placement = assign(fleet, fleet.formation, {n: states[i, :3] for n, i in index.items()}, states[:, :3].mean(axis=0))
    sight = tuple((index[a], index[b]) for a, b in placement.sight)
    assert fov_angles_deg(states[None], sight).max() <= fleet.sight.hard_deg - SPARE_DEG


def wrong_ring() -> Fleet:
    """Six that see the next to either side, 60° off the bow."""
    fleet = ring_fleet(6)
    return fleet.model_copy(update={"sight": fleet.sight.model_copy(update={"topology": "star", "stride": 1})})


def test_a_choice_that_cannot_be_kept_is_obeyed_and_said() -> None:
    fleet = wrong_ring()
    starts = {m.name: np.array(m.start_m) for m in fleet.vehicles}
    placement = assign(fleet, fleet.formation, starts, np.mean(list(starts.values()), axis=0))
    assert widest_sight(placement)[0] == pytest.approx(60.0)
    problem = sight_problem(fleet)
    assert "60° off its bow" in problem and "60 cannot be kept" in problem and "expected less than 50°" in problem
    with pytest.warns(ShoalWarning, match="fleet 'ring6': sight.topology = 'star'"):
        build_run(RunSpec(fleet=fleet))
    wide = fleet.model_copy(update={"sight": fleet.sight.model_copy(update={"hard_deg": 65.0})})
    assert "hard_deg = 65 leaves only 5°" in sight_problem(wide)
    assert sight_problem(wide, spare_deg=0.0) == ""


def test_check_refuses_a_fleet_file_that_cannot_keep_its_limits(tmp_path: Path) -> None:
    (tmp_path / "fleets").mkdir()
    file = tmp_path / "fleets" / "wrong.yaml"
    file.write_text(yaml.safe_dump(wrong_ring().model_dump(mode="json", exclude_none=True)))
    with pytest.raises(ShoalError, match=r"wrong.yaml: sight.topology = 'star': .* 60° off its bow"):
        check_file(file)
    file.write_text(yaml.safe_dump(ring_fleet(6).model_dump(mode="json", exclude_none=True)))
    assert "6 vehicles" in check_file(file)
