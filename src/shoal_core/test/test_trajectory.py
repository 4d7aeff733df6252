"""Sampled motion: the compiled reader against the one in numpy, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal.codegen import compiler
from shoal.messages import trajectory
from shoal.messages.trajectory import Trajectory, pick, prepare, read, read_all

Array = NDArray[np.float64]
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler")


def samples(rng: np.random.Generator, count: int, width: int) -> tuple[Array, Array, Array, Array]:
    times = np.cumsum(rng.uniform(0.02, 0.3, count))
    return times, rng.uniform(-5, 5, (count, width)), rng.uniform(-1, 1, width), rng.uniform(-1, 1, width)


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
def test_machine_code_and_numpy_agree_bit_by_bit(seed: int) -> None:
    """Before, between, on and after the samples; instants in any order; tables of other lengths beside it."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 8))
    given = [samples(rng, count, width) for count in (1, 2, 21, 40)]
    asked = np.concatenate([rng.uniform(-1, 6, 30), given[2][0], [-np.inf if seed == 0 else 0.0]])
    made = [Trajectory(*g) for g in given]
    found = read_all(made, asked)
    for g, one, values in zip(given, made, found, strict=True):
        rows = prepare(*g)
        np.testing.assert_array_equal(one.rows, rows)
        np.testing.assert_array_equal(values, read(pick(rows, asked), asked))
        np.testing.assert_array_equal(values, one.at(asked))


def test_without_a_compiler_it_is_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    given = samples(np.random.default_rng(0), 5, 3)
    asked = np.linspace(-1.0, 3.0, 9)
    right = Trajectory(*given).at(asked)
    monkeypatch.setattr(trajectory, "library", lambda: None)
    np.testing.assert_array_equal(Trajectory(*given).at(asked), right)


@needs_compiler
@pytest.mark.parametrize("seed", range(6))
def test_velocities_and_distances_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    times, own, *_ = samples(rng, 12, 3)
    others = rng.uniform(-5, 5, (seed, 12, 3))
    (velocities, track), closest = trajectory.along(times, own), trajectory.closest_m2(others, own)
    np.testing.assert_allclose(velocities[:-1], np.diff(own, axis=0) / np.diff(times)[:, None], rtol=1e-14)
    np.testing.assert_array_equal(velocities[-1], velocities[-2])
    monkeypatch.setattr(trajectory, "library", lambda: None)
    right = trajectory.along(times, own)
    np.testing.assert_array_equal(velocities, right[0])
    np.testing.assert_array_equal(track.rows, right[1].rows)
    assert track.end_s == right[1].end_s == times[-1]
    assert closest == pytest.approx(trajectory.closest_m2(others, own), rel=1e-14)
    assert closest == pytest.approx(min((((o - own) ** 2).sum(axis=1).min() for o in others), default=np.inf))


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_compiler), False])
def test_what_cannot_be_computed_with_is_not_valid(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(trajectory, "library", lambda: None)

    def valid(times: list[float], bad: float = 0.0, where: tuple[int, int, int] = (0, 0, 0)) -> bool:
        values = np.ones((2, len(times), 3))
        if times:
            values[where] = bad
        return trajectory.is_valid(np.array(times), *values)

    assert valid([1.0]) and valid([-1.0, 0.0, 2.0])
    assert not valid([]) and not valid([1.0, 1.0]) and not valid([1.0, 0.5, 2.0])
    assert not valid([1.0, np.nan]) and not valid([np.inf])
    for which in (0, 1):
        for bad in (np.nan, np.inf, -np.inf):
            assert not valid([0.0, 1.0, 2.0], bad, (which, 1, 2))


def test_arrays_that_are_views_are_read_as_they_look() -> None:
    """Plans cut out of states, whole numbers, and arrays that may not be written to."""
    states = np.random.default_rng(1).uniform(-1, 1, (4, 13))
    times = np.arange(8)[::2]
    times.setflags(write=False)
    track = Trajectory(times, states[:, 2:5], states[0, ::6], states[1, 4:7])
    np.testing.assert_array_equal(track.rows, prepare(times, states[:, 2:5], states[0, ::6], states[1, 4:7]))
    np.testing.assert_allclose(track.at(np.array([1.0])), states[0:2, 2:5].mean(axis=0)[None])
