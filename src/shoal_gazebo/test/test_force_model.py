"""Gazebo's documented forces, played on the SDF's own numbers, swim the same way as the core's plant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gazebo_forces import Array, GazeboVehicle
from shoal.messages.state import VELOCITY
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal_gazebo.render import render_model
from shoal_gazebo.sdf_reader import read_model
from swimming import DEPTH_M, ENU_OF_NED, PERIOD_S, committed, start, swim, tumbling, world


def test_twenty_seconds_of_tumbling() -> None:
    vehicle = load_vehicle("bluerov2_heavy")
    distance, angle, plant = swim(committed(), vehicle, tumbling(vehicle, 20, scale=0.15))
    assert np.linalg.norm(plant.states[0, VELOCITY]) > 0.1, "it does move"
    assert distance < 0.01
    assert angle < 0.5


def light() -> Vehicle:
    """The set that the figures of docs/gazebo.md are of."""
    return load_vehicle("bluerov2_heavy", "wu2018")


def rendered(vehicle: Vehicle, tmp_path: Path) -> GazeboVehicle:
    path = tmp_path / "model.sdf"
    path.write_text(render_model(vehicle, world().water), encoding="utf-8")
    return GazeboVehicle(read_model(path), world())


def test_free_ascent(tmp_path: Path) -> None:
    distance, angle, plant = swim(rendered(light(), tmp_path), light(), np.zeros((30, 8)))
    rise = DEPTH_M - plant.states[0, 2]
    assert rise > 1.5, "2 N of net buoyancy lift it at 0.17 m/s"
    assert distance < 0.001
    assert angle < 0.01


def test_roll_decay() -> None:
    distance, angle, plant = swim(committed(), load_vehicle("bluerov2_heavy"), np.zeros((30, 8)), roll_deg=40)
    assert abs(plant.states[0, 4]) < np.sin(np.deg2rad(5)), "it has righted itself"
    assert distance < 0.002
    assert angle < 0.2


@pytest.mark.parametrize("name", ["ng2024", "von_benzon2022"])
def test_other_parameter_sets(name: str, tmp_path: Path) -> None:
    """In a world whose gravity is not theirs: the weight stays exact. Without what Gazebo can't show."""
    vehicle = replace(load_vehicle("bluerov2_heavy", name), heave_dive=None, heave_rise=None, added_mass_coriolis=True)
    distance, angle, _ = swim(rendered(vehicle, tmp_path), vehicle, tumbling(vehicle, 8, scale=0.15))
    assert distance < 0.01
    assert angle < 0.5
    distance, angle, _ = swim(rendered(vehicle, tmp_path), vehicle, np.zeros((20, 8)), roll_deg=20)
    assert distance < 0.002
    assert angle < 0.2


def in_current(tmp_path: Path, current_ned: Array, corrected: bool = True) -> GazeboVehicle:
    east, north, up = (float(v) for v in ENU_OF_NED @ current_ned)
    path = tmp_path / "model.sdf"
    model = render_model(light(), world().water, current_enu=(east, north, up))
    path.write_text(model, encoding="utf-8")
    return GazeboVehicle(read_model(path), world(), coriolis_through_water=corrected)


def test_a_current_along_the_bow_carries_both_alike(tmp_path: Path) -> None:
    along = 0.3 * np.array([np.cos(np.deg2rad(30)), np.sin(np.deg2rad(30)), 0])
    gazebo = in_current(tmp_path, along)
    distance, angle, plant = swim(gazebo, light(), np.zeros((30, 8)), current_ned=along)
    assert plant.states[0, 0] - 1.0 > 2, "15 s in 0.26 m/s northward"
    assert distance < 0.02, "rising through it, the vehicle pitches a little: see the next test"
    assert angle < 0.5


def test_turning_in_a_current_differs_as_the_documentation_says(tmp_path: Path) -> None:
    """11°/s in 0.37 m/s for 10 s. Gazebo takes the added mass's acceleration through the ground instead of through the
    water, and before 8.12 its Coriolis force as well, which turns the vehicle by itself. The figures of docs/gazebo.md.
    """
    vehicle, current = light(), np.array([-0.2, 0.3, -0.1])
    commands = np.tile([-0.1, 0.1, -0.1, 0.1, 0, 0, 0, 0], (20, 1))
    distance, angle, _ = swim(in_current(tmp_path, current), vehicle, commands, current_ned=current)
    assert distance == pytest.approx(0.43, abs=0.05)
    assert angle == pytest.approx(4.9, abs=1)
    _, angle, _ = swim(in_current(tmp_path, current, corrected=False), vehicle, commands, current_ned=current)
    assert angle > 45


def test_plus_command_gives_plus_acceleration() -> None:
    """On every axis, in FLU: forward, port, up, starboard side down, bow down, bow to port."""
    gazebo = committed()
    vehicle = load_vehicle("bluerov2_heavy")
    for axis in range(6):
        wrench = np.zeros(6)
        wrench[axis] = 4.0 if axis < 3 else 0.5
        command = np.linalg.pinv(vehicle.thrust_matrix) @ (np.diag([1, -1, -1, 1, -1, -1]) @ wrench)
        gazebo.command(command)
        acceleration = gazebo.inverse @ gazebo.thrust
        assert acceleration[axis] > 0.1
        assert np.argmax(np.abs(acceleration)) == axis


def test_odometry_s_mean_over_ten_steps_hardly_lags() -> None:
    """OdometryPublisher: ten finite differences of the pose, each turned into the body by the pose after it."""
    gazebo, (_, state) = committed(), start()
    vehicle = load_vehicle("bluerov2_heavy")
    step, window, worst = gazebo.world.step_s, [], 0.0
    for command in tumbling(vehicle, 4, scale=0.5):
        gazebo.command(command)
        for _ in range(round(PERIOD_S / step)):
            before, state = state, gazebo.step(state, step)
            window = [*window[-9:], state.rotation.T @ (state.position - before.position) / step]
            if len(window) == 10:
                worst = max(worst, float(np.linalg.norm(np.mean(window, axis=0) - state.velocity)))
    assert 0 < worst < 0.02, "m/s, tumbling; a controller's own noise is larger"
