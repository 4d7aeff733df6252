"""The generated dynamics against an independent Newton–Euler implementation."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import newton_euler
from shoal.codegen import compiled
from shoal.messages.state import RATE
from shoal.vehicles.description import Vehicle
from shoal.vehicles.dynamics import Dynamics, coriolis_of_matrix, coriolis_without_linear_velocity
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import Structure, mass_matrix, parameter_vector, rigid_body_mass, structure_of
from vehicles_for_tests import SETS, random_state, vehicle_named


@lru_cache(maxsize=32)
def machine_code(structure: Structure, form: str, coriolis: str) -> ca.Function:
    function = compiled(ode_function(structure, form, coriolis))
    assert function.is_a("External"), "this test is about the compiled function"
    return function


def derivative(vehicle: Vehicle, form: str, coriolis: str, *arguments: np.ndarray) -> np.ndarray:
    structure = structure_of(vehicle)
    theta = parameter_vector(vehicle, structure)
    return np.array(machine_code(structure, form, coriolis)(*arguments, theta)).ravel()


@pytest.mark.parametrize("name", [*SETS, "full"])
def test_compiled_quaternion_form_is_newton_euler(name: str) -> None:
    """With either Coriolis form, thrust, current and further forces, at 150 states."""
    vehicle, rng = vehicle_named(name), np.random.default_rng(11)
    worst = 0.0
    for _ in range(150):
        x, thrust = random_state(rng), rng.uniform(-50, 50, 8)
        current, wrench = rng.uniform(-1, 1, 3), rng.uniform(-5, 5, 6)
        expected = newton_euler.state_derivative(vehicle, x, thrust, current, wrench)
        for coriolis in ("velocity_free", "lagrangian"):
            got = derivative(vehicle, "quaternion", coriolis, x, thrust, current, wrench)
            worst = max(worst, np.abs(got - expected).max())
    assert worst < 1e-9


@pytest.mark.parametrize("name", [*SETS, "full"])
def test_compiled_euler_form_is_newton_euler(name: str) -> None:
    vehicle, rng = vehicle_named(name), np.random.default_rng(12)
    for _ in range(50):
        x, thrust = random_state(rng), rng.uniform(-50, 50, 8)
        angles = np.array([rng.uniform(-3, 3), rng.uniform(-1.4, 1.4), rng.uniform(-3, 3)])
        attitude = Rotation.from_euler("ZYX", angles[::-1])
        current, wrench = rng.uniform(-1, 1, 3), rng.uniform(-5, 5, 6)
        got = derivative(
            vehicle, "euler", "velocity_free", np.concatenate([x[:3], angles, x[7:]]), thrust, current, wrench
        )
        quaternion = np.roll(attitude.as_quat(), 1)
        expected = newton_euler.state_derivative(
            vehicle, np.concatenate([x[:3], quaternion, x[7:]]), thrust, current, wrench
        )
        np.testing.assert_allclose(got[:3], expected[:3], atol=1e-9)
        np.testing.assert_allclose(got[6:], expected[7:], atol=1e-9)
        h = 1e-6  # angles moved on by their rates are the attitude turned on by the body's rate
        ahead, behind = (Rotation.from_euler("ZYX", (angles + s * h * got[3:6])[::-1]) for s in (1, -1))
        np.testing.assert_allclose((behind.inv() * ahead).as_rotvec() / (2 * h), x[RATE], atol=1e-7)


@pytest.mark.parametrize("name", [*SETS, "full"])
def test_both_coriolis_forms_give_the_same_force(name: str) -> None:
    """C_RB ν of both parametrisations, though the matrices differ."""
    vehicle, rng = vehicle_named(name), np.random.default_rng(13)
    structure = structure_of(vehicle)
    theta, nu = ca.SX.sym("theta", structure.length), ca.SX.sym("nu", 6)
    p = structure.split(theta)
    both = ca.Function(
        "both",
        [theta, nu],
        [coriolis_without_linear_velocity(p, nu), coriolis_of_matrix(ca.DM(rigid_body_mass(vehicle)), nu)],
    )
    for _ in range(50):
        velocity = rng.uniform(-3, 3, 6)
        first, second = (np.array(c) for c in both(parameter_vector(vehicle, structure), velocity))
        np.testing.assert_allclose(first @ velocity, second @ velocity, atol=1e-12)
        assert np.abs(first - second).max() > 0.1
        assert abs(velocity @ first @ velocity) < 1e-10  # neither does work
        np.testing.assert_allclose(second, -second.T, atol=1e-12)


@pytest.mark.parametrize("name", [*SETS, "full"])
def test_mass_matrix_is_what_the_forces_say(name: str) -> None:
    """M from probing the independent balance with unit accelerations."""
    vehicle = vehicle_named(name)
    columns = [
        newton_euler.rigid_body(vehicle, *np.zeros((2, 3)), unit[:3], unit[3:])
        - newton_euler.fluid(vehicle, vehicle.heave_rise, *np.zeros((3, 3)), unit[:3], unit[3:])
        for unit in np.eye(6)
    ]
    matrix = mass_matrix(vehicle, vehicle.heave_rise)
    np.testing.assert_allclose(matrix, np.column_stack(columns), atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > 0


def test_unknown_coriolis_form_is_refused() -> None:
    with pytest.raises(ValueError, match="velocity_free"):
        Dynamics(structure_of(vehicle_named("wu2018")), "both")
