"""Inputs of the optimisation: padded ones change nothing, wrench inputs want the same thrust within the limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.benchmarks.growth import Case, vehicle_of
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.backends.hpipm import HpipmVm
from shoal.control.nmpc.formulation import Formulation
from shoal.control.nmpc.inputs import ThrusterInputs, WrenchInputs
from shoal.control.nmpc.nmpc import Nmpc, formulation_for
from shoal.control.nmpc.problem import Problem
from shoal.control.settings import NmpcSettings
from shoal.vehicles.allocation import axis_weights
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import padded, parameter_vector, structure_of
from solver_problems import randomise, rov, scene
from vehicles_for_tests import full_matrices, shipped, with_thrusters

Array = NDArray[np.float64]
SETTINGS = NmpcSettings(fine_steps=10, fine_step_s=0.1, qp_tolerance=1e-9, max_qp_iterations=60)
SIX = with_thrusters(rov(), 0, 1, 2, 4, 5, 6)


def controller(vehicle: Vehicle, **changes: object) -> Nmpc:
    settings = SETTINGS.model_copy(update=changes)
    return Nmpc(vehicle, settings, 1, choose_backend(settings.backend))


def tripled(vehicle: Vehicle) -> Vehicle:
    """Each thruster three times, with a third of the limits."""
    limits = {"max_forward_N": vehicle.input_max_N[0] / 3, "max_reverse_N": -vehicle.input_min_N[0] / 3}
    copies = [replace(t, name=f"{t.name}{i}", **limits) for i in range(3) for t in vehicle.thrusters]
    return replace(vehicle, thrusters=tuple(copies))


def test_sizes() -> None:
    assert [padded(n) for n in (1, 4, 8, 9, 16, 17, 32, 33, 64, 65, 160)] == [8, 8, 8, 16, 16, 32, 32, 64, 64, 96, 160]


def test_vehicles_share_solvers() -> None:
    """By number of inputs and kind of body, so that a few of them serve all."""
    heavy, six, three = (formulation_for(v, SETTINGS, 1) for v in (rov(), SIX, tripled(rov())))
    assert heavy == six != three
    assert three.nu == 32
    dense = formulation_for(full_matrices(), SETTINGS, 1)
    skew = replace(rov(), cg_m=np.array([0.01, 0.02, 0.03]))
    assert formulation_for(skew, SETTINGS, 1) == dense != heavy
    wrench = SETTINGS.model_copy(update={"inputs": "wrench"})
    assert formulation_for(tripled(rov()), wrench, 1) == heavy


@pytest.mark.parametrize("vehicle", [SIX, with_thrusters(full_matrices(), 0, 1, 2, 4, 5, 6)], ids=["upright", "dense"])
def test_padding_changes_nothing(vehicle: Vehicle) -> None:
    """Against HPIPM on the vehicle's own structure, without padding and with its zeros."""
    ours = controller(vehicle).problem
    own = Problem(Formulation(structure_of(vehicle), 1), ours.steps_s)
    nmpc = controller(vehicle)
    for seed in range(4):
        p = nmpc.problem
        randomise(p, seed)
        p.u[:, 6:], p.limits[2, 6:], p.free[:, 6:] = 0.0, 0.0, 0.0
        for name in own.formulation.global_sizes:
            if name != "theta":
                own.block(name)[:] = p.block(name)
        own.block("theta")[:] = parameter_vector(vehicle, own.formulation.structure)
        own.x[:], own.u[:], own.stages[:], own.limits[:] = p.x, p.u[:, :6], p.stages, p.limits[:, :6]
        own.free[:] = p.free[:, :6]
        own.weights[:], own.penalties[:] = p.weights, p.penalties
        assert nmpc.backend.iterate(60, 1e-9) == 0
        assert HpipmVm(own, shared_slacks=False).iterate(200, 1e-10) == 0
        assert p.x == pytest.approx(own.x, abs=2e-5)
        assert p.u[:, :6] == pytest.approx(own.u, abs=1e-3)
        assert np.abs(p.u[:, 6:]).max() < 1e-9


