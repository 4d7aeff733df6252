"""Paths as fast as the thrusters allow are followed, abreast and one behind the other, on straights and in turns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from shoal.control.base import ControllerContext
from shoal.control.nmpc.controller import NmpcController
from shoal.control.nmpc.nmpc import Goal, Others
from shoal.control.settings import Approach, NmpcSettings
from shoal.fleet.file import Fleet
from shoal.guidance.give_way import GiveWayRule, give_way
from shoal.messages.state import POSITION, State
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import Condition, Start
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.description import load_vehicle

Array = NDArray[np.float64]
RULE = GiveWayRule()
ABREAST_DEG, AHEAD_DEG = 90.0, 0.0
CONDITION = Condition(name="in_place", start=Start(radius_m=0.0))


def fleet(line_deg: float) -> Fleet:
    """Two vehicles 2.2 m apart, bows north, nobody to see."""
    axis = np.array([np.cos(np.radians(line_deg)), np.sin(np.radians(line_deg)), 0.0])
    members = [
        {
            "name": name,
            "start_m": tuple((side * 1.1 * axis + [0, 0, 5]).tolist()),
            "parameter_set": "wu2018",
            "thrust_limit_N": 16.6,
        }
        for name, side in (("a", -1), ("b", 1))
    ]
    formation = {"kind": "line", "spacing_m": 2.2, "line_deg": line_deg, "heading_deg": 0.0}
    given = {"version": 1, "name": "pair", "formation": formation, "sight": {"topology": "none"}, "vehicles": members}
    return Fleet.model_validate(given)


def path_file(folder: Path, points_m: Array, speed_mps: float) -> str:
    """At an even speed all along, from the first instant on."""
    limits = {"speed_mps": 9.0, "acceleration_mps2": 9.0}
    data = {"version": 1, "spline": "natural", "speed_mps": speed_mps, "limits": limits, "waypoints": points_m.tolist()}
    file = folder / "fast.yaml"
    file.write_text(yaml.safe_dump(data))
    return str(file)


def straight(length_m: float) -> Array:
    return np.array([[0.0, 0.0, 5.0], [length_m, 0.0, 5.0]])


def corner(radius_m: float, leg_m: float = 8.0) -> Array:
    """North, then east."""
    turn = np.linspace(0, np.pi / 2, 8)[1:-1, None]
    arc = [leg_m, radius_m, 5.0] + radius_m * np.hstack([np.sin(turn), -np.cos(turn), 0 * turn])
    legs = np.linspace(0, leg_m, 9)
    first = np.stack([legs, 0 * legs, 0 * legs + 5], axis=1)
    last = np.stack([0 * legs + leg_m + radius_m, radius_m + legs, 0 * legs + 5], axis=1)
    return np.vstack([first, arc, last])


def swim(path: str, line_deg: float, duration_s: float) -> Recording:
    return simulate(RunSpec(path=path, fleet=fleet(line_deg), condition=CONDITION, duration_s=duration_s))


def off_m(recording: Recording) -> Array:
    """(T,V) of each vehicle from its own place."""
    return np.asarray(np.linalg.norm(recording.states[:, :, POSITION] - recording.setpoints_m, axis=2))


@pytest.mark.parametrize("line_deg", [ABREAST_DEG, AHEAD_DEG])
@pytest.mark.parametrize("speed_mps", [0.6, 0.9, 1.2])
def test_straights_are_followed_to_five_centimetres(tmp_path: Path, speed_mps: float, line_deg: float) -> None:
    """With the approach's 0.45 m/s as the most a vehicle behind may swim: 3 m at 0.9 m/s. Dodging: 0.8 m at 0.6 m/s."""
    recording = swim(path_file(tmp_path, straight(60.0), speed_mps), line_deg, 16.0)
    settled = recording.times_s > 12.0
    assert off_m(recording)[settled].max() < 0.05
    speeds = np.linalg.norm(np.diff(recording.states[settled][:, :, POSITION], axis=0), axis=2) / 0.05
    assert speeds.mean() == pytest.approx(speed_mps, abs=0.01)
    x, y = recording.states[:, :, 4], recording.states[:, :, 5]
    assert np.degrees(np.arccos(1 - 2 * (x**2 + y**2))).max() < 30.0


