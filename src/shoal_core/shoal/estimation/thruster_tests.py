"""What tests of thrusters show: pushes forth and back, and what was felt of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Row = tuple[float, Array, Array]  # stamp, missing wrench (6,) in sigmas, thrust (n,) through the same filter
FEWEST_ROWS = 8  # measurements of a test
FLOWN = 0.15  # of a test's push, RMS: what a suspect must have been asked for; a whole test gives 0.2 to 0.5
PER_SAMPLE = 3.0  # looks of 0.1 s through a filter of 6 rad/s: so many of them are as good as one independent one


@dataclass(frozen=True)
class Answer:
    """Of a thruster to its tests."""

    gain: float  # force per force asked for
    sigma: float  # of the gain
    force_N: float  # on average: what it gives beside


def varying(rows: Sequence[Row]) -> tuple[Array, Array]:
    """Wrenches (K,6) and forces (K,n) of a test without mean and trend: what else goes on is slower."""
    times = np.array([row[0] for row in rows])
    basis = np.column_stack([np.ones_like(times), times - times.mean()])
    basis /= np.linalg.norm(basis, axis=0)
    z, felt = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    return z - basis @ (basis.T @ z), felt - basis @ (basis.T @ felt)


def was_flown(rows: Sequence[Row], pattern: Array, push_N: float) -> bool:
    """Whether suspects were really asked for the test's pushes, (n,) per newton, and their answers were measured."""
    if len(rows) < FEWEST_ROWS:
        return False
    asked_N = varying(rows)[1] @ _along(pattern)
    return float(np.sqrt(np.mean(asked_N**2))) > FLOWN * push_N


def _along(pattern: Array) -> Array:
    """(n,) that reads off forces how much of the pattern is in them."""
    return pattern / float(pattern @ pattern)


def answer(tests: Sequence[Sequence[Row]], pattern: Array, signature: Array) -> Answer:
    """The gain of an input, or of several by a pattern (n,), over all tests, with its signature (6,).

    Each test counts by how well it fits, and they must agree with each other.
    """
    found = [_gain(rows, pattern, signature) for rows in tests]
    weights = np.array([1.0 / sigma**2 for _, sigma in found])
    gains = np.array([gain for gain, _ in found])
    gain = float(weights @ gains / weights.sum())
    sigma2 = 1.0 / weights.sum()
    if len(tests) > 1:
        sigma2 = max(sigma2, float(weights @ (gains - gain) ** 2 / weights.sum()) / (len(tests) - 1))
    along = [float(row[1] @ signature) for rows in tests for row in rows]
    return Answer(gain, float(np.sqrt(sigma2)), float(np.mean(along) / (signature @ signature)))


def _gain(rows: Sequence[Row], pattern: Array, signature: Array) -> tuple[float, float]:
    """Least squares without mean and trend, and its sigma; errors across the signature show how large they are, too."""
    (z, felt), length2 = varying(rows), float(signature @ signature)
    asked_N = felt @ _along(pattern)
    asked2 = max(float(asked_N @ asked_N), 1e-9)
    gain = float(z @ signature @ asked_N) / length2 / asked2
    error = z - gain * np.outer(asked_N, signature)  # (K,6)
    along, of_all = float(((error @ signature) ** 2).sum()) / length2, float((error**2).sum()) / error.shape[1]
    free = max(len(rows) / PER_SAMPLE - 3.0, 1.0)  # mean, trend and gain are fitted
    return gain, float(np.sqrt(max(along, of_all, 1e-6) / free / length2 / asked2))


def opposed(input_matrix: Array) -> Array:
    """(n,) of at most 1: inputs that push against each other without any wrench, as many of them as possible.

    Zeros where there are none. Of all combinations of a basis of the null space with signs, the most even one.
    """
    _, values, right = np.linalg.svd(input_matrix)
    rank = int(np.sum(values > 1e-9 * max(values[0], 1e-12)))
    used = np.linalg.norm(input_matrix, axis=0) > 0
    basis = right[rank:] @ np.diag(used.astype(float))
    free = [row for row in np.linalg.qr(basis.T)[0].T if np.allclose(input_matrix @ row, 0.0, atol=1e-9)]
    rng, best = np.random.default_rng(0), np.zeros(input_matrix.shape[1])
    for weights in rng.standard_normal((200, len(free))) if free else ():
        found = np.asarray(weights @ np.array(free))
        size = float(np.abs(found).max())
        if size < 1e-9:
            continue
        found = np.where(np.abs(found) < 1e-9, 0.0, found) / size
        if np.abs(found).sum() > np.abs(best).sum():
            best = found
    return best
