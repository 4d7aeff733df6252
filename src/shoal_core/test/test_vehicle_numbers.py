"""The plain numbers of a vehicle against published ones and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.simulation.drop import drop_test
from shoal.vehicles.allocation import allocate
from shoal.vehicles.description import AXES
from shoal.vehicles.functions import VehicleModel
from shoal.vehicles.parameters import mass_matrix
from trajectories import trajectory
from vehicles_for_tests import SETS, at_rest, neutral, random_state, shipped, vehicle_named

# Fosso et al. 2023, as in the specification.
PRINTED_B = np.array(
    [
        [0.7071, 0.7071, 0.7071, 0.7071, 0, 0, 0, 0],
        [-0.7071, 0.7071, 0.7071, -0.7071, 0, 0, 0, 0],
        [0, 0, 0, 0, -1, 1, 1, -1],
        [0.0601, -0.0601, -0.0601, 0.0601, -0.218, -0.218, 0.218, 0.218],
        [0.0601, 0.0601, 0.0601, 0.0601, 0.12, -0.12, 0.12, -0.12],
        [-0.1888, 0.1888, -0.1888, 0.1888, 0, 0, 0, 0],
    ]
)


def end_speed(model: VehicleModel, axis: int, force: float) -> float:
    """Simulated, with a pure wrench on the otherwise undisturbed vehicle."""
    wrench = force * np.eye(6)[axis]
    states = trajectory(model.vehicle, at_rest()[0], np.zeros((40, 8)), 0.01, 100, wrench=wrench)
    return float(states[-1, 7 + axis])


def test_thrust_matrix_from_geometry_is_the_printed_one() -> None:
    for name in SETS:
        np.testing.assert_allclose(shipped(name).thrust_matrix, PRINTED_B, atol=1e-3)


@pytest.mark.parametrize("name", SETS)
def test_a_positive_command_accelerates_the_right_way(name: str) -> None:
    model, still = VehicleModel(shipped(name)), at_rest()[0]
    trim = model.trim()
    np.testing.assert_allclose(model.derivative(still, trim), 0, atol=1e-9)
    for axis in range(6):
        for sign in (1, -1):
            change = model.derivative(still, trim + allocate(model.vehicle, sign * np.eye(6)[axis]))[7:]
            assert change[axis] * sign > 0.01, AXES[axis]
    for i in range(8):  # each thruster by itself pushes where its column says
        unit = np.eye(8)[i]
        change = model.derivative(still, trim + unit)[7:] - model.derivative(still, trim)[7:]
        pushed = np.flatnonzero(PRINTED_B[:3, i])
        np.testing.assert_array_equal(np.sign(change[pushed]), np.sign(PRINTED_B[pushed, i]))


def test_surge_at_the_printed_limit_is_0_877() -> None:
    model = VehicleModel(shipped("wu2018"))
    force = model.max_force(0, 1)
    assert force == pytest.approx(4 * 6.2 / np.sqrt(2))
    assert model.terminal_speed(0, force) == pytest.approx(0.877, abs=1e-3)
    assert model.top_speeds()["surge"][0] == pytest.approx(0.877, abs=1e-3)
    assert end_speed(VehicleModel(neutral(model.vehicle)), 0, force) == pytest.approx(0.877, abs=1e-3)


@pytest.mark.parametrize("name", SETS)
def test_simulated_end_speeds_match_the_closed_form(name: str) -> None:
    model = VehicleModel(neutral(shipped(name)))
    for axis in range(6):
        for sign in (1, -1):
            force = sign * model.max_force(axis, sign)
            assert end_speed(model, axis, force) == pytest.approx(model.terminal_speed(axis, force), rel=1e-6), AXES[
                axis
            ]


@pytest.mark.parametrize("name", SETS)
def test_full_thrust_through_the_plant_reaches_the_closed_form(name: str) -> None:
    """With buoyancy, centres, lag and limits; other axes held (`shoal drop`)."""
    drop = drop_test(shipped(name))
    for step in drop.steps:
        assert step.speeds[-1] == pytest.approx(step.terminal, rel=1e-3), step.axis
    sink = (drop.release.states[-1, 0, 2] - drop.release.states[-20, 0, 2]) / (19 * 0.05)
    assert sink == pytest.approx(drop.float_speed_mps, rel=0.05)
    assert np.abs(drop.tilt_deg[0]).max() > 20 and np.abs(drop.tilt_deg[-40:]).max() < 4, "it should right itself"


def test_the_vehicle_of_ng2024_is_table_4_1() -> None:
    """As the plant takes it in, by the directions of heave."""
    v = shipped("ng2024")
    assert (v.mass_kg, v.weight_N, v.buoyancy_N - v.weight_N) == pytest.approx((11.5, 112.776, 6.675), abs=1e-9)
    assert (v.cb_m - v.cg_m).tolist() == [0.0, 0.0, -0.02] and not v.cg_m.any()
    for heave, added, linear, quadratic in (
        (v.heave_dive, 34.60, 49.50, 113.86),
        (v.heave_rise, 22.45, 50.62, 76.69),
    ):
        total = [11.5 + 10.77, 11.5 + 24.86, 11.5 + added, 0.8571 + 0.103, 1.0 + 0.120, 1.0 + 0.120]
        np.testing.assert_allclose(mass_matrix(v, heave), np.diag(total), atol=1e-9)
        assert heave is not None and (heave.linear_Nspm, heave.quadratic_Ns2pm2) == (linear, quadratic)
    others = [0, 1, 3, 4, 5]  # without heave
    np.testing.assert_allclose(np.diag(v.linear_damping)[others], [38.95, 60.11, 0, 0, 0])
    np.testing.assert_allclose(np.diag(v.quadratic_damping)[others], [31.01, 36.95, 2.08, 2.42, 2.42])
    for matrix in (v.linear_damping, v.quadratic_damping):
        assert not (matrix - np.diag(np.diag(matrix))).any()


def test_ng_heave_depends_on_the_direction() -> None:
    """Speeds of the specification (hybrid_autopilot, S2): dive and rise under 10 … 50 N, and floating up."""
    model = VehicleModel(shipped("ng2024"))
    net = model.vehicle.weight_N - model.vehicle.buoyancy_N
    assert net == pytest.approx(-6.675)
    for force, dive, rise in zip(
        range(10, 60, 10), (0.059, 0.188, 0.285, 0.366, 0.437), (0.241, 0.346, 0.436, 0.517, 0.591), strict=True
    ):
        for sign, expected in ((1, dive), (-1, -rise)):
            assert model.terminal_speed(2, sign * force + net) == pytest.approx(expected, abs=6e-4)
            assert end_speed(model, 2, sign * force) == pytest.approx(expected, abs=6e-4)
    assert end_speed(model, 2, 0.0) == pytest.approx(-0.113, abs=6e-4)


def test_ng_yaw_step_is_a_hyperbolic_tangent() -> None:
    vehicle = neutral(shipped("ng2024"))
    for torque, steady in ((2, 0.909), (5, 1.437), (10, 2.033), (15, 2.490), (20, 2.875), (34, 3.748)):
        states = trajectory(
            vehicle, at_rest()[0], np.zeros((30, 8)), 0.001, 20, wrench=np.array([0, 0, 0, 0, 0, torque])
        )
        expected = steady * np.tanh(np.sqrt(torque * 2.42) / 1.12 * 0.02 * np.arange(31))
        np.testing.assert_allclose(states[:, 12], expected, atol=1e-3)
        assert VehicleModel(vehicle).terminal_speed(5, torque) == pytest.approx(steady, abs=5e-4)


def test_ng_thrust_limits_give_the_published_largest_forces() -> None:
    model = VehicleModel(shipped("ng2024"))
    for axis, published in ((0, 127.32), (1, 127.32), (2, 199.81), (5, 34.00)):
        assert model.max_force(axis, 1) == pytest.approx(published, rel=1e-3)
    # Printed 39.25 and 21.61 N m come with 19.7 N of heave; pure moments are as strong as the weaker direction.
    assert model.max_force(3, 1) == pytest.approx(4 * 40.08 * 0.218, rel=1e-6)
    assert model.max_force(4, 1) == pytest.approx(4 * 40.08 * 0.120, rel=1e-6)


@pytest.mark.parametrize("name", SETS)
def test_trim_is_within_limits_and_balances(name: str) -> None:
    vehicle = shipped(name)
    trim = VehicleModel(vehicle).trim()
    assert np.all(trim <= vehicle.thrust_max_N) and np.all(trim >= vehicle.thrust_min_N)
    assert (vehicle.thrust_matrix @ trim)[2] == pytest.approx(vehicle.buoyancy_N - vehicle.weight_N)


@pytest.mark.parametrize("name", [*SETS, "full"])
def test_linearisation_is_the_slope(name: str) -> None:
    model, rng = VehicleModel(vehicle_named(name)), np.random.default_rng(3)
    x, u, current = random_state(rng), rng.uniform(-5, 5, 8), np.array([0.2, 0.1, -0.1])
    linear, h = model.linearise(x, u, current), 1e-6
    for matrix, base, slot in ((linear.a, x, 0), (linear.b, u, 1)):
        for j in range(len(base)):
            step = h * np.eye(len(base))[j]
            ahead, behind = ([v + sign * step if i == slot else v for i, v in enumerate((x, u))] for sign in (1, -1))
            slope = (model.derivative(*ahead, current) - model.derivative(*behind, current)) / (2 * h)
            np.testing.assert_allclose(matrix[:, j], slope, atol=2e-6, rtol=1e-6)


def test_lost_axes_are_named() -> None:
    vehicle = shipped("wu2018")
    for kept, lost in (
        (range(8), []),
        ((0, 1, 2, 3, 4, 5), ["pitch"]),
        ((0, 1, 2, 3, 4, 6), ["roll"]),
        ((0, 1, 2, 3), ["heave", "roll", "pitch"]),
        ((4, 5, 6, 7), ["surge", "sway", "yaw"]),
    ):
        some = replace(vehicle, thrusters=tuple(vehicle.thrusters[i] for i in kept))
        assert some.lost_axes() == lost
        assert some.controlled_axes == set(AXES) - set(lost)


def test_inputs_keep_the_numbers_of_their_own_thruster() -> None:
    vehicle = shipped("ng2024")
    slow = replace(vehicle.thrusters[3], time_constant_s=0.4)
    mixed = replace(vehicle, thrusters=(*vehicle.thrusters[:3], slow, *vehicle.thrusters[4:]))
    assert mixed.input_lag_s.tolist() == [0.15, 0.15, 0.15, 0.4, 0.15, 0.15, 0.15, 0.15]
    assert mixed.input_max_N[:4].tolist() == [40.08, 40.08, 49.95, 49.95]
    assert mixed.input_min_N[:4].tolist() == [-49.95, -49.95, -40.08, -40.08]
    assert (mixed.input_count, mixed.input_names[3]) == (8, "thruster4")
