"""The steps of the filter on arrays of its own: loops in C, or CasADi's functions where there is no compiler.

State x (13), disturbances (9): wrench in the body frame (6), current in NED (3). Errors and covariance (21): position,
attitude as three small angles in the body frame, velocity, rate, wrench, current.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from functools import lru_cache
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import FLAGS, Buffered, as_bytes, compiled, load_library
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST
from shoal.vehicles.dynamics import Dynamics, normalised, rk4
from shoal.vehicles.parameters import Structure

Array = NDArray[np.float64]
SIZE = 21
MEASURED = 12
SOURCE = Path(__file__).with_name("kalman.c")


class Filter(ABC):
    """`predict` and `correct` replace `state`, `disturbances` and `covariance` in place."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.state, self.disturbances, self.covariance = np.zeros(13), np.zeros(9), np.zeros(SIZE * SIZE)
        self.theta = np.zeros(structure.length)  # the vehicle's numbers
        self.process, self.variance = np.zeros(SIZE), np.zeros(MEASURED)  # per second; of a measurement
        self.believed = np.zeros(9)  # bounds of the disturbances
        self._duration = np.zeros(1)
        self._step = self._model(_step_function(structure))

    def _model(self, function: ca.Function, outputs: dict[int, Array] | None = None) -> Buffered:
        """With (x, force, wrench, current, theta, h) as inputs; all but the first two are shared."""
        shared = {2: self.disturbances[:6], 3: self.disturbances[6:], 4: self.theta, 5: self._duration}
        return Buffered(function, shared, outputs)

    def step(self, state: Array, force_N: Array, duration_s: float) -> Array:
        """The model's next state under the estimated disturbances."""
        i = self._step.inputs
        i[0][:], i[1][:], i[5][0] = state, force_N, duration_s
        self._step.call()
        return self._step.outputs[0].copy()

    @abstractmethod
    def predict(self, force_N: Array, duration_s: float) -> None:
        """Move on under a constant force of the thrusters."""

    @abstractmethod
    def correct(self, measured: Array) -> None:
        """Take in a measurement (13,) of the whole state."""


class CompiledFilter(Filter):
    """CasADi's derivatives and the loops of kalman.c."""

    def __init__(self, structure: Structure, library: ctypes.PyDLL) -> None:
        super().__init__(structure)
        self._transition = self._model(_transition_function(structure))
        self._transition_x, self._transition_force = self._transition.inputs[:2]
        next_x, top = self._transition.outputs
        self._next_x = next_x
        self._predict, self._correct = library.kalman_predict, library.kalman_correct
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (self.covariance, top, self.process, self._duration)]
        self._predict_arguments = pointers
        arrays = (self.covariance, self.state, self.disturbances, self.variance, self.believed)
        self._correct_arguments = [ctypes.c_void_p(a.ctypes.data) for a in arrays]

    def predict(self, force_N: Array, duration_s: float) -> None:
        self._transition_x[:], self._transition_force[:], self._duration[0] = self.state, force_N, duration_s
        self._transition.call()
        self._predict(*self._predict_arguments)
        self.state[:] = self._next_x

    def correct(self, measured: Array) -> None:
        self._correct(*self._correct_arguments, as_bytes(measured))


