"""Optimal control problems for the solver tests: random ones, and a controller with a scene around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.formulation import NX, Formulation, split
from shoal.control.nmpc.nmpc import Backend, Goal, Nmpc, Others
from shoal.control.nmpc.problem import Problem
from shoal.control.settings import NmpcSettings
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import Vehicle, load_vehicle

Array = NDArray[np.float64]


@lru_cache(maxsize=1)
def rov() -> Vehicle:
    """The vehicle of all these tests."""
    return load_vehicle("bluerov2_heavy", "wu2018")


def controller(places: int, backend: str | Callable[[Problem], Backend] = "auto") -> Nmpc:
    """A controller with default weights on an uneven grid."""
    factory = choose_backend(backend) if isinstance(backend, str) else backend
    settings = NmpcSettings(fine_steps=10, fine_step_s=0.1, coarse_steps=5, coarse_step_s=0.2)
    return Nmpc(rov(), settings, places, factory)


def stage_dynamics(formulation: Formulation) -> ca.Function:
    """(x, u, dt, globals) → (next x, A, B) by automatic differentiation: the judge of kernel and linearisation."""
    x, u, dt = ca.SX.sym("x", NX), ca.SX.sym("u", formulation.nu), ca.SX.sym("dt")
    g = ca.SX.sym("g", sum(formulation.global_sizes.values()))
    x_next = formulation.step(x, u, dt, split(g, formulation.global_sizes))
    jacobian = ca.densify(ca.jacobian(x_next, ca.vertcat(x, u)))
    return ca.Function("stage_dynamics", [x, u, dt, g], [x_next, jacobian[:, :NX], jacobian[:, NX:]])


def unit(rng: np.random.Generator, size: int) -> Array:
    """A random direction."""
    v = rng.normal(size=size)
    return np.asarray(v / np.linalg.norm(v))


def randomise(problem: Problem, seed: int) -> None:
    """Guess off its dynamics, references off the guess, neighbours from touching to far, some to be seen."""
    rng = np.random.default_rng([seed, 71])
    points, places = len(problem.x), problem.formulation.neighbours
    problem.x[:] = 0.1 * rng.normal(size=problem.x.shape)
    problem.x[:, 2] += 5.0
    problem.x[:, 3] = 1.0
    problem.x[:, ATTITUDE] /= np.linalg.norm(problem.x[:, ATTITUDE], axis=1, keepdims=True)
    problem.u[:] = np.clip(2 * rng.normal(size=problem.u.shape), problem.limits[0], problem.limits[1])
    problem.limits[2] = np.clip(problem.u[0] + rng.normal(size=problem.u.shape[1]), *problem.limits[:2])
    problem.position_ref[:] = problem.x[:, POSITION] + 0.3 * rng.normal(size=(points, 3))
    problem.velocity_ref[:] = 0.1 * rng.normal(size=(points, 3))
    problem.quaternion_ref[:] = [1.0, 0.0, 0.0, 0.0]
    problem.block("wrench")[:] = rng.normal(size=6) * [1, 1, 1, 0.1, 0.1, 0.1]
    problem.block("current")[:] = 0.2 * rng.normal(size=3)
    for j in range(places):
        away = unit(rng, 3) + [1.0, 0.0, 0.0]
        distance = 0.4 if j == 0 and seed % 3 == 0 else rng.uniform(0.8, 2.7)
        problem.others[:, 3 * j : 3 * j + 3] = problem.x[0, POSITION] + away / np.linalg.norm(away) * distance
    problem.soft_m[:], problem.hard_m[:] = 2.0, 0.75
    problem.free[:] = rng.normal(size=problem.free.shape)
    problem.sight[:] = rng.uniform(size=places) > 0.3


def scene(places: int, points: int, distance_m: float = 1.9) -> tuple[Array, Goal, Others]:
    """At rest 5 m deep, wanted half a metre off, neighbours in an arc ahead a little too near."""
    x0 = np.zeros(13)
    x0[2], x0[3] = 5.0, 1.0
    goal = Goal(np.tile([0.3, 0.2, 5.1], (points, 1)), np.zeros((points, 3)), np.zeros(points))
    angles = np.linspace(-0.25, 0.25, places) if places > 1 else np.zeros(1)
    around = distance_m * np.stack([np.cos(angles), np.sin(angles), np.zeros(places)], axis=1)
    positions = np.repeat((x0[POSITION] + around)[:, None], points, axis=1)
    limits = np.full((places, points), 2.0), np.full((places, points), 0.75)
    return x0, goal, Others(positions, *limits, np.ones(places))


def bad_scene(seed: int, places: int, times_s: Array) -> tuple[Array, Array, Goal, Others]:
    """Any attitude, speeds to 0.5 m/s and 1 rad/s, neighbours from touching on and anywhere, goal far away."""
    rng = np.random.default_rng([seed, 72])
    points = len(times_s)
    x0 = np.concatenate([rng.uniform(-5, 5, 3), unit(rng, 4), rng.uniform(-0.5, 0.5, 3), rng.uniform(-1, 1, 3)])
    goal_m = x0[POSITION] + unit(rng, 3) * rng.uniform(0, 20)
    velocity = 0.3 * unit(rng, 3)
    goal = Goal(
        goal_m + times_s[:, None] * velocity,
        np.tile(velocity, (points, 1)),
        np.full(points, rng.uniform(-np.pi, np.pi)),
    )
    distances = rng.choice([0.0, 0.3, 0.8, 1.5, 2.5, 6.0], size=places)
    starts = x0[POSITION] + np.array([unit(rng, 3) * d for d in distances])
    motions = np.array([0.5 * unit(rng, 3) for _ in range(places)])
    positions = starts[:, None] + times_s[None, :, None] * motions[:, None]
    limits = np.full((places, points), 2.0), np.full((places, points), 0.75)
    others = Others(positions, *limits, (rng.uniform(size=places) > 0.3).astype(float))
    previous = rng.uniform(rov().thrust_min_N, rov().thrust_max_N)
    return x0, previous, goal, others
