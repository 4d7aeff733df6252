"""What the launch file hands to Gazebo: one model per vehicle, at its place, with its own numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoal.errors import ShoalError
from shoal.vehicles.description import load_vehicle
from shoal_gazebo.bringup import find_models, find_world, parse_current, prepare
from shoal_gazebo.check import check_model
from shoal_gazebo.frames import enu_yaw_rad, rotation_rpy, rpy_along_x
from shoal_gazebo.sdf_reader import read_model

MIXED = """
version: 1
name: mixed
sight: {topology: none, soft_deg: 20, hard_deg: 35}
vehicles:
  - {name: alpha, parameter_set: von_benzon2022, start_m: [1, 2, 3], heading_deg: 0}
  - {name: beta, parameter_set: ng2024, start_m: [-4, 0, 6], heading_deg: 90}
"""


def test_each_vehicle_has_its_own_model_and_place(tmp_path: Path) -> None:
    fleet = tmp_path / "mixed.yaml"
    fleet.write_text(MIXED)
    ready = prepare(fleet, "ocean", tmp_path / "out")
    assert ready.world.name == "ocean"
    assert set(ready.bridge_files) == {"shared", "alpha", "beta"}
    first, second = ready.spawns
    assert (first.x_m, first.y_m, first.z_m) == (2, 1, -3)
    assert (second.x_m, second.y_m, second.z_m) == (0, -4, -6)
    assert first.yaw_rad == pytest.approx(np.pi / 2), "north is left of east"
    assert second.yaw_rad == pytest.approx(0), "east"
    for spawn, name in zip(ready.spawns, ("von_benzon2022", "ng2024"), strict=True):
        model = read_model(spawn.model_file)
        assert model.name == spawn.name
        assert [
            f for f in check_model(model, load_vehicle("bluerov2_heavy", name), ready.world.water) if not f.ok
        ] == []
        assert model.cameras[0].fov_rad == pytest.approx(np.deg2rad(70)), "the fleet's own cone"
        assert model.systems("Hydrodynamics")[-1].values["default_current"] == "0.1 0 0", "the world's"
        assert model.systems("OdometryPublisher")[0].values["robot_base_frame"] == f"{spawn.name}/base_link"
    assert first.model_file.read_text() != second.model_file.read_text().replace("beta", "alpha")


def test_spawn_arguments(tmp_path: Path) -> None:
    spawn = prepare("two", "tank", tmp_path).spawns[0]
    assert spawn.arguments("tank") == [
        *("-world", "tank", "-file", str(tmp_path / "rov1.sdf"), "-name", "rov1"),
        *("-x", "-1.100000", "-y", "0.000000", "-z", "-5.000000", "-Y", "0.000000"),
    ]


def test_options(tmp_path: Path) -> None:
    ready = prepare("one", "ocean", tmp_path, camera=False, current_enu=(0.0, 0.25, 0.0))
    text = ready.spawns[0].model_file.read_text()
    assert "<default_current>0 0.25 0</default_current>" in text
    assert "<sensor" not in text
    assert "camera" not in ready.bridge_files["rov1"].read_text()


def test_current_as_text() -> None:
    assert parse_current(" ") is None
    assert parse_current("0.1, -0.2 0") == (0.1, -0.2, 0.0)
    for bad in ("0.1", "a b c", "0 0 nan"):
        with pytest.raises(ShoalError, match="current = "):
            parse_current(bad)


def test_worlds_are_found_by_name_or_path(tmp_path: Path) -> None:
    assert find_world("tank").name == "tank.sdf"
    assert (find_models()[0] / "bluerov2_heavy" / "model.sdf").is_file()
    own = tmp_path / "own.sdf"
    own.write_text("<sdf/>")
    assert find_world(own) == own
    with pytest.raises(ShoalError, match="ocean, tank"):
        find_world("pond")


@pytest.mark.parametrize("heading", [-180.0, -90.0, 0.0, 37.0, 90.0, 270.0])
def test_heading_to_yaw(heading: float) -> None:
    """The bow's direction is the same vector in both worlds."""
    h, yaw = np.deg2rad(heading), enu_yaw_rad(np.deg2rad(heading))
    assert [np.cos(yaw), np.sin(yaw)] == pytest.approx([np.sin(h), np.cos(h)])  # east, north
    assert -np.pi <= yaw <= np.pi


def test_x_axis_onto_any_direction() -> None:
    rng = np.random.default_rng(2)
    for direction in [*rng.normal(size=(20, 3)), np.array([0, 0, 1.0]), np.array([0, 0, -1.0]), np.array([-1.0, 0, 0])]:
        turned = rotation_rpy(*rpy_along_x(direction))[:, 0]
        assert turned == pytest.approx(direction / np.linalg.norm(direction))
