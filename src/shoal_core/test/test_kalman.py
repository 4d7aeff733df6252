"""The loops in C against CasADi's own matrices."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.codegen import load_library
from shoal.estimation import kalman
from shoal.estimation.actuator_state import Segment
from shoal.estimation.kalman import SIZE, SOURCE, CasadiFilter, CompiledFilter, Filter, make_filter
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.parameters import parameter_vector, structure_of

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018")
STRUCTURE = structure_of(VEHICLE)


def randomise(filters: list[Filter], seed: int) -> None:
    """The same numbers in all of them: turned far, moving, disturbances near and beyond their bounds."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((SIZE, SIZE))
    attitude = rng.standard_normal(4)
    state = np.concatenate([rng.uniform(-3, 3, 3), attitude / np.linalg.norm(attitude), rng.uniform(-0.3, 0.3, 6)])
    values = {
        "covariance": 1e-3 * (root @ root.T + np.eye(SIZE)).ravel(),
        "state": state,
        "disturbances": rng.uniform(-1, 1, 9),
        "theta": parameter_vector(VEHICLE, STRUCTURE),
        "process": rng.uniform(0, 1, SIZE),
        "variance": rng.uniform(0.01, 1, 12),
        "believed": rng.uniform(0.5, 2, 9),
    }
    for one in filters:
        for name, value in values.items():
            getattr(one, name)[:] = value


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_machine_code_and_casadi_agree(seed: int, gated: bool) -> None:
    library = load_library(SOURCE)
    if library is None:
        pytest.skip("no C compiler")
    filters: list[Filter] = [CompiledFilter(STRUCTURE, library), CasadiFilter(STRUCTURE)]
    randomise(filters, seed)
    for one in filters:
        one.gate[:] = 0.02 if gated else np.inf  # lengths and sigmas that some exceed and some do not
    left_out = 0
    rng = np.random.default_rng(100 + seed)
    for _ in range(3):  # predictions and corrections in any order
        steps = rng.integers(0, 3, 2)
        force, measured = rng.uniform(-1, 1, 8), filters[1].state + rng.uniform(-0.1, 0.1, 13)
        measured[ATTITUDE] *= rng.choice([-1, 1]) / np.linalg.norm(measured[ATTITUDE])  # the same attitude either way
        ratios = rng.choice([None, 0.0, 1.5]) if seed % 2 else None
        each = None if ratios is None else np.append(np.full(7, float(ratios)), 0.5)
        segment = Segment.lagged(rng.uniform(-1, 1, 8), 0.03, float(rng.choice([0.0, 0.15])), each)
        for one in filters:
            for _ in range(steps[0]):
                np.testing.assert_allclose(one.predict(force, segment), segment.end_N(force), atol=1e-12)
            for _ in range(steps[1]):
                left_out += one.correct(measured)
        for name in ("state", "disturbances", "covariance", "residual", "taken"):
            np.testing.assert_allclose(
                getattr(filters[0], name), getattr(filters[1], name), rtol=1e-9, atol=1e-9, err_msg=name
            )
    assert np.abs(filters[1].state).max() < 10.0
    assert gated or left_out == 0
    mean = Segment.steady(segment.mean_N(force), segment.duration_s)
    for one in filters:  # a lag acts through the mean force
        lagged, steady = one.step(filters[1].state, force, segment), one.step(filters[1].state, force, mean)
        np.testing.assert_allclose(lagged[0], steady[0], atol=1e-12)
        np.testing.assert_allclose(lagged[1], segment.end_N(force), atol=1e-12)


@pytest.mark.parametrize("kind", ["compiled", "casadi"])
def test_a_block_beyond_its_gate_is_left_out_by_the_distance_that_matrices_give(kind: str) -> None:
    """Against the textbook: the rest is taken in first, then the position is judged by dᵀ S⁻¹ d."""
    library = load_library(SOURCE)
    if library is None:
        pytest.skip("no C compiler")
    one = CompiledFilter(STRUCTURE, library) if kind == "compiled" else CasadiFilter(STRUCTURE)
    randomise([one], 3)
    p, r = one.covariance.reshape(SIZE, SIZE).copy(), np.diag(one.variance)
    before, measured = one.state.copy(), one.state.copy()
    measured[7:13] += 0.2
    measured[POSITION] += (0.4, -0.3, 0.2)
    h = np.eye(SIZE)[3:12]  # all but the position
    gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r[3:, 3:])
    change = gain @ np.concatenate([np.zeros(3), np.full(6, 0.2)])
    after = p - gain @ h @ p
    gap = measured[POSITION] - before[POSITION] - change[POSITION]
    distance = float(gap @ np.linalg.inv(after[:3, :3] + r[:3, :3]) @ gap)
    covariance, disturbances = one.covariance.copy(), one.disturbances.copy()
    for sigmas2, length2, left_out in (
        (0.99 * distance, 0.0, 1),
        (1.01 * distance, 0.0, 0),
        (0.99 * distance, 1.01 * float(gap @ gap), 0),
    ):
        one.covariance[:], one.state[:], one.disturbances[:] = covariance, before, disturbances
        one.gate[:] = length2, np.inf, np.inf, np.inf, sigmas2
        assert one.correct(measured) == left_out
        np.testing.assert_allclose(one.residual[:3], gap, atol=1e-9)
        np.testing.assert_array_equal(one.taken, [1 - left_out, 1, 1, 1])
        if left_out:
            np.testing.assert_allclose(one.state[:3], before[:3] + change[:3], atol=1e-9)
            np.testing.assert_allclose(one.covariance.reshape(SIZE, SIZE), after, atol=1e-9)


def test_without_a_compiler_it_is_casadi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kalman, "load_library", lambda *_: None)
    assert isinstance(make_filter(STRUCTURE), CasadiFilter)
