"""Physics over time: energy, Galilean invariance, two forms of one motion, terminal speeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import newton_euler
from shoal.messages.state import ATTITUDE, TWIST, VELOCITY
from shoal.vehicles.description import Vehicle
from trajectories import trajectory
from vehicles_for_tests import SETS, at_rest, neutral, random_state, shipped, vehicle_named

# One added mass for both heave directions: with two, energy is not a function of the state (see docs/model.md).
ENERGETIC = [*SETS, "full"]


def energetic(name: str, damped: bool) -> Vehicle:
    vehicle = replace(vehicle_named(name), heave_dive=None, heave_rise=None)
    if damped:
        return vehicle
    return replace(vehicle, linear_damping=np.zeros((6, 6)), quadratic_damping=np.zeros((6, 6)))


def energies(vehicle: Vehicle, states: np.ndarray) -> np.ndarray:
    return np.array([newton_euler.energy(vehicle, x) for x in states])


@pytest.mark.parametrize("name", ENERGETIC)
def test_energy_is_conserved_without_damping_and_thrust(name: str) -> None:
    vehicle = energetic(name, damped=False)
    start = random_state(np.random.default_rng(21))
    start[TWIST] /= 2  # undamped, the water's momentum spins the vehicle up several times anyway
    states = trajectory(vehicle, start, np.zeros((30, 8)), 0.001, 1000)
    kinetic = newton_euler.energy(replace(vehicle, weight_N=0.0, buoyancy_N=0.0), start)
    assert np.ptp(energies(vehicle, states)) / kinetic < 1e-6
    assert np.ptp(states[:, ATTITUDE], axis=0).max() > 1, "it should have tumbled"


@pytest.mark.parametrize("name", ENERGETIC)
def test_energy_never_grows_with_damping(name: str) -> None:
    vehicle = energetic(name, damped=True)
    for seed in range(3):
        states = trajectory(vehicle, random_state(np.random.default_rng(seed)), np.zeros((400, 8)), 0.005, 5)
        change = np.diff(energies(vehicle, states))
        assert change.max() < 1e-9
        assert change[:20].max() < 0, "damping should be at work at speed"


@pytest.mark.parametrize("name", SETS)
def test_euler_and_quaternion_forms_swim_the_same_way(name: str) -> None:
    """60 s of random thrust."""
    vehicle, rng = shipped(name), np.random.default_rng(22)
    size = 0.15 * vehicle.thrust_max_N.min()
    thrusts = rng.uniform(-size, size, (120, 8))
    start = at_rest()[0]
    quaternion = trajectory(vehicle, start, thrusts, 0.0025, 200)
    euler = trajectory(vehicle, np.concatenate([start[:3], np.zeros(3), start[7:]]), thrusts, 0.0025, 200, form="euler")
    attitudes = Rotation.from_quat(quaternion[:, [4, 5, 6, 3]])
    assert np.abs(euler[:, 4]).max() < np.deg2rad(75), "the Euler form must stay away from its singularity"
    assert np.abs(euler[:, 3:6]).max() > np.deg2rad(10), "the vehicle should have turned"
    others = Rotation.from_euler("ZYX", euler[:, 5:2:-1])
    assert np.abs(quaternion[:, :3] - euler[:, :3]).max() < 1e-6
    assert np.abs(quaternion[:, 7:] - euler[:, 6:]).max() < 1e-6
    assert (attitudes.inv() * others).magnitude().max() < 1e-6


def test_quaternion_form_runs_through_ninety_degrees_of_pitch() -> None:
    """Against the independent implementation under an adaptive integrator."""
    vehicle, turn = shipped("wu2018"), np.array([0, 0, 0, 0.05, 6.0, 0.02])
    start = at_rest()[0]
    states = trajectory(vehicle, start, np.zeros((30, 8)), 0.0025, 40, wrench=turn)
    nose = Rotation.from_quat(states[:, [4, 5, 6, 3]]).apply([1, 0, 0])
    assert nose[:, 2].min() < -0.95 and nose[:, 0].min() < -0.9, "the nose should have gone over the top"
    np.testing.assert_allclose(np.linalg.norm(states[:, ATTITUDE], axis=1), 1, atol=1e-12)
    reference = solve_ivp(
        lambda _t, x: newton_euler.state_derivative(vehicle, x, np.zeros(8), np.zeros(3), turn),
        (0, 3), start, method="DOP853", rtol=1e-10, atol=1e-10, t_eval=np.arange(31) * 0.1,
    )  # fmt: skip
    np.testing.assert_allclose(states, reference.y.T, atol=1e-6)


@pytest.mark.parametrize("name", [*SETS, "full"])
def test_a_current_only_moves_the_world(name: str) -> None:
    """Galileo: in a constant current everything happens as in still water, seen from a drifting boat."""
    vehicle, rng = vehicle_named(name), np.random.default_rng(23)
    size = 0.3 * vehicle.thrust_max_N.min()
    thrusts, current = rng.uniform(-size, size, (50, 8)), np.array([0.4, -0.3, 0.2])
    start = random_state(rng)
    carried = start.copy()
    carried[VELOCITY] += Rotation.from_quat([*start[4:7], start[3]]).as_matrix().T @ current
    still = trajectory(vehicle, start, thrusts, 0.005, 20)
    moving = trajectory(vehicle, carried, thrusts, 0.005, 20, current=current)
    drift = np.outer(np.arange(51) * 0.1, current)
    np.testing.assert_allclose(moving[:, :3] - drift, still[:, :3], atol=1e-7)
    np.testing.assert_allclose(moving[:, ATTITUDE], still[:, ATTITUDE], atol=1e-7)
    np.testing.assert_allclose(moving[:, 10:], still[:, 10:], atol=1e-7)


@pytest.mark.parametrize("name", SETS)
def test_a_current_carries_a_neutral_body_at_its_speed(name: str) -> None:
    vehicle, current = neutral(shipped(name)), np.array([0.3, -0.2, 0.1])
    last = trajectory(vehicle, at_rest()[0], np.zeros((20, 8)), 0.02, 1000, current=current)[-1]
    velocity_ned = Rotation.from_quat([*last[4:7], last[3]]).apply(last[VELOCITY])
    assert np.abs(velocity_ned - current).max() < 0.02 * np.linalg.norm(current)  # quadratic drag alone fades slowly
    riding = at_rest()[0]
    riding[VELOCITY] = current
    after = trajectory(vehicle, riding, np.zeros((10, 8)), 0.01, 100, current=current)
    np.testing.assert_allclose(after[:, 7:10], np.tile(current, (11, 1)), atol=1e-12)
    np.testing.assert_allclose(after[-1, :3] - riding[:3], 10 * current, atol=1e-9)
