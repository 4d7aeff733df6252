"""The constraint engine as machine code: a spanning tree of the joints, and LDLᵀ of Φ M⁻¹ Φᵀ.

The joints that close a loop of rigid bodies add nothing to the motion. Without them the rows are independent, the
matrix is positive definite, and its factor is as sparse as the tree.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.assembly.joints import Assembly, Joint
from shoal.codegen import Buffered, compiled
from shoal.frames import matrix
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST, VELOCITY
from shoal.vehicles.dynamics import rotation, skew
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import mass_matrix, parameter_vector, structure_of

Array = NDArray[np.float64]
SX = ca.SX


class CompiledEngine:
    """Same motion as `ConstraintEngine`: every module keeps its own state."""

    def __init__(self, assembly: Assembly, stabilise_per_s: float = 2.0, use_compiler: bool = True) -> None:
        function = derivative_function(assembly, stabilise_per_s)
        self._model = Buffered(compiled(function) if use_compiler else function)
        self._count = len(assembly.modules)

    def derivative(self, states: Array, wrenches: Array, current_mps: Array) -> Array:
        """ẋ (N,13) of modules (N,13) under thrust (N,6); the array is overwritten by the next call."""
        x, tau, current = self._model.inputs
        x[:], tau[:], current[:] = states.ravel(), wrenches.ravel(), current_mps
        self._model.call()
        return np.asarray(self._model.outputs[0].reshape(self._count, 13))

    def step(self, states: Array, wrenches: Array, duration_s: float, current_mps: Array | None = None) -> Array:
        """One RK4 step (7.10) with constant wrenches; quaternions are brought back to unit length."""
        current = np.zeros(3) if current_mps is None else current_mps
        h, total = duration_s, np.zeros_like(states)
        at = states
        for weight, ahead in ((1, h / 2), (2, h / 2), (2, h), (1, 0.0)):
            slope = self.derivative(at, wrenches, current)
            total += weight * slope
            at = states + ahead * slope
        moved = states + h / 6 * total
        moved[:, ATTITUDE] /= np.linalg.norm(moved[:, ATTITUDE], axis=1, keepdims=True)
        return np.asarray(moved)


def derivative_function(assembly: Assembly, stabilise_per_s: float) -> ca.Function:
    """(states 13N, wrenches 6N, current 3) → ẋ 13N."""
    names, count = list(assembly.modules), len(assembly.modules)
    x, tau, current = SX.sym("x", 13 * count), SX.sym("tau", 6 * count), SX.sym("current", 3)
    states = [x[13 * i : 13 * i + 13] for i in range(count)]
    slopes, inverses = [], []
    for i, vehicle in enumerate(assembly.modules.values()):
        structure = structure_of(vehicle)
        theta = ca.DM(parameter_vector(vehicle, structure))
        still = ca.DM.zeros(vehicle.input_count)
        slopes.append(ode_function(structure)(states[i], still, current, tau[6 * i : 6 * i + 6], theta))
        inverses.append(ca.sparsify(ca.DM(np.linalg.inv(mass_matrix(vehicle))), 1e-14))
    joints = [joint for group in assembly.groups() for joint in assembly.tree(group)]
    if joints:
        phi, lacking = SX(6 * len(joints), 6 * count), []
        free = ca.vertcat(*(slope[TWIST] for slope in slopes))
        for k, joint in enumerate(joints):
            i, j = names.index(joint.a), names.index(joint.b)
            own, other, right = _rows(joint, states[i], states[j], stabilise_per_s)
            phi[6 * k : 6 * k + 6, 6 * i : 6 * i + 6] = own
            phi[6 * k : 6 * k + 6, 6 * j : 6 * j + 6] = other
            lacking.append(right)
        lever = ca.sparsify(ca.diagcat(*inverses)) @ phi.T  # M⁻¹ Φᵀ
        d, lt, order = ca.ldl(phi @ lever)
        loads = ca.ldl_solve(ca.vertcat(*lacking) - phi @ free, d, lt, order)
        moved = free + lever @ loads
        slopes = [ca.vertcat(slope[:7], moved[6 * i : 6 * i + 6]) for i, slope in enumerate(slopes)]
    return ca.Function("assembly_ode", [x, tau, current], [ca.vertcat(*slopes)], ["x", "tau", "current"], ["x_dot"])


def _rows(joint: Joint, a: SX, b: SX, stabilise_per_s: float) -> tuple[SX, SX, SX]:
    """Both blocks (6,6) of Φ and the right-hand side, as `constraints.joint_rows`, stabilised."""
    r_a, r_b = rotation(a[ATTITUDE]), rotation(b[ATTITUDE])
    w_a, w_b = r_a @ a[RATE], r_b @ b[RATE]
    lever_a, lever_b = r_a @ ca.DM(joint.at_a_m), r_b @ ca.DM(joint.at_b_m)
    nothing = SX(3, 3)
    own = ca.blockcat([[r_a, -skew(lever_a) @ r_a], [nothing, r_a]])
    other = ca.blockcat([[-r_b, skew(lever_b) @ r_b], [nothing, -r_b]])
    centripetal_a = ca.cross(w_a, r_a @ a[VELOCITY] + ca.cross(w_a, lever_a))
    centripetal_b = ca.cross(w_b, r_b @ b[VELOCITY] + ca.cross(w_b, lever_b))
    right = ca.vertcat(centripetal_b - centripetal_a, SX.zeros(3))
    if stabilise_per_s > 0:
        turn = r_a @ ca.DM(matrix(joint.attitude)) @ r_b.T
        half = (turn - turn.T) / 2
        gap = a[POSITION] + lever_a - b[POSITION] - lever_b
        error = ca.vertcat(gap, half[2, 1], half[0, 2], half[1, 0])
        rate = own @ a[TWIST] + other @ b[TWIST]
        right -= 2 * stabilise_per_s * rate + stabilise_per_s**2 * error
    return own, other, right
