"""The published docking in the plane: model, cones, quadratic problems, and the inspection-and-rendezvous scenario."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from typer.testing import CliRunner

from shoal.cli import app
from shoal.docking.box_qp import BoxProblem
from shoal.docking.cooperative import CentralisedDocking, DistributedDocking, Rendezvous, Tuning
from shoal.docking.inspection import QUICK, START, Approach, approach, inspection
from shoal.docking.planar import Camera, PlanarVehicle, Prediction

Array = NDArray[np.float64]


def test_prediction_is_the_planar_model_integrated() -> None:
    vehicle, rng = PlanarVehicle(), np.random.default_rng(1)
    start, forces = rng.normal(size=6), rng.normal(size=(4, 3))
    states, jacobian = Prediction(vehicle, 4, 0.05)(start, forces)
    x = start
    for k in range(4):

        def ode(_: float, x: Array, u: Array = forces[k]) -> Array:
            c, s = math.cos(x[2]), math.sin(x[2])
            velocity = np.array([c * x[3] - s * x[4], s * x[3] + c * x[4], x[5]])
            return np.concatenate([velocity, (u - np.array(vehicle.damping) * x[3:]) / np.array(vehicle.mass)])

        x = solve_ivp(ode, (0, 0.05), x, rtol=1e-10, atol=1e-12).y[:, -1]
        np.testing.assert_allclose(states[k], x, atol=1e-5)  # RK4 at 0.05 s
    step = 1e-6 * rng.normal(size=forces.shape)
    moved = Prediction(vehicle, 4, 0.05)(start, forces + step)[0]
    np.testing.assert_allclose((moved - states).ravel(), jacobian @ step.ravel(), atol=1e-10)


def test_half_planes_are_the_cone() -> None:
    """Inside both exactly where |bearing| ≤ α; their values are d sin(β − ξ − α) and d sin(ξ − α − β)."""
    rng, camera = np.random.default_rng(2), Camera(0.7, math.radians(25))
    states, targets = rng.normal(size=(200, 6)), 3 * rng.normal(size=(200, 2))
    values, by_pose, by_target = camera.rows(states, targets)
    beta = camera.bearing_rad(states, targets)
    d = np.linalg.norm(targets - states[:, :2], axis=1)
    expected = np.stack([d * np.sin(beta - camera.half_angle_rad), d * np.sin(-camera.half_angle_rad - beta)], axis=1)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    ahead = np.abs(beta) < math.pi / 2
    np.testing.assert_array_equal((values <= 0).all(axis=1)[ahead], (np.abs(beta) <= camera.half_angle_rad)[ahead])
    step, aside = np.zeros_like(states), 1e-6 * rng.normal(size=targets.shape)
    step[:, :3] = 1e-6 * rng.normal(size=(200, 3))
    moved = camera.rows(states + step, targets + aside)[0] - values
    linear = np.einsum("krp,kp->kr", by_pose, step[:, :3]) + np.einsum("krp,kp->kr", by_target, aside)
    np.testing.assert_allclose(moved, linear, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_quadratic_problem_against_scipy(seed: int) -> None:
    """Bounds and priced rows, both ways of solving it."""
    rng, n = np.random.default_rng(seed), 12
    a = rng.normal(size=(n, n))
    problem = BoxProblem(
        a @ a.T + 0.1 * np.eye(n), 5 * rng.normal(size=n), np.full(n, -0.5), np.full(n, 0.8),
        rng.normal(size=(8, n)), rng.normal(size=8), 40.0,
    )  # fmt: skip
    found = problem.minimise(np.zeros(n))
    judge = minimize(problem.cost, np.zeros(n), method="L-BFGS-B", bounds=[(-0.5, 0.8)] * n,
                     options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000, "maxfun": 200000})  # fmt: skip
    assert ((found >= -0.5) & (found <= 0.8)).all()
    assert problem.cost(found) <= judge.fun + 1e-8
    np.testing.assert_allclose(found, judge.x, atol=2e-4)
    np.testing.assert_allclose(problem._by_projection(np.zeros(n)), found, atol=1e-6)


def test_prices_find_what_one_problem_of_both_finds() -> None:
    """Consensus alone (no cone binds), weights as printed: the forces become those of half the Laplacian cost.

    With R = 0.1 forces saturate, the problem is not convex in the heading, and the two need not agree.
    """
    alone = inspection()
    wide = {pair: replace(camera, half_angle_rad=math.radians(89)) for pair, camera in alone.cameras.items()}
    task = Rendezvous(alone.graph, alone.vehicles, wide)
    prices = DistributedDocking(task, Tuning(inner_iterations=300)).step(START)
    together = CentralisedDocking(task, Tuning(consensus=Tuning().consensus / 2), rounds=8).step(START)
    for name in START:
        np.testing.assert_allclose(prices[name], together[name], atol=1e-3)


def mutual_excess_deg(run: Approach) -> float:
    bearings = run.bearings_deg()
    return max(float(np.abs(bearings[n]).max()) for n in ("v1 → v2", "v2 → v1")) - 25.0


@pytest.mark.slow
def test_more_inner_iterations_keep_the_cones_better() -> None:
    few, more = (
        approach(DistributedDocking(inspection(), replace(QUICK, inner_iterations=count)), 6.0) for count in (2, 6)
    )
    assert mutual_excess_deg(few) > 1.0
    assert mutual_excess_deg(more) < 0.2


@pytest.mark.slow
def test_inspection_and_rendezvous() -> None:
    """Table 8.1 with R = 0.1, W = 1, L = 8: bearings ride their limits, the object stays near and in view."""
    run = approach(DistributedDocking(inspection(), QUICK), 32.0)
    assert 28.0 < run.first_s(0.3) < 32.0
    assert run.excess_deg() <= 1.1
    assert run.object_distance_m.max() < 3.005
    late = run.times_s > 29.5
    for name, angle in run.bearings_deg().items():
        assert np.abs(np.abs(angle[late]) - 25.0).max() < 0.3, name
    np.testing.assert_allclose(run.object_distance_m[late], 3.0, atol=0.005)
    assert run.heading_apart_deg[-1] < 0.1
    apart = np.log(run.separation_m[late])  # exponentially to zero: 0.05 m at ≈46 s
    assert np.polyfit(run.times_s[late], apart, 1)[0] < -0.09
    limits = np.array(PlanarVehicle().limits)
    assert all((np.abs(forces) <= limits + 1e-9).all() for forces in run.forces.values())


def test_one_problem_of_both_keeps_the_cones() -> None:
    run = approach(CentralisedDocking(inspection(), QUICK), 4.0)
    assert run.separation_m[-1] < 4.5
    assert run.excess_deg() < 0.2


def test_iterations_are_compared_by_command(tmp_path: Path) -> None:
    runner, picture = CliRunner(), tmp_path / "iterations.png"
    done = runner.invoke(
        app, ["docking", "iterations", "--counts", "2,1", "--duration-s", "0.5", "--plot", str(picture)]
    )
    assert done.exit_code == 0, done.output
    assert re.search(r"1 .*115 kbit/s.*\n.*2 .*230 kbit/s", done.output)
    assert picture.stat().st_size > 5000
    refused = runner.invoke(app, ["docking", "iterations", "--counts", "two"])
    assert refused.exit_code != 0 and "expected whole numbers above zero" in f"{refused.output}{refused.exception}"
