"""The optimal control problem itself: derivatives against differences, geometry and cost terms against formulas."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.codegen import compiler
from shoal.control.nmpc.backends.kernel import Kernel, workspace
from shoal.control.nmpc.backends.linearise import Stages
from shoal.control.nmpc.formulation import NX, Formulation, offsets, split
from shoal.control.nmpc.problem import Problem
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.parameters import structure_of
from solver_problems import controller, randomise, rov, stage_dynamics, unit

Array = NDArray[np.float64]
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return controller(2, "hpipm-vm").problem


def differences(function: ca.Function, x: Array, *rest: Array, output: int, step: float = 1e-6) -> Array:
    """Central differences of one output by the first argument: (outputs, inputs)."""
    columns = []
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        change = np.array(function(up, *rest)[output]) - np.array(function(down, *rest)[output])
        columns.append(change.ravel(order="F") / (2 * step))
    return np.array(columns).T


def random_stage(problem: Problem, seed: int, k: int = 3) -> tuple[Array, Array]:
    randomise(problem, seed)
    rng = np.random.default_rng([seed, 73])
    q = unit(rng, 4)
    problem.quaternion_ref[:] = q * np.sign(q @ problem.x[k, ATTITUDE])
    x = problem.x[k].copy()
    x[7:] = 0.5 * rng.normal(size=6)
    x[ATTITUDE] *= 1.02  # derivatives must hold off the unit sphere too: iterates leave it
    return x, problem.stages[k].copy()


@pytest.mark.parametrize("seed", range(4))
def test_gradients_of_cost_rows_and_terminal_cost(problem: Problem, seed: int) -> None:
    x, stage = random_stage(problem, seed)
    for name, value in (("ring_root", 20.0), ("ring_quartic", 3.0), ("attitude_quartic", 5.0)):
        problem.block(name)[:] = value
    cost, terminal = problem.formulation.cost(), problem.formulation.terminal()
    _, gradient, _, row_gradient, _, _ = (np.array(out) for out in cost(x, stage, problem.globals))
    assert gradient.ravel() == pytest.approx(
        differences(cost, x, stage, problem.globals, output=5)[0], rel=1e-6, abs=1e-6
    )
    by_differences = differences(cost, x, stage, problem.globals, output=2)
    assert pytest.approx(by_differences[:, :7], rel=1e-6, abs=1e-7) == row_gradient.T
    assert np.abs(by_differences[:, 7:]).max() == 0.0  # rows see position and attitude only
    _, gradient, _ = (np.array(out) for out in terminal(x, stage, problem.globals))
    assert gradient.ravel() == pytest.approx(
        differences(terminal, x, stage, problem.globals, output=2)[0], rel=1e-6, abs=1e-5
    )


@pytest.mark.parametrize("seed", range(3))
def test_hessian_is_gauss_newton(problem: Problem, seed: int) -> None:
    x, stage = random_stage(problem, seed)
    f = problem.formulation
    symbols = [ca.SX.sym("x", NX), ca.SX.sym("s", len(stage)), ca.SX.sym("g", len(problem.globals))]
    r, w = f.residuals(symbols[0], split(symbols[1], f.stage_sizes), split(symbols[2], f.global_sizes))
    residuals = ca.Function("residuals", symbols, [r, w])
    jacobian = differences(residuals, x, stage, problem.globals, output=0)
    weights = np.array(residuals(x, stage, problem.globals)[1]).ravel()
    hessian = np.array(f.cost()(x, stage, problem.globals)[0])
    assert hessian == pytest.approx(jacobian.T @ np.diag(weights) @ jacobian, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_sensitivities_agree_with_automatic_differentiation(problem: Problem, seed: int) -> None:
    randomise(problem, seed)
    stages = Stages(problem, use_compiler=False)
    stages.update()
    dynamics = stage_dynamics(problem.formulation)
    for k in range(len(problem.u)):
        exact = dynamics(problem.x[k], problem.u[k], problem.steps_s[k], problem.globals)
        found = (stages.x_next[k], stages.a_columns[k].T, stages.b_columns[k].T)
        for ours, theirs in zip(found, exact, strict=True):
            assert ours == pytest.approx(np.squeeze(np.array(theirs)), rel=1e-11, abs=1e-12)


@needs_compiler
@pytest.mark.parametrize("seed", range(4))
def test_kernel_linearises_as_casadi_does(seed: int) -> None:
    """A, B and the gap that the C code leaves in its work space, against AD of the RK4 step."""
    nmpc = controller(1, "kernel")
    problem, kernel = nmpc.problem, nmpc.backend
    assert isinstance(kernel, Kernel)
    randomise(problem, seed)
    x, u = problem.x.copy(), problem.u.copy()
    assert kernel.iterate(25, 1e-3) < 2
    width = 16 + 8
    work = workspace(kernel.sizes).stages
    per_stage = (len(work) - 8) // len(x)
    dynamics = stage_dynamics(problem.formulation)
    for k in range(len(u)):
        stage = work[k * per_stage :]
        ab, gap = stage[: NX * width].reshape(NX, width), stage[NX * width : NX * width + NX]
        x_next, a, b = (np.array(out) for out in dynamics(x[k], u[k], problem.steps_s[k], problem.globals))
        assert ab[:, :NX] == pytest.approx(a, rel=1e-10, abs=1e-11)
        assert ab[:, 16:24] == pytest.approx(b, rel=1e-10, abs=1e-11)
        assert gap == pytest.approx(x_next.ravel() - x[k + 1], rel=1e-10, abs=1e-11)


def test_rows_are_distance_and_cosine_of_the_sight_angle(problem: Problem) -> None:
    f = problem.formulation
    cost = f.cost()
    randomise(problem, 0)
    stage = problem.stages[0].copy()
    places = offsets(f.stage_sizes)
    problem.sight[:] = [1.0, 0.0]
    x = np.zeros(NX)
    x[3] = 1.0  # bow along x
    for angle_deg in (0.0, 29.0, 31.0, 75.0, 180.0):
        angle = np.deg2rad(angle_deg)
        stage[places["others"]] = [*(1.5 * np.array([np.cos(angle), 0.0, np.sin(angle)])), 0.0, 3.0, 0.0]
        value, gap = (np.array(cost(x, stage, problem.globals)[i]).ravel() for i in (2, 4))
        assert value[[0, 2]] == pytest.approx([1.5 - 2.0, 3.0 - 2.0], abs=1e-5)
        assert value[1] == pytest.approx(np.cos(angle) - np.cos(np.deg2rad(30)), abs=1e-5)
        assert value[1] + gap[1] == pytest.approx(np.cos(angle) - np.cos(np.deg2rad(60)), abs=1e-5)
        assert value[3] > 0.5  # the one that need not be seen never binds
        assert gap[[0, 2]] == pytest.approx([1.25, 1.25])


def test_rows_see_what_the_vehicle_sees_at_any_attitude(problem: Problem) -> None:
    """Against the geometry that judges runs: the transpose of a rotation passes at the identity only."""
    cost, places, rng = problem.formulation.cost(), offsets(problem.formulation.stage_sizes), np.random.default_rng(9)
    randomise(problem, 0)
    stage = problem.stages[0].copy()
    problem.sight[:] = 1.0
    for _ in range(20):
        x = np.concatenate([rng.normal(size=3), unit(rng, 4), np.zeros(6)])
        others = x[POSITION] + rng.normal(size=(2, 3))
        stage[places["others"]] = others.ravel()
        value = np.array(cost(x, stage, problem.globals)[2]).ravel()
        cosines = [np.cos(np.radians(sight_angle_deg(x, other))) for other in others]
        assert value[[1, 3]] == pytest.approx(np.array(cosines) - np.cos(np.radians(30)), abs=1e-4)
        assert value[[0, 2]] == pytest.approx(np.linalg.norm(others - x[POSITION], axis=1) - 2.0, abs=1e-4)


def test_attitude_cost_is_one_minus_squared_dot_and_blind_to_sign() -> None:
    f = Formulation(structure_of(rov()), 1)
    rng = np.random.default_rng(5)
    nmpc = controller(1, "hpipm-vm")
    problem = nmpc.problem
    for name in ("position", "velocity", "rate"):
        problem.block(name)[:] = 0.0
    cost, weight = f.cost(), nmpc.settings.weights.attitude
    for _ in range(5):
        q, q_ref = unit(rng, 4), unit(rng, 4)
        problem.quaternion_ref[:] = q_ref
        for sign in (1, -1):
            x = np.concatenate([np.zeros(3), sign * q, np.zeros(6)])
            found = float(cost(x, problem.stages[0], problem.globals)[5])
            assert found == pytest.approx(weight * (1 - (q @ q_ref) ** 2), rel=1e-9)


@pytest.mark.parametrize("form", ["ring_root", "ring_quartic"])
def test_ring_costs_vanish_on_the_ring_and_are_smooth_at_its_centre(form: str) -> None:
    problem = controller(1, "hpipm-vm").problem
    for name in ("position", "velocity", "rate", "attitude"):
        problem.block(name)[:] = 0.0
    problem.block(form)[:], problem.block("ring_radius")[:] = 2 * 35.0, 1.1
    cost = problem.formulation.cost()
    for bearing in (0.0, 1.0, 4.0):
        x = np.zeros(NX)
        x[3] = 1.0
        x[:2] = 1.1 * np.array([np.cos(bearing), np.sin(bearing)])
        assert float(cost(x, problem.stages[0], problem.globals)[5]) == pytest.approx(0.0, abs=1e-9)
        x[:2] *= 2.0
        expected = 1.1**2 if form == "ring_root" else (3 * 1.1**2) ** 2
        assert float(cost(x, problem.stages[0], problem.globals)[5]) == pytest.approx(35.0 * expected, rel=1e-4)
    x[:2] = 0.0
    assert all(np.isfinite(np.array(out)).all() for out in cost(x, problem.stages[0], problem.globals))


@needs_compiler
def test_no_pure_state_constraint_at_the_measured_state() -> None:
    """What the vehicle cannot change any more must not change what it does."""
    nmpc = controller(2, "kernel")
    results = []
    for soft_m in (2.0, 50.0):
        randomise(nmpc.problem, 1)
        nmpc.problem.soft_m[0] = soft_m
        assert nmpc.backend.iterate(50, 1e-6) == 0
        results.append(nmpc.problem.u.copy())
    assert np.array_equal(*results)
