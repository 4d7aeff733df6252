"""Taking the step that a QP proposes, the same way for every back end written in Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.control.nmpc.problem import Problem
from shoal.messages.state import ATTITUDE

Array = NDArray[np.float64]
PARTS = (slice(0, 3), slice(3, 7), slice(7, None))  # position, quaternion, velocities


def accept(problem: Problem, dx: Array, du: Array, status: int, box: tuple[Array, Array]) -> int:
    """Damp to the trust region, move the guess, renormalise quaternions; status 2 and no change if not finite.

    `box` holds the bounds of du: an interior point may lie outside by its tolerance, thrust may not.
    """
    if status >= 2 or not (np.isfinite(dx).all() and np.isfinite(du).all()):
        problem.report[7] = status = max(status, 2)
        return status
    length = np.array([np.sqrt((dx[:, part] ** 2).sum(axis=1).max()) for part in PARTS])
    share = float(min(1.0, (problem.max_step / np.maximum(length, 1e-12)).min()))
    problem.x += share * dx
    problem.x[:, ATTITUDE] /= np.linalg.norm(problem.x[:, ATTITUDE], axis=1, keepdims=True)
    lower, upper = problem.u + box[0], problem.u + box[1]
    problem.u[:] = np.clip(problem.u + share * du, lower, upper)
    problem.report[2], problem.report[7] = share, status
    return status