class CasadiFilter(Filter):
    """The same without a compiler, on CasADi's virtual machine."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self._transition = self._model(_transition_function(structure))
        self._spread, self._correct = Buffered(_spread_function()), Buffered(_correction())

    def predict(self, force_N: Array, duration_s: float) -> None:
        i, o = self._transition.inputs, self._transition.outputs
        i[0][:], i[1][:], self._duration[0] = self.state, force_N, duration_s
        self._transition.call()
        s = self._spread.inputs
        s[0][:], s[1][:], s[2][:], s[3][:] = self.covariance, o[1], self.process, duration_s
        self._spread.call()
        self.state[:], self.covariance[:] = o[0], self._spread.outputs[0]

    def correct(self, measured: Array) -> None:
        given = self.covariance, self.variance, self.state, self.disturbances, self.believed, measured
        for buffer, array in zip(self._correct.inputs, given, strict=True):
            buffer[:] = array
        self._correct.call()
        self.covariance[:], self.state[:], self.disturbances[:] = self._correct.outputs


def make_filter(structure: Structure) -> Filter:
    """The fastest there is."""
    library = load_library(SOURCE, FLAGS)
    return CasadiFilter(structure) if library is None else CompiledFilter(structure, library)


class _Symbols:
    """The model under constant force, wrench and current."""

    def __init__(self, structure: Structure) -> None:
        self._model = Dynamics(structure)
        self.x, self.force = ca.SX.sym("x", 13), ca.SX.sym("f", structure.thruster_count)
        self.wrench, self.current = ca.SX.sym("wrench", 6), ca.SX.sym("current", 3)
        self.theta, self.h = ca.SX.sym("theta", structure.length), ca.SX.sym("h")
        self.inputs = [self.x, self.force, self.wrench, self.current, self.theta, self.h]
        self._parameters = structure.split(self.theta)
        self.next_x = normalised(rk4(self.rhs, self.x, self.h))

    def rhs(self, y: ca.SX) -> ca.SX:
        p = self._parameters
        return self._model.quaternion_ode(p, y, self._model.wrench(p, self.force) + self.wrench, self.current)


@lru_cache(maxsize=8)
def _step_function(structure: Structure) -> ca.Function:
    """(x, force, wrench, current, theta, h) → x⁺."""
    s = _Symbols(structure)
    return compiled(ca.Function("estimator_step", s.inputs, [s.next_x]))


@lru_cache(maxsize=8)
def _transition_function(structure: Structure) -> ca.Function:
    """(x, force, wrench, current, theta, h) → x⁺, ∂(errors 12)⁺/∂(errors 21) row by row."""
    s = _Symbols(structure)
    x, error = s.x, ca.SX.sym("error", MEASURED)
    moved = ca.vertcat(x[POSITION] + error[0:3], _turned(x[ATTITUDE], error[3:6]), x[TWIST] + error[6:12])
    x_dot = s.rhs(moved)
    # Attitude: d(δθ)/dt = −ω × δθ + δω; the rest follows the state's own derivative.
    angle_rate = -ca.cross(x[RATE], error[3:6]) + error[9:12]
    rate = ca.vertcat(x_dot[POSITION], angle_rate, x_dot[TWIST])
    jac = ca.jacobian(rate, ca.vertcat(error, s.wrench, s.current))
    rates = ca.substitute(jac, error, ca.SX.zeros(MEASURED)) * s.h
    top = ca.horzcat(ca.SX.eye(MEASURED), ca.SX(MEASURED, 9)) + rates + 0.5 * rates[:, 0:MEASURED] @ rates
    return compiled(ca.Function("estimator_transition", s.inputs, [s.next_x, ca.densify(top.T)]))


@lru_cache(maxsize=1)
def _spread_function() -> ca.Function:
    """(P, rows of the transition, process, h) → P⁺."""
    covariance, process, h = ca.SX.sym("P", SIZE, SIZE), ca.SX.sym("process", SIZE), ca.SX.sym("h")
    rows = ca.SX.sym("rows", SIZE, MEASURED)
    transition = ca.vertcat(rows.T, ca.horzcat(ca.SX(9, MEASURED), ca.SX.eye(9)))
    after = ca.densify(transition @ covariance @ transition.T + ca.diag(process) * h)
    return ca.Function("estimator_spread", [covariance, rows, process, h], [after])


@lru_cache(maxsize=1)
def _correction() -> ca.Function:
    """(P, measurement variances 12, x, disturbances 9, their bounds 9, measured x) → (P⁺, x⁺, disturbances⁺).

    The measurement noise is uncorrelated, so the twelve numbers are taken in one after the other: no matrix to invert.
    """
    covariance, variance = ca.SX.sym("P", SIZE, SIZE), ca.SX.sym("variance", MEASURED)
    x, measured = ca.SX.sym("x", 13), ca.SX.sym("measured", 13)
    extra, believed = ca.SX.sym("extra", 9), ca.SX.sym("believed", 9)
    gap = measured - x
    q, seen = x[ATTITUDE], measured[ATTITUDE]
    error_q = q[0] * seen[1:4] - seen[0] * q[1:4] - ca.cross(q[1:4], seen[1:4])  # of q* ⊗ seen
    angle = ca.if_else(ca.dot(q, seen) >= 0, 2.0, -2.0) * error_q
    innovation = ca.vertcat(gap[0:3], angle, gap[7:13])
    state, change = ca.SX(covariance), ca.SX.zeros(SIZE)
    for i in range(MEASURED):
        column = state[:, i]
        gain = column / (state[i, i] + variance[i])
        change += gain * (innovation[i] - change[i])
        state -= gain @ column.T
    state = (state + state.T) / 2
    turned = _turned(q, change[3:6])
    after = ca.vertcat(x[POSITION] + change[0:3], turned / ca.norm_2(turned), x[TWIST] + change[6:12])
    disturbances = ca.fmin(ca.fmax(extra + change[12:21], -believed), believed)
    inputs = [covariance, variance, x, extra, believed, measured]
    return ca.Function("estimator_correct", inputs, [state, after, disturbances])


def _turned(q: ca.SX, angle: ca.SX) -> ca.SX:
    """q ⊗ [1, angle/2], to first order."""
    half = angle / 2
    return ca.vertcat(q[0] - ca.dot(q[1:4], half), q[1:4] + q[0] * half + ca.cross(q[1:4], half))
