"""The worlds: what Gazebo needs is in them, and the standard paths are clear of what stands in the water."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.guidance.paths import standard_path
from shoal.vehicles.description import load_vehicle
from shoal_gazebo.frames import rotation_rpy
from shoal_gazebo.world_reader import read_world
from shoal_gazebo.worlds import JACKET_EN_M, WORLDS, _tank, jacket

ROOT = Path(__file__).parents[3]
PATHS = ("line", "circle", "spiral", "torus")


@pytest.mark.parametrize("name", WORLDS)
def test_systems_and_water(name: str) -> None:
    world = read_world(ROOT / "worlds" / f"{name}.sdf")
    vehicle = load_vehicle("bluerov2_heavy")
    assert world.name == name
    for kind in ("Physics", "UserCommands", "SceneBroadcaster", "Buoyancy", "Sensors"):
        assert world.has(kind)
    assert -world.gravity_enu[2] * vehicle.mass_kg == pytest.approx(vehicle.weight_N, abs=1e-9)
    assert world.gravity_enu[:2] == pytest.approx([0, 0])
    assert (world.surface_m, world.density_kgpm3, world.step_s) == (0.0, 1000.0, 0.001)


def test_only_the_ocean_has_a_current() -> None:
    assert read_world(ROOT / "worlds/ocean.sdf").current_enu == (0.1, 0.0, 0.0)
    assert read_world(ROOT / "worlds/tank.sdf").current_enu == (0.0, 0.0, 0.0)


def points(name: str) -> np.ndarray:
    path = standard_path(name)
    ned = np.array(path.position(np.linspace(0, path.duration_s, 400)))
    return ned[:, [1, 0, 2]] * [1, 1, -1]


@pytest.mark.parametrize("name", PATHS)
def test_the_tank_holds_the_standard_paths(name: str) -> None:
    """With room for vehicles 2.2 m to either side of the setpoint."""
    data = _tank()
    (x, y, depth), (east, north) = data["basin_size"], data["basin_at"]
    enu = points(name)
    assert np.max(np.abs(enu[:, 0] - east)) < x / 2 - 2.5
    assert np.max(np.abs(enu[:, 1] - north)) < y / 2 - 2.5
    assert -depth + 1 < enu[:, 2].min() and enu[:, 2].max() < -1


@pytest.mark.parametrize("name", PATHS)
def test_the_jacket_is_clear_of_the_standard_paths(name: str) -> None:
    away = np.linalg.norm(points(name)[:, :2] - JACKET_EN_M, axis=1)
    assert away.min() > 2 * np.sqrt(2) + 2.5


def test_tubes_end_where_they_should() -> None:
    """A leg from the bed to above the surface, read back through SDF's own rotation."""
    leg = next(t for t in jacket() if t.name == "leg_2")
    half = rotation_rpy(*leg.rpy) @ [0, 0, leg.length / 2]
    assert leg.at - half == pytest.approx([-2.0, 2.0, 0.0])
    assert leg.at + half == pytest.approx([-0.8, 0.8, 17.0])


def test_a_world_without_buoyancy_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dry.sdf"
    path.write_text('<sdf version="1.10"><world name="dry"/></sdf>')
    with pytest.raises(ShoalError, match="no Buoyancy"):
        read_world(path)
    path.write_text('<sdf version="1.10"/>')
    with pytest.raises(ShoalError, match="no <world>"):
        read_world(path)


def test_worlds_of_others_are_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "plain.sdf"
    plugin = '<plugin filename="gz-sim-buoyancy-system" name="gz::sim::systems::Buoyancy">{}</plugin>'
    inside = plugin.format("<uniform_fluid_density>1025</uniform_fluid_density>")
    path.write_text(f'<sdf version="1.10"><world name="plain">{inside}</world></sdf>')
    world = read_world(path)
    assert (world.water.gravity_mps2, world.water.density_kgpm3, world.surface_m) == (9.8, 1025.0, None)
    assert (world.step_s, world.current_enu) == (0.001, (0.0, 0.0, 0.0))
    path.write_text(f'<sdf version="1.10"><world name="plain">{plugin.format("")}</world></sdf>')
    assert read_world(path).density_kgpm3 == 1000.0
