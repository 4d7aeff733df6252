"""Terminal cost: the infinite-horizon cost of the linearised hovering vehicle.

Of the motions that no input can steer, those that die out by themselves cost what is left until then (the Riccati
equation is a Lyapunov equation for them); those that do not, as the depth of a body that nothing holds, would cost
without end whatever is done, and have no terminal cost.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from shoal.control.settings import Weights
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import VehicleModel

Array = NDArray[np.float64]
PERIOD_S = 0.1  # weights are per 0.1 s
SLOWEST_PER_S = 1e-4  # motions that die out more slowly than this count as staying


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
    discrete = scipy.linalg.expm(block * PERIOD_S)
    # Quadratic damping vanishes at rest; ε = half the angle, hence the attitude weight over four.
    q = 2 * np.array(
        [weights.position_xy] * 2
        + [weights.position_z]
        + [weights.attitude / 4] * 3
        + [weights.velocity] * 3
        + [weights.rate] * 3
    )
    r = 2 * (weights.thrust + weights.proximal) * np.eye(b.shape[1])
    cost, (step, push) = np.diag(q + 1e-3), (discrete[:12, :12], discrete[:12, 12:])
    lasting = lasting_part(a, b)
    if lasting is None:
        return np.asarray(scipy.linalg.solve_discrete_are(step, push, cost, r))
    kept, onto = lasting
    found = scipy.linalg.solve_discrete_are(onto @ step @ kept, onto @ push, kept.T @ cost @ kept, r)
    return np.asarray(onto.T @ found @ onto)


def lasting_part(a: Array, b: Array) -> tuple[Array, Array] | None:
    """Basis (n,k) of what can be steered or comes back by itself, and the projection (k,n) onto it; None: that is all.

    The projection is along the motions that do neither, so that they do not count at all.
    """
    steered = _reachable(a, b)
    count = steered.shape[1]
    if count == len(a):
        return None
    rest = np.linalg.svd(steered, full_matrices=True)[0][:, count:]
    form, vectors, returning = scipy.linalg.schur(
        rest.T @ a @ rest, output="real", sort=lambda re, im=0.0: re < -SLOWEST_PER_S
    )
    if count + returning == len(a):
        return None
    back, stay = rest @ vectors[:, :returning], rest @ vectors[:, returning:]
    # In these coordinates the staying motions are (skewed, 1): with them as the other axis both parts are their own.
    skewed = scipy.linalg.solve_sylvester(
        form[:returning, :returning], -form[returning:, returning:], -form[:returning, returning:]
    )
    return np.hstack([steered, back]), np.vstack([steered.T, back.T - skewed @ stay.T])


def _reachable(a: Array, b: Array) -> Array:
    """Orthonormal basis of the controllable subspace, direction by direction."""
    basis = np.zeros((len(a), 0))
    new = b / np.linalg.norm(b)
    while True:
        new = new - basis @ (basis.T @ new)
        left, values, _ = np.linalg.svd(new, full_matrices=False)
        left = left[:, values > 1e-7]
        if left.shape[1] == 0:
            return basis
        basis = np.hstack([basis, left])
        new = a @ left
        new = new / max(1.0, float(np.linalg.norm(new)))