def test_a_turn_at_080_is_followed_to_fifteen_centimetres(tmp_path: Path) -> None:
    recording = swim(path_file(tmp_path, corner(0.5), 0.8), ABREAST_DEG, 20.0)
    turning = (recording.times_s > 7.0) & (recording.times_s < 18.0)
    assert off_m(recording)[turning].max() < 0.15


def held(behind_m: float, speed_mps: float) -> tuple[Array, Array, Array]:
    """Times (M,), and what is aimed at by a vehicle that is so far behind a reference going north: place and speed."""
    settings, vehicle = NmpcSettings(), load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6)
    nmpc = NmpcController(ControllerContext("a", vehicle, settings, settings.limits, 0.05)).nmpc
    t, zero = nmpc.times_s, np.zeros_like(nmpc.times_s)
    north, speed = behind_m + speed_mps * t, np.full_like(t, speed_mps)
    goal = Goal(np.stack([north, zero, zero], axis=1), np.stack([speed, zero, zero], axis=1), zero)
    x0 = State.at_rest((0.0, 0.0, 0.0)).array
    nmpc.fill(x0, goal, Others.none(1, len(t)))
    return t, nmpc.problem.position_ref[:, 0], nmpc.problem.velocity_ref[:, 0]


def test_who_is_behind_aims_at_the_references_speed_and_that_of_approach() -> None:
    approach = Approach()
    t, north, speed = held(4.0, 0.8)
    np.testing.assert_allclose(north, approach.reach_m + (0.8 + approach.speed_mps) * t)
    np.testing.assert_allclose(speed, 0.8 + approach.speed_mps)
    t, north, speed = held(20.0, 0.0)  # at rest: as slow as ever
    np.testing.assert_allclose(north, approach.reach_m + approach.speed_mps * t)
    t, north, speed = held(0.5, 1.2)
    np.testing.assert_allclose(north, 0.5 + 1.2 * t)


def test_nobody_aims_at_more_than_its_vehicle_can_swim() -> None:
    """1.5 m/s with 16.6 N, by the data sheet."""
    for behind_m in (0.0, 4.0):
        t, north, speed = held(behind_m, 9.0)
        assert speed[-1] == pytest.approx(1.5, abs=0.1)
        assert north[-1] == pytest.approx(0.6 + 1.5 * t[-1], abs=0.2)


# -- give-way, as arithmetic ---------------------------------------------------------------------------------------


def turned_deg(move_m: tuple[float, float], behind_m: float = 0.0, there_m: tuple[float, float] = (2.3, 0.0)) -> float:
    """How far the way of a vehicle that goes 2.4 m north within the horizon is turned, one moving like that ahead."""
    share = np.linspace(0.0, 1.0, 21)[:, None]
    goal = np.hstack([behind_m + 2.4 * share, 0 * share, 0 * share])
    other = np.hstack([there_m[0] + move_m[0] * share, there_m[1] + move_m[1] * share, 0 * share])
    target = give_way(goal, np.zeros(3), other[None], 2.0, RULE)
    return float(np.degrees(np.arctan2(target[-1, 1], target[-1, 0])))


def test_who_swims_along_is_not_in_the_way() -> None:
    standing = turned_deg((0.0, 0.0))
    assert standing == pytest.approx(75.0 * (1 - 0.3 / 2.5))
    assert turned_deg((2.4, 0.0)) == 0.0
    assert turned_deg((3.0, 0.0)) == 0.0  # nor one that gets away
    assert turned_deg((2.0, 0.3)) == 0.0
    assert turned_deg((-2.4, 0.0)) == standing  # head-on as ever
    assert turned_deg((0.0, 2.4)) == standing  # one that crosses is where it is


def test_who_is_slower_is_passed() -> None:
    assert 0.0 < turned_deg((1.2, 0.0)) < turned_deg((0.6, 0.0)) < turned_deg((0.0, 0.0))
    assert turned_deg((2.4, 0.0), behind_m=3.0) > 20.0  # our place is beyond it