def test_a_solver_takes_a_vehicle_with_fewer_thrusters() -> None:
    nmpc = controller(rov())
    x0, goal, others = scene(1, len(nmpc.times_s), distance_m=8.0)
    for vehicle in (rov(), SIX, rov()):
        nmpc.set_vehicle(vehicle)
        found = nmpc.solve(x0, np.zeros(vehicle.input_count), goal, others, np.zeros(6), np.zeros(3), 0.0)
        assert found.usable
        assert found.thrust_N.shape == (vehicle.input_count,)
        assert found.thrusts_N.shape == (10, vehicle.input_count)
        assert np.all(found.thrust_N <= vehicle.input_max_N) and np.all(found.thrust_N >= vehicle.input_min_N)


def test_wrench_inputs_have_the_norm_and_the_wrench_of_the_thrust() -> None:
    vehicle = tripled(shipped("wu2018"))
    inputs, rng = WrenchInputs(vehicle), np.random.default_rng(3)
    for _ in range(20):
        w = inputs.of_thrust(rng.uniform(-1, 1, vehicle.input_count))
        u = inputs.thrust_N(w)
        assert np.linalg.norm(u) == pytest.approx(np.linalg.norm(w), rel=1e-12)
        assert vehicle.input_matrix @ u == pytest.approx(inputs.matrix @ w, abs=1e-12)
        corner = inputs.of_thrust(rng.choice([vehicle.input_min_N, vehicle.input_max_N], axis=0))
        assert np.all(corner <= inputs.upper + 1e-9) and np.all(corner >= inputs.lower - 1e-9)


def test_wrench_inputs_want_the_thrust_that_thrusters_want() -> None:
    """Within the limits; a raft's 24 thrusters as well as one vehicle's 8."""
    for vehicle in (rov(), tripled(rov())):
        found = []
        for inputs in ("thrusters", "wrench"):
            nmpc = controller(vehicle, inputs=inputs)
            x0, goal, others = scene(1, len(nmpc.times_s), distance_m=8.0)
            goal = replace(goal, positions_m=np.tile([0.01, 0.01, 5.01], (len(nmpc.times_s), 1)))
            for _ in range(3):
                solution = nmpc.solve(x0, np.zeros(vehicle.input_count), goal, others, np.zeros(6), np.zeros(3), 0.0)
            assert solution.usable
            found.append(solution.thrusts_N)
        assert np.abs(found[0]).max() > 0.2
        assert found[1] == pytest.approx(found[0], abs=1e-6)


def test_wrench_inputs_keep_the_limits_and_most_of_the_wrench() -> None:
    inputs, rng = WrenchInputs(rov()), np.random.default_rng(4)
    b, least, most = rov().input_matrix, rov().input_min_N, rov().input_max_N
    cut = 0
    for _ in range(30):
        w = rng.uniform(inputs.lower, inputs.upper)
        w[6:] = 0.0
        u, wanted = inputs.thrust_N(w), inputs.matrix @ w
        assert np.all(u <= most) and np.all(u >= least)
        clipped = np.clip(inputs.thrust_N(w / 1e6) * 1e6, least, most)
        weights = axis_weights(rov(), "attitude")
        assert np.linalg.norm(weights * (b @ u - wanted)) <= np.linalg.norm(weights * (b @ clipped - wanted)) + 1e-6
        cut += np.linalg.norm(b @ u - wanted) > 1e-3
    assert cut > 10


def test_thruster_inputs_of_eight_are_the_thrusters() -> None:
    inputs = ThrusterInputs(rov())
    np.testing.assert_array_equal(inputs.matrix, rov().input_matrix)
    np.testing.assert_array_equal(inputs.upper, rov().input_max_N)
    np.testing.assert_array_equal(inputs.lower, rov().input_min_N)


def test_a_hundred_and_sixty_thrusters_are_steered_with_six_inputs() -> None:
    assert vehicle_of(160).input_count == 160 and vehicle_of(4).input_count == 4
    case = Case("auto", 1, 5, thrusters=160, inputs="wrench")
    case.turn(3)
    assert case.row()["failures"] == 0
    assert formulation_for(vehicle_of(160), SETTINGS, 1).nu == 8  # auto: more than 32 thrusters
