"""What the optimisation takes as its inputs: the thrusters' forces, or the few combinations of them that move the body.

Either way there are 8, 16 or 32 of them, the rest without effect: one compiled solver serves every vehicle of up to
so many, and a vehicle may be exchanged for another one in flight without a compiler.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.vehicles.allocation import Allocator
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import INPUT_COUNTS, padded

Array = NDArray[np.float64]
Kind = Literal["auto", "thrusters", "wrench"]


class Inputs(Protocol):
    """Between thrust (n,) and the m inputs of the optimisation."""

    matrix: Array  # (6,m) inputs to body wrench
    lower: Array  # (m,)
    upper: Array  # (m,)

    def of_thrust(self, thrust_N: Array) -> Array:
        """(…,m) of thrust (…,n)."""
        ...

    def thrust_N(self, inputs: Array) -> Array:
        """(…,n) within the thrusters' limits, of inputs (…,m)."""
        ...


def make_inputs(kind: Kind, vehicle: Vehicle) -> Inputs:
    """By name; see NmpcSettings.inputs."""
    if kind == "auto":
        kind = "thrusters" if vehicle.input_count <= INPUT_COUNTS[-1] else "wrench"
    return WrenchInputs(vehicle) if kind == "wrench" else ThrusterInputs(vehicle)


class ThrusterInputs:
    """Each thruster's force is an input: limits are exact."""

    def __init__(self, vehicle: Vehicle) -> None:
        self._count = vehicle.input_count
        self.matrix = _widened(vehicle.input_matrix)
        self.lower, self.upper = _bounds(vehicle.input_min_N, vehicle.input_max_N)
        self._padding = len(self.lower) - self._count

    def of_thrust(self, thrust_N: Array) -> Array:
        """The thrust, and zeros."""
        return _padded(thrust_N, self._padding)

    def thrust_N(self, inputs: Array) -> Array:
        """Without the padding."""
        return inputs[..., : self._count]


class WrenchInputs:
    """w = Vᵀu with B = U S Vᵀ: at most six inputs, however many thrusters there are.

    u = V w is the least thrust for the wrench, and ‖u‖ = ‖w‖: weights on thrust keep their meaning, and within limits
    the optimum is the same. The box on w contains every thrust within the limits, and more; what is too much is cut by
    a bounded least squares behind the optimisation, for the thrust of now only.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        left, values, right = np.linalg.svd(vehicle.input_matrix, full_matrices=False)
        rank = int(np.sum(values > 1e-9 * values[0]))
        self._v = right[:rank].T  # (n,rank)
        self._allocate = Allocator(vehicle)
        self._b, self._least, self._most = vehicle.input_matrix, vehicle.input_min_N, vehicle.input_max_N
        self.matrix = _widened(left[:, :rank] * values[:rank])
        positive, negative = np.maximum(self._v, 0), np.minimum(self._v, 0)
        self.lower, self.upper = _bounds(
            positive.T @ self._least + negative.T @ self._most, positive.T @ self._most + negative.T @ self._least
        )
        self._rank, self._padding = rank, len(self.lower) - rank

    def of_thrust(self, thrust_N: Array) -> Array:
        """Vᵀu; what cancels out is lost."""
        return _padded(thrust_N @ self._v, self._padding)

    def thrust_N(self, inputs: Array) -> Array:
        """V w, or the nearest wrench that there is thrust for."""
        thrust = inputs[..., : self._rank] @ self._v.T
        if thrust.ndim > 1 or (np.all(thrust >= self._least) and np.all(thrust <= self._most)):
            return np.clip(thrust, self._least, self._most)
        return self._allocate(self._b @ thrust)


def _padded(inputs: Array, spare: int) -> Array:
    """With zeros for the inputs without effect."""
    return inputs if spare == 0 else np.concatenate([inputs, np.zeros((*inputs.shape[:-1], spare))], axis=-1)


def _widened(matrix: Array) -> Array:
    """With columns of zeros."""
    count = matrix.shape[1]
    return np.pad(matrix, ((0, 0), (0, padded(count) - count)))


def _bounds(lower: Array, upper: Array) -> tuple[Array, Array]:
    """With room for the inputs without effect: they stay at zero by their cost, and a narrow box would be stiff."""
    spare, widest = padded(len(lower)) - len(lower), float(np.max(upper - lower))
    return np.append(lower, np.full(spare, -widest)), np.append(upper, np.full(spare, widest))
