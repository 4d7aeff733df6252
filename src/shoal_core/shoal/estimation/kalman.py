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
from shoal.estimation.actuator_state import Segment
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST
from shoal.vehicles.dynamics import Dynamics, normalised, rk4
from shoal.vehicles.parameters import Structure

Array = NDArray[np.float64]
SIZE = 21
MEASURED = 12
BLOCKS = 4  # position, attitude, velocity, rate
SOURCE = Path(__file__).with_name("kalman.c")


class Filter(ABC):
    """`predict` and `correct` replace `state`, `disturbances` and `covariance` in place."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.state, self.disturbances, self.covariance = np.zeros(13), np.zeros(9), np.zeros(SIZE * SIZE)
        self.theta = np.zeros(structure.length)  # the vehicle's numbers
        self.process, self.variance = np.zeros(SIZE), np.zeros(MEASURED)  # per second; of a measurement
        self.believed = np.zeros(9)  # bounds of the disturbances
        # A block this far off is left out: squared lengths (4) and squared sigmas; both must be exceeded.
        self.gate = np.full(BLOCKS + 1, np.inf)
        self.residual, self.taken = np.zeros(MEASURED), np.ones(BLOCKS)  # of the last measurement
        self._duration = np.zeros(1)
        self._step = self._model(_step_function(structure))

    def _model(self, function: ca.Function) -> Buffered:
        """With (x, force, command, left, h, wrench, current, theta) as inputs; those from `h` on are shared."""
        wrench, current = self.disturbances[:6], self.disturbances[6:]
        return Buffered(function, {4: self._duration, 5: wrench, 6: current, 7: self.theta})

    @staticmethod
    def _set(model: Buffered, state: Array, force_N: Array, segment: Segment) -> None:
        x, force, command, left, h, *_ = model.inputs
        n, room = len(force_N), len(command)  # inputs that only fill up stay zero
        x[:], force[:n] = state, force_N
        h[0], command[:n], left[:n], left[room : room + n] = segment

    def step(self, state: Array, force_N: Array, segment: Segment) -> tuple[Array, Array]:
        """The model's next state under the estimated disturbances, and the thrusters' force by then."""
        self._set(self._step, state, force_N, segment)
        self._step.call()
        return self._step.outputs[0].copy(), self._step.outputs[1][: len(force_N)].copy()

    @abstractmethod
    def predict(self, force_N: Array, segment: Segment) -> Array:
        """Move on with the thrusters' force (n,) at the beginning; returns that at the end."""

    @abstractmethod
    def correct(self, measured: Array) -> int:
        """Take in a measurement (13,) of the whole state; how many of its four blocks were left out."""


class CompiledFilter(Filter):
    """CasADi's derivatives and the loops of kalman.c."""

    def __init__(self, structure: Structure, library: ctypes.PyDLL) -> None:
        super().__init__(structure)
        self._transition = self._model(_transition_function(structure))
        self._next_x, self._next_force, top = self._transition.outputs
        self._predict, self._correct = library.kalman_predict, library.kalman_correct
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (self.covariance, top, self.process, self._duration)]
        self._predict_arguments = pointers
        arrays = [self.covariance, self.state, self.disturbances, self.variance, self.believed]
        arrays += [self.gate, self.residual, self.taken]
        self._correct_arguments = [ctypes.c_void_p(a.ctypes.data) for a in arrays]

    def predict(self, force_N: Array, segment: Segment) -> Array:
        self._set(self._transition, self.state, force_N, segment)
        self._transition.call()
        self._predict(*self._predict_arguments)
        self.state[:] = self._next_x
        return self._next_force[: len(force_N)].copy()

    def correct(self, measured: Array) -> int:
        return int(self._correct(*self._correct_arguments, as_bytes(measured)))


