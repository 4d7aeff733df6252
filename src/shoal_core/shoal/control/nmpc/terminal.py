"""Terminal cost: the infinite-horizon cost of the linearised hovering vehicle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, solve_discrete_are

from shoal.control.settings import Weights
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import VehicleModel

Array = NDArray[np.float64]
PERIOD_S = 0.1  # weights are per 0.1 s


def terminal_weight(vehicle: Vehicle, weights: Weights) -> Array:
    """P (12,12) for the error of `Formulation.error`: solution of the discrete Riccati equation at hover."""
    model = VehicleModel(vehicle)
    level = np.zeros(13)
    level[3] = 1.0
    linear = model.linearise(level, model.trim())
    to_error = np.zeros((12, 13))  # attitude error is 2ε, so that small ones are angles
    to_error[0:3, 0:3], to_error[6:12, 7:13] = np.eye(3), np.eye(6)
    to_error[3:6, 4:7] = 2 * np.eye(3)
    a = to_error @ linear.a @ np.linalg.pinv(to_error)
    b = to_error @ linear.b
    block = np.zeros((12 + b.shape[1], 12 + b.shape[1]))
    block[:12, :12], block[:12, 12:] = a, b
    discrete = expm(block * PERIOD_S)
    # Quadratic damping vanishes at rest; ε = half the angle, hence the attitude weight over four.
    q = 2 * np.array(
        [weights.position_xy] * 2
        + [weights.position_z]
        + [weights.attitude / 4] * 3
        + [weights.velocity] * 3
        + [weights.rate] * 3
    )
    r = 2 * (weights.thrust + weights.proximal) * np.eye(b.shape[1])
    return np.asarray(solve_discrete_are(discrete[:12, :12], discrete[:12, 12:], np.diag(q + 1e-3), r))
