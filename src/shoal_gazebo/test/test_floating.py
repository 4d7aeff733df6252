"""Vessels in Gazebo: boxes that the surface cuts are the core's waterplane; azimuths are two thrusters each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gazebo_forces import Array, GazeboVehicle, State, wet_volume
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.simulation.plant import Plant
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal_gazebo.body import build_body, not_in_gazebo
from shoal_gazebo.bridge import vehicle_entries
from shoal_gazebo.bringup import prepare
from shoal_gazebo.check import check_model
from shoal_gazebo.floating import fixed_thrusters
from shoal_gazebo.generate import shipped_water
from shoal_gazebo.sdf_reader import Shape, read_model
from swimming import ENU_OF_NED, FLU_OF_FRD, ROOT, difference, world

PERIOD_S = 0.25
VESSELS = ("delfia1", "boat")


def plain(vehicle: Vehicle) -> Vehicle:
    """Driven as Gazebo drives it: every input a fixed thruster, at once, whatever the propeller's depth."""
    ideal = {"time_constant_s": 0.0, "curve": None, "dead_band_N": 0.0, "propeller_m": 0.0, "inflow_loss": 0.0}
    return replace(vehicle, thrusters=tuple(replace(t, **ideal) for t in fixed_thrusters(vehicle)))


def apart(name: str, commands: Array, roll_deg: float = 0.0, pitch_deg: float = 0.0, dip_m: float = 0.0) -> Array:
    """(n,2) metres and degrees between the core's plant and Gazebo's forces on the committed file."""
    vehicle = plain(load_vehicle(name))
    roll, pitch = np.radians([roll_deg, pitch_deg]) / 2
    attitude = np.array([np.cos(pitch) * np.cos(roll), np.cos(pitch) * np.sin(roll), np.sin(pitch) * np.cos(roll),
                         -np.sin(pitch) * np.sin(roll)])  # fmt: skip
    core = np.concatenate([[0.0, 0.0, dip_m], attitude, np.zeros(6)])
    w, x, y, z = attitude
    turn = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
    state = State(ENU_OF_NED @ core[:3], ENU_OF_NED @ turn @ FLU_OF_FRD, np.zeros(3), np.zeros(3))
    gazebo = GazeboVehicle(read_model(ROOT / "models" / name / "model.sdf"), world())
    plant = Plant([vehicle], core[None], substep_s=0.001)
    found = []
    for command in commands:
        plant.step([command], PERIOD_S)
        gazebo.command(command)
        for _ in range(round(PERIOD_S / gazebo.world.step_s)):
            state = gazebo.step(state, gazebo.world.step_s)
        found.append(difference(plant.states[0], state))
    return np.array(found)


@pytest.mark.parametrize("name", VESSELS)
def test_the_surface_brings_it_back_as_the_core_says(name: str) -> None:
    """From 8° of roll, 4° of pitch and 1 cm too deep: it rights itself, and both do so together."""
    free = np.zeros((16, load_vehicle(name).input_count))
    found = apart(name, free, roll_deg=8.0, pitch_deg=4.0, dip_m=0.01)
    print(name, found.max(axis=0))
    assert found[:, 0].max() < 0.001 and found[:, 1].max() < 0.3


@pytest.mark.parametrize("name", VESSELS)
def test_it_sails_as_the_core_says(name: str) -> None:
    """Every input anywhere within half its limits, anew each half second."""
    vehicle = load_vehicle(name)
    rng = np.random.default_rng([21, 3])
    commands = 0.5 * rng.uniform(vehicle.input_min_N, vehicle.input_max_N, (24, vehicle.input_count))
    found = apart(name, commands)
    print(name, found.max(axis=0))
    assert found[:, 0].max() < 0.01 and found[:, 1].max() < 0.5


def test_a_waterplane_that_is_not_the_vehicles_is_found(tmp_path: Path) -> None:
    vehicle, water = load_vehicle("delfia1"), shipped_water()
    text = (ROOT / "models/delfia1/model.sdf").read_text(encoding="utf-8")
    box = build_body(vehicle, water).pontoons[0]
    shifted = text.replace(f"<pose>{box.center_m[0]:.12g} ", f"<pose>{box.center_m[0] + 0.01:.12g} ")
    assert shifted != text
    path = tmp_path / "model.sdf"
    path.write_text(shifted, encoding="utf-8")
    wrong = {f.what for f in check_model(read_model(path), vehicle, water) if not f.ok}
    assert "waterplane in heave, roll, pitch" in wrong
    path.write_text(text.replace("<collide_bitmask>0<", "<collide_bitmask>1<", 1), encoding="utf-8")
    wrong = {f.what for f in check_model(read_model(path), vehicle, water) if not f.ok}
    assert wrong == {"contact apart from displacement"}


def test_azimuths_are_two_thrusters_each_wherever_gazebo_is_told_of_them() -> None:
    vehicle = load_vehicle("delfia1")
    names = ["stern_x", "stern_y", "bow_x", "bow_y"]
    assert [t.name for t in fixed_thrusters(vehicle)] == names == list(vehicle.input_names)
    assert read_model(ROOT / "models/delfia1/model.sdf").joints.keys() == {f"{n}_joint" for n in names}
    member = load_fleet("vessels3").vehicles[0]
    topics = [e.ros_topic for e in vehicle_entries(member, "tank", camera=False)]
    assert topics[1:] == [f"/model/vessel1/joint/{n}_joint/cmd_thrust" for n in names]
    assert any("azimuths that turn (stern, bow)" in note for note in not_in_gazebo(vehicle))


def test_a_vessel_needs_a_surface(tmp_path: Path) -> None:
    text = (ROOT / "worlds/tank.sdf").read_text(encoding="utf-8")
    sunk = tmp_path / "sunk.sdf"
    sunk.write_text(text.replace("<above_depth>0</above_depth>", "<above_depth>2</above_depth>"), encoding="utf-8")
    with pytest.raises(ShoalError, match="no surface at z = 0"):
        prepare("vessels3", sunk, tmp_path / "run")
    assert len(prepare("vessels3", "tank", tmp_path / "run", camera=False).spawns) == 3


def test_what_no_waterplane_can_be_made_of_is_refused() -> None:
    vehicle = load_vehicle("delfia1")
    assert vehicle.waterplane is not None
    with pytest.raises(ShoalError, match="more than nothing of each"):
        build_body(replace(vehicle, waterplane=vehicle.waterplane * [1.0, -1.0, 1.0]), shipped_water())


def test_volumes_below_the_surface() -> None:
    box = Shape("b", 0.006, np.zeros(3), True, np.array([0.1, 0.2, 0.3]))
    assert [wet_volume(box, h) for h in (-1.0, 0.0, 0.15, 1.0)] == pytest.approx([0.006, 0.003, 0.0, 0.0])
    ball = Shape("s", 4 / 3 * np.pi * 0.1**3, np.zeros(3), True)
    assert [wet_volume(ball, h) for h in (-0.1, 0.0, 0.1)] == pytest.approx([ball.volume_m3, ball.volume_m3 / 2, 0.0])
