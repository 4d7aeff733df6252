"""The compiled kernel with other models and constraints than a submerged vehicle's: everything follows from the
formulation, and HPIPM and finite differences are the judges."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.codegen import compiler
from shoal.control.nmpc.backends.hpipm import HpipmVm
from shoal.control.nmpc.backends.kernel import Kernel, workspace
from shoal.control.nmpc.backends.linearise import Stages
from shoal.control.nmpc.formulation import Constraint, Formulation
from shoal.control.nmpc.problem import REPORT, Problem
from shoal.messages.state import POSITION, VELOCITY
from solver_problems import controller, randomise

Array = NDArray[np.float64]
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler")
STIFFNESS_PER_S2 = 40.0


@dataclass(frozen=True)
class Vessel(Formulation):
    """Held at 5 m depth by a spring, as a waterplane holds a vessel; a speed limit and a floor are rows of its own."""

    def ode(self, x: ca.SX, u: ca.SX, g: dict[str, ca.SX]) -> ca.SX:
        spring = ca.SX(self.nx, 1)
        spring[9] = -STIFFNESS_PER_S2 * (x[2] - 5.0)
        return super().ode(x, u, g) + spring

    def constraints(self, x: ca.SX, s: dict[str, ca.SX], g: dict[str, ca.SX]) -> list[Constraint]:
        speed = Constraint("speed", -x[7], ca.SX(-0.05), ca.SX(-0.1), "speed")
        floor = Constraint("floor", -x[2], ca.SX(-5.0), ca.SX(-5.05), "distance")
        return [speed, *super().constraints(x, s, g), floor]


@dataclass(frozen=True)
class Tethered(Formulation):
    """Pulled towards a point: every column of the position counts."""

    def ode(self, x: ca.SX, u: ca.SX, g: dict[str, ca.SX]) -> ca.SX:
        pull = ca.SX(self.nx, 1)
        pull[VELOCITY] = -3.0 * ca.sin(x[POSITION])
        return super().ode(x, u, g) + pull


def problem_of(kind: type[Formulation], places: int) -> Problem:
    """With the weights and limits of the default controller."""
    like = controller(places, "hpipm-vm").problem
    problem = Problem(kind(like.formulation.structure, places), like.steps_s)
    problem.globals[:], problem.weights[:], problem.limits[:] = like.globals, like.weights, like.limits
    problem.free[:] = like.free
    soft = [{"distance": 300.0, "sight": 150.0, "speed": 500.0}[price] for price in problem.formulation.prices]
    problem.penalties[:, 0] = [*soft, *(20 * price for price in soft)]
    problem.penalties[:, 1] = 100.0
    return problem


def test_first_dependence_follows_from_the_model() -> None:
    structure = controller(1, "hpipm-vm").problem.formulation.structure
    assert Formulation(structure, 1).first_dependence == 3
    assert Vessel(structure, 1).first_dependence == 2
    assert Tethered(structure, 1).first_dependence == 0


def test_rows_follow_from_the_constraints() -> None:
    structure = controller(1, "hpipm-vm").problem.formulation.structure
    usual, vessel = Formulation(structure, 2), Vessel(structure, 2)
    assert usual.prices == ("distance", "sight")
    assert usual.row_prices == (0, 1, 0, 1)
    assert usual.row_states == 7
    assert vessel.prices == ("speed", "distance", "sight")
    assert vessel.row_prices == (0, 1, 2, 1, 2, 1)
    assert vessel.row_states == 8


@pytest.mark.parametrize("kind", [Vessel, Tethered])
def test_derivatives_by_the_position_against_finite_differences(kind: type[Formulation]) -> None:
    problem = problem_of(kind, 1)
    randomise(problem, 1)
    stages = Stages(problem, use_compiler=False)
    stages.update()
    a, h = stages.a_columns.copy(), 1e-5
    x = problem.x.copy()
    moved = []
    for sign in (1, -1):
        problem.x[:] = x
        problem.x[:, 2] += sign * h
        stages.update()
        moved.append(stages.x_next.copy())
    by_depth = (moved[0] - moved[1]) / (2 * h)
    assert a[:, 2] == pytest.approx(by_depth, abs=1e-7)
    assert np.abs(a[:, 2, 9]).min() > 0.02  # the spring is felt


@needs_compiler
@pytest.mark.parametrize("kind", [Vessel, Tethered])
def test_kernel_linearises_forces_that_depend_on_position(kind: type[Formulation]) -> None:
    problem = problem_of(kind, 2)
    randomise(problem, 2)
    stages = Stages(problem, use_compiler=False)
    stages.update()
    kernel = Kernel(problem)
    a = stages.a_columns.transpose(0, 2, 1).copy()
    assert kernel.iterate(25, 1e-3) < 2
    work = workspace(kernel.sizes).stages
    per_stage, width = (len(work) - 8) // len(problem.x), 16 + 8
    for k in range(len(problem.u)):
        found = work[k * per_stage : k * per_stage + 13 * width].reshape(13, width)
        assert found[:, :13] == pytest.approx(a[k], rel=1e-10, abs=1e-11)


@needs_compiler
@pytest.mark.parametrize("kind", [Vessel, Tethered])
def test_kernel_agrees_with_hpipm_on_other_models_and_rows(kind: type[Formulation]) -> None:
    problem = problem_of(kind, 2)
    kernel, judge = Kernel(problem), HpipmVm(problem, shared_slacks=False)
    slack = 0
    for seed in range(8):
        randomise(problem, seed)
        problem.max_step[:] = 1e9
        x, u = problem.x.copy(), problem.u.copy()
        assert kernel.iterate(100, 1e-10) == 0
        ours, report = (problem.x.copy(), problem.u.copy()), problem.report.copy()
        problem.x[:], problem.u[:] = x, u
        assert judge.iterate(200, 1e-10) == 0
        assert ours[0] == pytest.approx(problem.x, abs=2e-5)
        assert ours[1] == pytest.approx(problem.u, abs=1e-3)
        for name in ("cost", "slack_soft", "slack_hard"):
            i = REPORT.index(name)
            assert report[i] == pytest.approx(problem.report[i], rel=1e-4, abs=1e-5), name
        slack += report[REPORT.index("slack_soft")] > 0.01
    assert slack >= 3  # rows bind
