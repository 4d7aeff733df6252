"""Where the water ends: vessels on it, submerged vehicles that break it, against the independent dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import newton_euler
from shoal.messages.state import ATTITUDE
from shoal.simulation.plant import Plant
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import VehicleModel, ode_function
from shoal.vehicles.parameters import parameter_vector, structure_of
from vehicles_for_tests import full_matrices, random_state, shipped, vessel

Array = NDArray[np.float64]


def undamped(vehicle: Vehicle) -> Vehicle:
    none = np.zeros((6, 6))
    return replace(vehicle, linear_damping=none, quadratic_damping=none)


def swum(vehicle: Vehicle, start: Array, seconds: float, thrust_N: float = 0.0, substep_s: float = 0.01) -> Array:
    """States (T,13), every 0.1 s."""
    plant = Plant([vehicle], start[None], substep_s=substep_s)
    command = np.full((1, vehicle.input_count), thrust_N)
    return np.array([plant.step(command, 0.1)[0].copy() for _ in range(round(seconds / 0.1))])


@pytest.mark.parametrize("vehicle", [vessel(), shipped("wu2018"), full_matrices()], ids=["vessel", "wu2018", "full"])
def test_accelerations_are_newton_euler_at_any_depth(vehicle: Vehicle) -> None:
    rng, structure = np.random.default_rng(1), structure_of(vehicle, surface=True)
    ode, theta = ode_function(structure), parameter_vector(vehicle, structure)
    for _ in range(60):
        x, thrust = random_state(rng), rng.uniform(-5, 5, vehicle.input_count)
        x[2] = rng.uniform(-0.3, 0.3)
        current, wrench = rng.uniform(-1, 1, 3), rng.uniform(-5, 5, 6)
        expected = newton_euler.state_derivative(vehicle, x, thrust, current, wrench, structure.surface)
        np.testing.assert_allclose(np.array(ode(x, thrust, current, wrench, theta)).ravel(), expected, atol=1e-9)


@pytest.mark.parametrize("name", ["vessel", "wu2018"])
def test_energy_is_conserved_at_the_surface(name: str) -> None:
    """Thrown up and askew, through the surface and back."""
    vehicle = undamped(vessel() if name == "vessel" else shipped(name))
    start = np.array([0, 0, 0.3, 0.9, 0.3, 0.25, 0.2, 0.3, 0.2, -1.6, 0.4, -0.3, 0.5])
    if name == "vessel":
        start[2] = 0.05
    start[ATTITUDE] /= np.linalg.norm(start[ATTITUDE])
    states = swum(vehicle, start, 6.0, substep_s=0.002)
    if name != "vessel":
        assert states[:, 2].min() < -0.1, "never came out"
    energies = np.array([newton_euler.energy(vehicle, x, name != "vessel") for x in states[::4]])
    first = newton_euler.energy(vehicle, start, name != "vessel")
    kinetic = newton_euler.energy(replace(vehicle, weight_N=0.0, buoyancy_N=0.0, waterplane=None), start)
    assert np.abs(energies - first).max() < 2e-6 * kinetic


def test_a_stopped_vehicle_floats_up_and_stays_there() -> None:
    """It once rose to 37 m above the water."""
    vehicle = shipped("wu2018")
    start = np.array([0, 0, 1.0, 1.0, *np.zeros(9)])
    states = swum(vehicle, start, 60.0)
    share = newton_euler.cap(states[-1, 2], vehicle.size_m[2])
    assert share == pytest.approx(vehicle.weight_N / vehicle.buoyancy_N, abs=1e-3)
    assert np.abs(states[-1, 7:]).max() < 1e-3
    assert states[:, 2].min() > -vehicle.size_m[2] / 2


def test_propellers_in_air_give_nothing() -> None:
    """Full thrust up: held at the surface by its weight, where without the loss it would fly."""
    lossy = shipped("ng2024")
    lossy = replace(lossy, thrusters=tuple(replace(t, propeller_m=0.076) for t in lossy.thrusters))
    plant = Plant([lossy], np.array([[0, 0, 1.0, 1.0, *np.zeros(9)]]))
    up = np.where(lossy.input_matrix[2] > 0, lossy.input_min_N, lossy.input_max_N) * (lossy.input_matrix[2] != 0)
    tops = [plant.step(up[None], 0.1)[0, 2] for _ in range(200)]
    assert min(tops) > -0.3 and plant.states[0, 2] < 0.05
    dry = Plant([lossy], np.array([[0, 0, -2.0, 1.0, *np.zeros(9)]]))
    dry.step(up[None], 0.1)
    assert dry.states[0, 9] == pytest.approx(
        0.1 * lossy.weight_N / (lossy.mass_kg + lossy.heave_dive.added_mass_kg), rel=0.1  # type: ignore[union-attr]
    )  # fmt: skip


def test_away_from_the_surface_nothing_changes() -> None:
    """Bit for bit: the step that knows the surface is used near it only."""
    vehicle = shipped("wu2018")
    state = np.array([0, 0, 3.0, 0.98, 0.1, -0.1, 0.05, 0.3, 0.1, -0.2, 0.1, 0.2, 0.3])
    state[ATTITUDE] /= np.linalg.norm(state[ATTITUDE])
    plant = Plant([vehicle], state[None])
    plant.step(np.full((1, 8), 3.0), 0.1)
    assert {surface for *_, surface in plant._bodies[0]._steppers} == {False}
    knows = Plant([vehicle], state[None])
    knows._bodies[0]._near_surface = lambda *_: True  # type: ignore[method-assign]
    knows.step(np.full((1, 8), 3.0), 0.1)
    np.testing.assert_allclose(knows.states, plant.states, atol=1e-14)


def test_a_vessel_bobs_as_fast_as_its_stiffness_says() -> None:
    """Small heave: ω = √(k/(m + added mass)), roll likewise; and it needs no thrust to stay."""
    vehicle = undamped(vessel())
    vehicle = replace(vehicle, cg_m=np.zeros(3), thrusters=vehicle.thrusters)
    start = np.array([0, 0, 0.01, 1.0, *np.zeros(9)])
    states = swum(vehicle, start, 3.0)
    omega = np.sqrt(900.0 / (vehicle.mass_kg + vehicle.added_mass[2, 2]))
    np.testing.assert_allclose(states[:, 2], 0.01 * np.cos(omega * 0.1 * np.arange(1, 31)), atol=1e-5)
    np.testing.assert_allclose(VehicleModel(vessel()).trim(), 0.0, atol=1e-9)
