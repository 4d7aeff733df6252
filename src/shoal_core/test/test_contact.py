"""Contact, ports and latch, by closed forms: distances, energy, Coulomb's law, tolerances."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from shoal.config.files import find_config
from shoal.errors import ShoalError
from shoal.frames import from_euler, from_yaw, matrix, multiply
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY, State
from shoal.simulation.contact import Berth, Capsule, Contacts, Fender, closest, hull_of, touch, wrench
from shoal.simulation.plant import Plant
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.parameters import mass_matrix
from shoal.vehicles.ports import Port, caught, magnet_N, mating
from vehicles_for_tests import shipped

Array = NDArray[np.float64]
BALL = (Capsule(np.zeros(3), np.zeros(3), 0.2),)
ELASTIC = Fender(damping_spm=0.0, friction=0.0)
BOW = Port("bow", np.array([0.23, 0, 0]), np.array([1.0, 0, 0]), np.array([0.0, 0, -1]))


def test_nearest_points_of_segments_against_a_grid() -> None:
    rng, share = np.random.default_rng(1), np.linspace(0, 1, 301)[:, None]
    for _ in range(40):
        p1, q1, p2, q2 = rng.normal(size=(4, 3))
        a, b = closest(p1, q1, p2, q2)
        grid = np.linalg.norm((p1 + share * (q1 - p1))[:, None] - (p2 + share * (q2 - p2))[None], axis=2)
        assert np.linalg.norm(a - b) == pytest.approx(grid.min(), abs=1e-3)
        assert np.linalg.norm(a - b) <= grid.min() + 1e-12
    a, b = closest(np.zeros(3), np.array([1.0, 0, 0]), np.array([0.5, 1.0, 0]), np.array([1.5, 1.0, 0]))  # parallel
    assert np.linalg.norm(a - b) == pytest.approx(1.0)


def test_hull_is_as_long_wide_and_high_as_the_box() -> None:
    size = (0.46, 0.34, 0.25)
    ends = np.array([[c.start_m, c.end_m] for c in hull_of(size)]).reshape(-1, 3)
    np.testing.assert_allclose(2 * (np.abs(ends).max(axis=0) + hull_of(size)[0].radius_m), size)


def collide(fender: Fender, speed: tuple[float, float], seconds: float = 0.5) -> tuple[Array, list[float], float]:
    """Two balls of 10 kg, the second one coming from the north; h = 0.2 ms. Energies, and the deepest contact."""
    mass, h = 10.0, 2e-4
    a, b = State.at_rest((0, 0, 0)).array, State.at_rest((0.4 + 1e-6, 0, 0)).array
    b[7], b[8] = -speed[0], speed[1]
    energies, deepest = [], 0.0
    for _ in range(round(seconds / h)):
        found = touch(BALL, a, BALL, b, fender)
        if found is not None:
            deepest = max(deepest, found.depth_m)
            for x, sign in ((a, -1.0), (b, 1.0)):
                x[VELOCITY] += h / mass * wrench(x, sign * found.force_N, found.place_m)[:3]
        for x in (a, b):
            x[POSITION] += h * x[VELOCITY]
        energies.append(mass / 2 * (a[VELOCITY] @ a[VELOCITY] + b[VELOCITY] @ b[VELOCITY]))
    return np.array([a, b]), energies, deepest


def test_elastic_collision_hands_the_velocity_over() -> None:
    """Equal masses: δ_max = v √(m/2k), and afterwards the other one moves."""
    speed = 0.1
    after, energies, deepest = collide(ELASTIC, (speed, 0.0))
    np.testing.assert_allclose(after[:, 7], [-speed, 0.0], atol=1e-4)
    assert deepest == pytest.approx(speed * math.sqrt(5.0 / ELASTIC.stiffness_Npm), rel=0.01)
    assert energies[-1] == pytest.approx(0.5 * 10 * speed**2, rel=1e-3)


def test_damping_loses_energy_keeps_momentum_and_never_pulls() -> None:
    after, energies, _ = collide(Fender(damping_spm=8.0, friction=0.0), (0.1, 0.0))
    assert after[:, 7].sum() == pytest.approx(-0.1, abs=1e-9)
    restitution = (after[1, 7] - after[0, 7]) / 0.1
    assert 0.3 < restitution < 0.95
    assert energies[-1] < 0.95 * 0.05
    leaving = State.at_rest((0.39, 0, 0)).array
    leaving[7] = 10.0
    found = touch(BALL, State.at_rest((0, 0, 0)).array, BALL, leaving, Fender(damping_spm=8.0))
    assert found is not None
    assert found.force_N @ found.normal == 0.0


def test_friction_is_coulombs() -> None:
    """μ times the normal force against the sliding, whatever its speed above the creep speed."""
    a = State.at_rest((0, 0, 0)).array
    for sideways in (0.02, 0.5):
        b = State.at_rest((0.39, 0, 0)).array
        b[8], b[9] = 0.6 * sideways, 0.8 * sideways
        found = touch(BALL, a, BALL, b, Fender(friction=0.3, damping_spm=0.0))
        assert found is not None
        np.testing.assert_allclose(found.force_N, 4000 * 0.01 * np.array([1.0, -0.3 * 0.6, -0.3 * 0.8]), atol=1e-9)


def test_force_acts_where_they_touch() -> None:
    state = State.at_rest((1.0, 2.0, 5.0), 0.4).array
    state[ATTITUDE] = from_euler(0.2, -0.3, 0.4)
    force, place = np.array([3.0, -1.0, 2.0]), np.array([1.3, 2.1, 4.8])
    found = wrench(state, force, place)
    turn = matrix(state[ATTITUDE])
    np.testing.assert_allclose(turn @ found[:3], force)
    np.testing.assert_allclose(turn @ found[3:], np.cross(place - state[:3], force), atol=1e-12)


def facing(gap_m: float, port: Port = BOW, turned: Array | None = None) -> tuple[Array, Array]:
    """Bow to bow, so far apart."""
    a = State.at_rest((0, 0, 5.0), 0.3).array
    b = a.copy()
    b[ATTITUDE] = multiply(multiply(a[ATTITUDE], from_yaw(math.pi)), from_yaw(0.0) if turned is None else turned)
    tip = a[POSITION] + matrix(a[ATTITUDE]) @ (port.place_m + gap_m * port.direction)
    b[POSITION] = tip - matrix(b[ATTITUDE]) @ port.place_m
    return a, b


def test_mating_error_of_ports() -> None:
    a, b = facing(0.0)
    exact = mating(BOW, a, BOW, b)
    np.testing.assert_allclose(exact.gap_m, 0.0, atol=1e-12)
    assert exact.angle_deg == pytest.approx(0.0, abs=1e-5)
    assert caught(BOW, BOW, exact)
    near, far = facing(0.02, turned=from_euler(math.radians(2), 0, 0))
    rolled = mating(BOW, near, BOW, far)
    assert rolled.angle_deg == pytest.approx(2.0)
    assert (rolled.closing_m, rolled.lateral_m) == (pytest.approx(0.02), pytest.approx(0.0, abs=1e-9))
    b[7], b[12] = 0.05, 0.1
    moving = mating(BOW, a, BOW, b)
    assert moving.speed_mps == pytest.approx(math.hypot(0.05, 0.1 * 0.23))


@pytest.mark.parametrize(
    ("gap_m", "turned_deg", "speed_mps", "closes"),
    [(0.02, 2.0, 0.05, True), (0.03, 0, 0, False), (0.0, 4.0, 0, False), (0.0, 0, 0.12, False)],
    ids=["inside", "too far", "askew", "too fast"],
)
def test_latch_closes_inside_its_tolerance(gap_m: float, turned_deg: float, speed_mps: float, closes: bool) -> None:
    a, b = facing(gap_m, turned=from_yaw(math.radians(turned_deg)))
    b[7] = speed_mps
    assert caught(BOW, BOW, mating(BOW, a, BOW, b)) is closes


def test_magnet_is_half_at_its_reach() -> None:
    strong = replace(BOW, magnet_N=20.0, magnet_reach_m=0.04)
    assert magnet_N(strong, strong, 0.0) == 20.0
    assert magnet_N(strong, strong, 0.04) == pytest.approx(10.0)
    assert magnet_N(strong, BOW, 0.0) == 0.0


def two(gap_m: float, speed_mps: float, port: Port = BOW) -> tuple[Contacts, Vehicle]:
    vehicle = replace(shipped("wu2018"), linear_damping=np.zeros((6, 6)), quadratic_damping=np.zeros((6, 6)))
    vehicle = replace(vehicle, weight_N=100.0, buoyancy_N=100.0)
    port = replace(port, place_m=np.array([vehicle.size_m[0] / 2, 0, 0]))
    a, b = facing(gap_m, port)
    b[7] = speed_mps
    plant = Plant([vehicle, vehicle], np.array([a, b]))
    return Contacts(plant, Berth(0, 1, port, port)), vehicle


def idle(vehicle: Vehicle) -> list[Array]:
    return [np.zeros(vehicle.input_count)] * 2


def test_plant_collision_keeps_momentum_and_loses_energy() -> None:
    """Too fast for the latch: they bounce, and the speed of the impact is on record."""
    contacts, vehicle = two(0.05, 0.3)
    contacts.step(idle(vehicle), 0.4)  # they part after 0.3 s; later their yaw makes sway of it
    a, b = contacts._plant.states
    assert not contacts.latched
    assert contacts.impacts_mps == [pytest.approx(0.3, abs=0.005)]
    mass = mass_matrix(vehicle)[0, 0]
    assert -a[7] + b[7] == pytest.approx(0.3, abs=2e-3)  # bow to bow: their x axes are opposed
    assert 0.5 * mass * (a[7] ** 2 + b[7] ** 2) < 0.99 * 0.5 * mass * 0.3**2
    assert np.linalg.norm(a[:3] - b[:3]) > vehicle.size_m[0]


def test_latch_closes_in_the_plant_and_opens_on_command() -> None:
    contacts, vehicle = two(0.05, 0.08)
    for _ in range(100):
        if not contacts.latched:
            contacts.step(idle(vehicle), 0.01)
    assert contacts.latched
    contacts.unlatch()
    contacts.step(idle(vehicle), 0.05)  # still inside the tolerance
    assert not contacts.latched
    contacts.armed = True
    contacts.step(idle(vehicle), 0.01)
    assert contacts.latched


def test_magnet_pulls_resting_vehicles_together() -> None:
    weak, vehicle = two(0.06, 0.0)
    weak.step(idle(vehicle), 2.0)
    assert not weak.latched
    strong, _ = two(0.06, 0.0, replace(BOW, magnet_N=1.0))
    strong.step(idle(vehicle), 2.0)
    assert strong.latched


def vehicle_file(tmp_path: Path, **port: object) -> Path:
    data = yaml.safe_load(find_config("vehicles", "bluerov2_heavy").read_text())
    data["ports"] = [{"name": "bow", "position_m": [0.23, 0, 0], "direction": [2, 0, 0]} | port]
    path = tmp_path / "rov.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_ports_come_from_the_vehicle_file(tmp_path: Path) -> None:
    (port,) = load_vehicle(vehicle_file(tmp_path, catch_m=0.03, magnet_N=5.0)).ports
    np.testing.assert_allclose(port.axes, np.column_stack([[1, 0, 0], [0, -1, 0], [0, 0, -1]]), atol=1e-12)
    assert (port.name, port.catch_m, port.magnet_N) == ("bow", 0.03, 5.0)
    assert port.camera is None and port.marker is None
    assert [p.name for p in load_vehicle("bluerov2_heavy").ports] == ["bow", "stern", "port", "starboard"]
    assert load_vehicle("bluerov2").ports == ()


@pytest.mark.parametrize(
    "wrong", [{"direction": [0, 0, 0]}, {"up": [1, 0, 0]}, {"catch_m": -1}, {"magnet_reach_m": 0.1}, {"size": 3}]
)
def test_ports_that_make_no_sense_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(ShoalError, match=r"rov\.yaml.*ports.*expected"):
        load_vehicle(vehicle_file(tmp_path, **wrong))
