"""What a control step fills into the optimisation: machine code against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.codegen import compiler
from shoal.control.base import ControllerContext, Neighbours
from shoal.control.nmpc.controller import NmpcController
from shoal.control.settings import NmpcSettings, Ring
from shoal.messages.directive import Directive
from shoal.messages.limits import Limits
from shoal.messages.preview import Preview
from shoal.vehicles.description import load_vehicle

Array = NDArray[np.float64]
pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler")
SETTINGS = {
    "as shipped": NmpcSettings(),
    "one place": NmpcSettings(max_neighbours=1),
    "on a ring": NmpcSettings(ring=Ring(form="root")),
    "uneven grid": NmpcSettings(fine_steps=9, coarse_steps=6),
}


def make(settings: NmpcSettings, compiled: bool) -> NmpcController:
    others = tuple(f"v{i}" for i in range(9))
    context = ControllerContext("own", load_vehicle("bluerov2_heavy", "wu2018"), settings, Limits(), 0.05, others)
    controller = NmpcController(context)
    assert controller.nmpc.compiled_aim is not None
    if not compiled:
        controller.nmpc.compiled_aim = None
    return controller


def attitude(rng: np.random.Generator) -> Array:
    q = rng.normal(size=4) * [1.0, 0.1, 0.1, 1.0]
    return np.asarray(q / np.linalg.norm(q))


def scene(
    rng: np.random.Generator, points: int, times_s: Array
) -> tuple[Array, Preview, frozenset[str], Neighbours, Array]:
    """State, reference, whom to see, neighbours near and far, and a guess."""
    state = np.concatenate([rng.uniform(-2, 2, 3), attitude(rng), rng.uniform(-0.5, 0.5, 6)])
    size = rng.choice([0.3, 4.0])
    way = state[:3] + size * rng.uniform(-1, 1, 3) + np.linspace(0, size, 30)[:, None] * rng.uniform(-1, 1, 3)
    headings = rng.uniform(-4, 4, 30) if rng.random() < 0.5 else None
    preview = Preview(np.linspace(-0.5, 3.0, 30), way, rng.uniform(-0.3, 0.3, (30, 3)), headings)
    count = int(rng.integers(0, 8))
    start = state[:3] + rng.choice([0.8, 3.0, 10.0]) * rng.uniform(-1, 1, (count, 1, 3))
    positions = start + np.linspace(0, 1, points)[:, None] * rng.uniform(-1, 1, (count, 1, 3))
    names = tuple(f"v{i}" for i in rng.permutation(9)[:count])
    known = Neighbours(names, np.zeros(count), positions, rng.uniform(0, 0.3, count))
    must_see = frozenset(name for name in (*names, "v8") if rng.random() < 0.3)
    guess = rng.uniform(-3, 3, (points, 13))
    guess[:, 3:7] = [attitude(rng) for _ in range(points)]
    return state, preview, must_see, known, guess


@pytest.mark.parametrize("name", SETTINGS)
def test_goal_and_neighbours(name: str) -> None:
    fast, right = make(SETTINGS[name], True), make(SETTINGS[name], False)
    times_s = right.nmpc.times_s
    turned = far = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        state, preview, must_see, known, guess = scene(rng, len(times_s), times_s)
        cold, found = bool(seed % 3 == 0), []
        for controller in (fast, right):
            controller.nmpc.problem.x[:], controller.nmpc.needs_cold_start = guess, cold
            found.append(controller._aim(state, Directive("follow", preview, must_see), known, times_s))
        a, b = fast.nmpc.problem, right.nmpc.problem
        np.testing.assert_allclose(a.stages, b.stages, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(a.globals, b.globals)
        assert found[0] is not None and found[1] is not None
        wanted = preview.at(times_s)
        for velocities in found:
            np.testing.assert_allclose(velocities, wanted.velocities_mps, atol=1e-12)
        far += bool(np.any(b.velocity_ref != wanted.velocities_mps))
        turned += bool(np.any(b.position_ref != wanted.positions_m))
    assert turned > 5 and (far > 5) == (name != "on a ring")  # the rules were at work


def test_a_reference_that_is_not_finite_is_refused() -> None:
    fast = make(NmpcSettings(), True)
    times_s = fast.nmpc.times_s
    state, preview, must_see, known, _ = scene(np.random.default_rng(0), len(times_s), times_s)
    before = fast.nmpc.problem.stages.copy()
    preview.positions_m[20, 1] = np.nan
    assert fast._aim(state, Directive("follow", preview, must_see), known, times_s) is None
    np.testing.assert_array_equal(fast.nmpc.problem.stages, before)


@pytest.mark.parametrize("name", ("as shipped", "uneven grid"))
@pytest.mark.parametrize("elapsed_s", (0.0, 0.05, 0.1, 0.13, 1.0, 99.0))
def test_shifted_guess(name: str, elapsed_s: float) -> None:
    fast, right = make(SETTINGS[name], True).nmpc, make(SETTINGS[name], False).nmpc
    for seed in range(10):
        rng = np.random.default_rng(seed)
        state, _, _, _, guess = scene(rng, len(right.times_s), right.times_s)
        thrusts = rng.uniform(-9, 9, right.problem.u.shape)
        for nmpc in (fast, right):
            nmpc.problem.x[:], nmpc.problem.u[:] = guess, thrusts
            nmpc._guess_shifted(state, elapsed_s)
        np.testing.assert_allclose(fast.problem.x, right.problem.x, rtol=0, atol=1e-13)
        np.testing.assert_array_equal(fast.problem.u, right.problem.u)
        np.testing.assert_allclose(right.problem.x[0, :3], state[:3])
