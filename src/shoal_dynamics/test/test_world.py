"""The node's world is the simulator's: same seed, same states, same noise."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.fleet.file import load_fleet
from shoal.simulation.scenario import RunSpec, build_scenario
from shoal_dynamics.world import World, WorldSettings

THRUST = np.array([2.0, 2.5, 2.0, 2.5, 0.4, -0.6, -0.5, 0.5])


def test_same_run_as_the_simulator() -> None:
    world = World(WorldSettings("two", "circle", "default", seed=4, control_period_s=0.05))
    scenario = build_scenario(RunSpec("circle", "two", "default", 4, duration_s=30.0, control_period_s=0.05))
    for k in range(20):
        measured = world.measure()
        for i, sensor in enumerate(scenario.sensors):
            sensor.push(k * 0.05, scenario.plant.states[i])
            expected, seen = sensor.latest(k * 0.05), measured[i]
            assert expected is not None and seen is not None
            np.testing.assert_array_equal(seen.state, expected.state)
        for _ in range(5):  # the node's ticks are shorter than the simulator's
            world.step([THRUST, -THRUST], 0.01)
        scenario.plant.step([THRUST, -THRUST], 0.05)
        np.testing.assert_allclose(world.plant.states, scenario.plant.states, atol=1e-12)
    assert world.t_s == pytest.approx(1.0)


def test_waters_of_long_and_short_runs_are_the_same() -> None:
    world = World(WorldSettings("two", "circle", "worst_case", seed=4))
    scenario = build_scenario(RunSpec("circle", "two", "worst_case", 4, duration_s=30.0))
    for t in (0.0, 3.7, 29.0):
        np.testing.assert_allclose(world.plant.current(t, np.zeros(3)), scenario.plant.current(t, np.zeros(3)))


def test_reset_begins_the_same_run_again() -> None:
    world = World(WorldSettings("two", "circle", seed=1))
    first = [o.state for o in world.measure() if o]
    world.set_current(np.array([1.0, 0, 0]))
    world.step([THRUST, THRUST], 0.05)
    world.reset()
    np.testing.assert_array_equal([o.state for o in world.measure() if o], first)
    assert world.t_s == 0.0


def test_without_a_path_they_start_where_the_fleet_file_has_them() -> None:
    world = World(WorldSettings("three"))
    starts = [m.start_m for m in load_fleet("three").vehicles]
    np.testing.assert_allclose(world.plant.states[:, :3], starts)


def test_a_current_carries_everybody() -> None:
    world = World(WorldSettings("two", condition="ideal"))
    x = world.plant.states[:, 0].copy()
    world.set_current(np.array([0.4, 0.0, 0.0]))
    for _ in range(200):
        world.step([np.zeros(8), np.zeros(8)], 0.05)
    assert (world.plant.states[:, 0] - x > 1.0).all()


def test_collisions_are_told_once() -> None:
    world = World(WorldSettings("two", condition="ideal"))
    assert world.collisions() == []
    world.plant.states[1, :3] = world.plant.states[0, :3] + np.array([0.5, 0, 0])
    assert "0.50 m apart" in world.collisions()[0]
    assert world.collisions() == []
    world.plant.states[1, 0] += 5.0
    assert "clear" in world.collisions()[0]


def test_vehicles_that_the_condition_stops_do_not_obey() -> None:
    world = World(WorldSettings("two", condition="one_vehicle_holds"))
    while world.t_s < 49.95:
        world.step([np.zeros(8), np.zeros(8)], 0.05)
    world.step([THRUST, THRUST], 0.05)
    before = world.plant.states[:, :3].copy()
    for _ in range(20):
        world.step([THRUST, THRUST], 0.05)
    moved = np.linalg.norm(world.plant.states[:, :3] - before, axis=1)
    assert moved[0] > 0.01 and moved[1] < 1e-12
