"""From a wanted wrench to inputs: bounded weighted least squares, for any number of inputs and steerable axes.

min |W(B u − τ)|² + ε|u|² within the limits of every input. The weights W say what is given up first when thrust does
not suffice; axes that no input can steer have none, or a boat would not go ahead because that pitches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from shoal.codegen import as_bytes, doubles, load_library
from shoal.vehicles.description import AXES, Vehicle

Array = NDArray[np.float64]
Priority = Literal["attitude", "equal"]
_MOMENT_FACTOR = {"attitude": 5.0, "equal": 1.0}  # of a moment against the same effort as a force
_LEAST_EFFORT = 1e-5  # ε as a share of the mean diagonal of BᵀW²B: chooses among inputs that do the same
MOST_INPUTS = 160  # of the compiled form


@cache
def library() -> Any:
    """allocation.c; None where there is no compiler."""
    return load_library(Path(__file__).with_name("allocation.c"))


class Allocator:
    """Prepared for one vehicle; call it with a wrench."""

    def __init__(
        self, vehicle: Vehicle, priority: Priority | Sequence[float] = "attitude", compiled: bool = True
    ) -> None:
        """`priority`: what is kept when thrust does not suffice, or six weights (per N, per N m) of the axes."""
        matrix = vehicle.input_matrix
        self.weights = axis_weights(vehicle, priority)
        pull = matrix.T * self.weights**2  # (n,6) BᵀW²
        hessian = pull @ matrix
        effort = _LEAST_EFFORT * max(float(np.trace(hessian)) / len(hessian), 1e-300)
        self.hessian, self.pull = hessian + effort * np.eye(len(hessian)), pull
        # Within the limits ε → 0: exactly the wrench, by the least inputs.
        self.free_gain = np.linalg.pinv(self.weights[:, None] * matrix, rcond=1e-9) * self.weights  # (n,6)
        self.set_bounds(vehicle.input_min_N, vehicle.input_max_N)
        self._native: Any = library() if compiled and len(hessian) <= MOST_INPUTS else None
        self._fixed = as_bytes(self.hessian), as_bytes(self.pull), as_bytes(self.free_gain)

    def set_bounds(self, lower_N: Array, upper_N: Array) -> None:
        """Other limits (n,) from now on: an input that is not to be used has both at zero."""
        self.lower_N, self.upper_N = np.asarray(lower_N, dtype=float), np.asarray(upper_N, dtype=float)
        self._bounds = as_bytes(self.lower_N), as_bytes(self.upper_N)

    def __call__(self, wrench: Array) -> Array:
        """Inputs (n,) in N for a body wrench (6,): the least that give it, or the nearest within the limits."""
        if self._native is None:
            return bounded(self.hessian, self.pull @ wrench, self.free_gain @ wrench, self.lower_N, self.upper_N)
        found = doubles(len(self.lower_N))
        self._native.allocation_solve(len(self.lower_N), *self._fixed, *self._bounds, as_bytes(wrench), found)
        return np.frombuffer(found)

    def repeat(self, times: int, wrenches: Array) -> None:
        """For timing: `times` allocations in machine code, one wrench (K,6) after the other."""
        count, found = len(self.lower_N), doubles(len(self.lower_N))
        given = len(wrenches), as_bytes(wrenches)
        self._native.allocation_repeat(times, count, *self._fixed, *self._bounds, *given, found)


def axis_weights(vehicle: Vehicle, priority: Priority | Sequence[float]) -> Array:
    """W (6,): forces 1, moments by the mean lever of the inputs, so that large and small vehicles decide alike."""
    if isinstance(priority, str):
        if priority not in get_args(Priority):
            raise ValueError(f"priority = '{priority}', expected {' or '.join(get_args(Priority))}, or six weights")
        levers = np.linalg.norm(vehicle.input_matrix[3:], axis=0)
        lever_m = float(np.sqrt(np.mean(levers**2)))
        moment = _MOMENT_FACTOR[priority] / lever_m if lever_m > 1e-9 else 0.0
        weights = np.repeat([1.0, moment], 3)
    else:
        weights = np.asarray(priority, dtype=float)
        if weights.shape != (6,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError(f"priority = {list(priority)}, expected six weights ≥ 0")
    controlled = vehicle.controlled_axes
    return np.where([axis in controlled for axis in AXES], weights, 0.0)


def bounded(hessian: Array, pull: Array, free: Array, lower: Array, upper: Array) -> Array:
    """argmin ½uᵀHu − pullᵀu within the bounds; `free` is the answer without them. The twin of allocation.c."""
    side = np.where(free < lower, -1, np.where(free > upper, 1, 0))
    u = np.minimum(np.maximum(free, lower), upper)
    if not side.any():
        return u
    for _ in range(10 * len(u) + 20):
        index, held = np.flatnonzero(side == 0), side != 0
        wanted = np.linalg.solve(
            hessian[np.ix_(index, index)], pull[index] - hessian[np.ix_(index, np.flatnonzero(held))] @ u[held]
        )
        outside = (wanted < lower[index]) | (wanted > upper[index])
        if outside.any():
            bound = np.where(wanted < lower[index], lower[index], upper[index])[outside]
            shares = (bound - u[index][outside]) / (wanted - u[index])[outside]
            first = int(np.argmin(shares))
            u[index] += shares[first] * (wanted - u[index])
            blocks = index[outside][first]
            side[blocks] = -1 if wanted[outside][first] < lower[blocks] else 1
            u[blocks] = bound[first]
            continue
        u[index] = wanted
        wrong = np.where(held & (lower < upper), side * (hessian @ u - pull), 0.0)
        worst = int(np.argmax(wrong))
        if wrong[worst] <= 1e-12 * np.abs(pull).max():
            break
        side[worst] = 0
    return u


def allocate(vehicle: Vehicle, wrench: Array, priority: Priority | Sequence[float] = "attitude") -> Array:
    """Inputs (n,) in N for one wrench (6,); who allocates often keeps an `Allocator`."""
    return Allocator(vehicle, priority)(wrench)


def largest(vehicle: Vehicle, axis: int, sign: int) -> float:
    """The largest force or moment ≥ 0 along one axis within the limits, with none along the other steerable axes."""
    controlled = vehicle.controlled_axes
    if AXES[axis] not in controlled:
        return 0.0
    matrix = vehicle.input_matrix
    others = [i for i, name in enumerate(AXES) if i != axis and name in controlled]
    result = scipy.optimize.linprog(
        -sign * matrix[axis],
        A_eq=matrix[others] if others else None,
        b_eq=np.zeros(len(others)) if others else None,
        bounds=list(zip(vehicle.input_min_N, vehicle.input_max_N, strict=True)),
    )
    return max(0.0, -float(result.fun))
