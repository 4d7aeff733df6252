"""The plant: thrusters, time, many vehicles, and the same again for a seed."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import newton_euler
from shoal.messages.state import ATTITUDE
from shoal.simulation.conditions import Environment, load_condition
from shoal.simulation.conditions import Plant as PlantSettings
from shoal.simulation.perturbation import perturbed
from shoal.simulation.plant import Plant, PlantVehicle
from shoal.simulation.water import Constant, build_current
from shoal.vehicles.description import Vehicle
from trajectories import trajectory
from vehicles_for_tests import SETS, at_rest, shipped, vehicle_named


def with_thrusters(vehicle: Vehicle, **changes: float) -> Vehicle:
    return replace(vehicle, thrusters=tuple(replace(t, **changes) for t in vehicle.thrusters))


def seeded_run(seed: int) -> bytes:
    """States of two perturbed vehicles after 5 s of random thrust in waves and wandering current."""
    rng = np.random.default_rng([seed, 0])
    water = Environment.model_validate(
        {
            "currents": [
                {"kind": "gauss_markov", "std_mps": [0.1, 0.1, 0.1]},
                {"kind": "waves", "amplitude_m": 0.3, "period_s": 5.0},
            ]
        }
    )
    vehicles = [
        perturbed(shipped(s), PlantSettings(), np.random.default_rng([seed, i])) for i, s in enumerate(SETS[:2])
    ]
    plant = Plant(vehicles, at_rest(2), build_current(water, np.random.default_rng([seed, 9]), 5.0))
    for _ in range(50):
        plant.step(rng.uniform(-6, 6, (2, 8)), 0.1)
    return plant.states.tobytes()


def test_bit_for_bit_the_same_for_a_seed() -> None:
    assert seeded_run(1) == seeded_run(1)
    assert seeded_run(1) != seeded_run(2)


def test_bit_for_bit_the_same_in_another_process() -> None:
    code = "import hashlib, test_plant; print(hashlib.sha256(test_plant.seeded_run(1)).hexdigest())"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**_environment()}
    )
    assert other.stdout.strip() == hashlib.sha256(seeded_run(1)).hexdigest()


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.mark.parametrize("name", [*SETS, "full"])
def test_machine_code_and_virtual_machine_agree(name: str) -> None:
    vehicle, rng = vehicle_named(name), np.random.default_rng(1)
    commands = rng.uniform(-6, 6, (30, 1, 8))
    ends = []
    for use_compiler in (True, False):
        plant = Plant([vehicle], at_rest(), Constant((0.1, -0.1, 0.05)), use_compiler=use_compiler)
        for command in commands:
            plant.step(command, 0.1)
        ends.append(plant.states[0].copy())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-11)


@pytest.mark.parametrize("name", SETS)
def test_plant_is_the_dynamics(name: str) -> None:
    """With perfect thrusters it does what the equations do, here stepped by other code at half the step."""
    vehicle = with_thrusters(shipped(name), time_constant_s=0.0, dead_band_N=0.0, curve=None)
    commands = np.random.default_rng(2).uniform(-3, 3, (20, 8))
    plant, current = Plant([vehicle], at_rest(), Constant((0.2, 0.1, 0.0))), np.array([0.2, 0.1, 0.0])
    for command in commands:
        plant.step(command[None], 0.1)
    reference = trajectory(vehicle, at_rest()[0], commands, 0.005, 20, current=current)[-1]
    assert np.abs(plant.states[0] - reference).max() < 1e-6


def test_thrusters_keep_to_their_limits() -> None:
    vehicle = with_thrusters(shipped("wu2018"), max_forward_N=5.0, max_reverse_N=3.0)
    plant = Plant([vehicle], at_rest())
    plant.step(np.full((1, 8), 100.0), 5.0)
    np.testing.assert_allclose(plant.forces_N[0], 5.0, atol=1e-9)
    plant.step(np.full((1, 8), -100.0), 5.0)
    np.testing.assert_allclose(plant.forces_N[0], -3.0, atol=1e-9)


def test_lag_is_first_order_and_exact() -> None:
    vehicle = with_thrusters(shipped("wu2018"), time_constant_s=0.2)
    plant = Plant([vehicle], at_rest())
    for k in range(1, 11):
        plant.step(np.full((1, 8), 4.0), 0.05)
        np.testing.assert_allclose(plant.forces_N[0], 4.0 * (1 - np.exp(-0.05 * k / 0.2)), rtol=1e-12)


def test_no_lag_is_no_special_case() -> None:
    plant = Plant([with_thrusters(shipped("wu2018"), time_constant_s=0.0)], at_rest())
    plant.step(np.full((1, 8), 4.0), 0.01)
    np.testing.assert_allclose(plant.forces_N[0], 4.0)


def test_dead_band_swallows_small_commands_only() -> None:
    vehicle = with_thrusters(shipped("wu2018"), dead_band_N=0.5, time_constant_s=0.0)
    plant = Plant([vehicle], at_rest())
    plant.step(np.array([[0.49, -0.49, 0.51, -0.51, 0.0, 3.0, -3.0, 0.1]]), 0.1)
    np.testing.assert_allclose(plant.forces_N[0], [0, 0, 0.51, -0.51, 0, 3.0, -3.0, 0])


def test_gain_scales_what_the_thruster_gives() -> None:
    gain = np.linspace(0.9, 1.1, 8)
    plant = Plant([PlantVehicle(with_thrusters(shipped("wu2018"), time_constant_s=0.0), gain)], at_rest())
    plant.step(np.full((1, 8), 4.0), 0.1)
    np.testing.assert_allclose(plant.forces_N[0], 4.0 * gain)


def test_vehicles_do_not_disturb_one_another() -> None:
    vehicles = [shipped(s) for s in SETS]
    commands = np.random.default_rng(3).uniform(-6, 6, (10, 3, 8))
    together = Plant(vehicles, at_rest(3))
    for command in commands:
        together.step(command, 0.1)
    for i, vehicle in enumerate(vehicles):
        alone = Plant([vehicle], at_rest())
        for command in commands:
            alone.step(command[i : i + 1], 0.1)
        np.testing.assert_array_equal(alone.states[0], together.states[i])


def test_the_length_of_a_call_does_not_matter() -> None:
    long, short = (Plant([shipped("wu2018")], at_rest(), Constant((0.1, 0.0, 0.0))) for _ in range(2))
    command = np.full((1, 8), 2.0)
    long.step(command, 0.2)
    for _ in range(20):
        short.step(command, 0.01)
    np.testing.assert_allclose(long.states, short.states, atol=1e-14)
    assert long.t_s == short.t_s == pytest.approx(0.2)


def test_halving_the_step_divides_the_error_by_sixteen() -> None:
    """RK4 is of fourth order; with lag, whose force enters by its mean over a step, of second: so without."""
    vehicle = with_thrusters(shipped("wu2018"), time_constant_s=0.0)
    command, ends = np.array([[3.0, 1.0, 2.0, 4.0, 1.0, -2.0, 3.0, -1.0]]), {}
    for step in (0.04, 0.02, 0.0025):
        plant = Plant([vehicle], at_rest(), substep_s=step)
        plant.step(command, 2.0)
        ends[step] = plant.states[0].copy()
    coarse, fine = (np.abs(ends[s] - ends[0.0025]).max() for s in (0.04, 0.02))
    assert 10 < coarse / fine < 25


def test_quaternion_stays_of_unit_length() -> None:
    plant, rng = Plant([shipped("von_benzon2022")], at_rest()), np.random.default_rng(4)
    for _ in range(200):
        plant.step(rng.uniform(-40, 40, (1, 8)), 0.1)
    assert abs(np.linalg.norm(plant.states[0, ATTITUDE]) - 1) < 1e-12
    assert np.all(np.isfinite(plant.states))


def test_a_step_must_be_whole_substeps() -> None:
    plant = Plant([shipped("wu2018")], at_rest())
    for wrong in (0.015, 0.0, -0.1):
        with pytest.raises(ValueError, match="multiple of the substep"):
            plant.step(np.zeros((1, 8)), wrong)


def test_a_plain_function_serves_as_current_too() -> None:
    field = Constant((0.3, 0.0, 0.0))
    plants = [Plant([shipped("wu2018")], at_rest(), c) for c in (field, lambda _t, _p: np.array([0.3, 0.0, 0.0]))]
    for plant in plants:
        plant.step(np.zeros((1, 8)), 1.0)
    np.testing.assert_array_equal(plants[0].states, plants[1].states)
    assert plants[0].states[0, 7] > 0.05


def test_the_ideal_condition_is_the_description() -> None:
    """One Euler step of the independent dynamics, at a small step: the plant has no life of its own."""
    vehicle = perturbed(shipped("wu2018"), load_condition("ideal").plant, np.random.default_rng(0))
    plant, command = Plant([vehicle], at_rest(), substep_s=1e-4), np.array([1.0, 2.0, -1.0, 0.5, 2.0, -2.0, 1.0, 0.3])
    plant.step(command[None], 1e-4)
    slope = newton_euler.state_derivative(vehicle.vehicle, at_rest()[0], command, np.zeros(3), np.zeros(6))
    np.testing.assert_allclose((plant.states[0] - at_rest()[0]) / 1e-4, slope, atol=1e-3)