class CasadiFilter(Filter):
    """The same without a compiler, on CasADi's virtual machine."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self._transition = self._model(_transition_function(structure))
        self._spread, self._correct = Buffered(_spread_function()), Buffered(_correction())

    def predict(self, force_N: Array, segment: Segment) -> Array:
        self._set(self._transition, self.state, force_N, segment)
        self._transition.call()
        next_x, next_force, top = self._transition.outputs
        s = self._spread.inputs
        s[0][:], s[1][:], s[2][:], s[3][:] = self.covariance, top, self.process, segment.duration_s
        self._spread.call()
        self.state[:], self.covariance[:] = next_x, self._spread.outputs[0]
        return next_force[: len(force_N)].copy()

    def correct(self, measured: Array) -> int:
        given = self.covariance, self.variance, self.state, self.disturbances, self.believed, self.gate, measured
        for buffer, array in zip(self._correct.inputs, given, strict=True):
            buffer[:] = array
        self._correct.call()
        outputs = self._correct.outputs
        self.covariance[:], self.state[:], self.disturbances[:], self.residual[:], self.taken[:] = outputs
        return int(BLOCKS - self.taken.sum())


def make_filter(structure: Structure) -> Filter:
    """The fastest there is."""
    library = load_library(SOURCE, FLAGS)
    return CasadiFilter(structure) if library is None else CompiledFilter(structure, library)


class _Symbols:
    """The model under constant wrench and current, with thrusters whose force closes up to a command."""

    def __init__(self, structure: Structure) -> None:
        n = structure.thruster_count
        self._model = Dynamics(structure)
        self.x, force, command = ca.SX.sym("x", 13), ca.SX.sym("f", n), ca.SX.sym("command", n)
        left, self.h = ca.SX.sym("left", 2 * n), ca.SX.sym("h")  # of the gap between them: on average, at the end
        self.wrench, self.current = ca.SX.sym("wrench", 6), ca.SX.sym("current", 3)
        theta = ca.SX.sym("theta", structure.length)
        self.inputs = [self.x, force, command, left, self.h, self.wrench, self.current, theta]
        self._parameters = structure.split(theta)
        gap = force - command
        self._mean, self.next_force = command + gap * left[:n], command + gap * left[n:]
        self.next_x = normalised(rk4(self.rhs, self.x, self.h))

    def rhs(self, y: ca.SX) -> ca.SX:
        p = self._parameters
        return self._model.quaternion_ode(p, y, self._model.wrench(p, self._mean) + self.wrench, self.current)


@lru_cache(maxsize=8)
def _step_function(structure: Structure) -> ca.Function:
    """(x, force, command, left, h, wrench, current, theta) → x⁺, force⁺."""
    s = _Symbols(structure)
    return compiled(ca.Function("estimator_step", s.inputs, [s.next_x, s.next_force]))


@lru_cache(maxsize=8)
def _transition_function(structure: Structure) -> ca.Function:
    """The same inputs → x⁺, force⁺, ∂(errors 12)⁺/∂(errors 21) row by row."""
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
    return compiled(ca.Function("estimator_transition", s.inputs, [s.next_x, s.next_force, ca.densify(top.T)]))


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
    """(P, measurement variances 12, x, disturbances 9, their bounds 9, gate 5, measured x) → (P⁺, x⁺, disturbances⁺,
    residuals 12, blocks taken 4); see kalman.c.

    The measurement noise is uncorrelated, so the twelve numbers are taken in one after the other: no matrix to invert.
    """
    covariance, variance = ca.SX.sym("P", SIZE, SIZE), ca.SX.sym("variance", MEASURED)
    x, measured = ca.SX.sym("x", 13), ca.SX.sym("measured", 13)
    extra, believed, gate = ca.SX.sym("extra", 9), ca.SX.sym("believed", 9), ca.SX.sym("gate", BLOCKS + 1)
    gap = measured - x
    q, seen = x[ATTITUDE], measured[ATTITUDE]
    error_q = q[0] * seen[1:4] - seen[0] * q[1:4] - ca.cross(q[1:4], seen[1:4])  # of q* ⊗ seen
    angle = ca.if_else(ca.dot(q, seen) >= 0, 2.0, -2.0) * error_q
    innovation = ca.vertcat(gap[0:3], angle, gap[7:13])
    state, change = ca.SX(covariance), ca.SX.zeros(SIZE)
    residual, taken = ca.SX(MEASURED, 1), ca.SX(BLOCKS, 1)
    for block in reversed(range(BLOCKS)):
        rows = slice(3 * block, 3 * block + 3)
        residual[rows] = gap = innovation[rows] - change[rows]
        spread = state[rows, rows] + ca.diag(variance[rows])
        distance = ca.dot(gap, ca.solve(spread, gap))
        far = ca.logic_and(ca.sumsqr(gap) > gate[block], distance > gate[BLOCKS])
        taken[block] = ca.if_else(far, 0.0, 1.0)
        for i in range(rows.start, rows.stop):
            column = state[:, i]
            gain = taken[block] * column / (state[i, i] + variance[i])
            change += gain * (innovation[i] - change[i])
            state -= gain @ column.T
    state = (state + state.T) / 2
    turned = _turned(q, change[3:6])
    after = ca.vertcat(x[POSITION] + change[0:3], turned / ca.norm_2(turned), x[TWIST] + change[6:12])
    disturbances = ca.fmin(ca.fmax(extra + change[12:21], -believed), believed)
    inputs = [covariance, variance, x, extra, believed, gate, measured]
    return ca.Function("estimator_correct", inputs, [state, after, disturbances, residual, taken])


def _turned(q: ca.SX, angle: ca.SX) -> ca.SX:
    """q ⊗ [1, angle/2], to first order."""
    half = angle / 2
    return ca.vertcat(q[0] - ca.dot(q[1:4], half), q[1:4] + q[0] * half + ca.cross(q[1:4], half))
