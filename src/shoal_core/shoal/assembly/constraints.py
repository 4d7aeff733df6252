"""Joined modules as constrained bodies: Udwadia and Kalaba's equation in quasi-velocities, for any graph of joints.

Each module keeps its own 13-state and its own equation of motion, M_i ν̇_i = f_i. A rigid joint adds six rows to
Φ(η) ν̇ = b(η, ν). Nielsen 2018 (3.55) then gives the accelerations, and (3.54) the forces in the joints. Rows that
follow from others, as those of a joint that closes a loop, do no harm: the pseudo-inverse leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.joints import Assembly, Joint
from shoal.codegen import Buffered
from shoal.frames import matrix, skew
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.functions import ode_function
from shoal.vehicles.parameters import mass_matrix, parameter_vector, structure_of

Array = NDArray[np.float64]
CUT_OFF = 1e-10  # of singular values, relative to the largest: below that a row follows from the others
Method = Literal["pseudo_inverse", "tree"]
Rows = Callable[[Joint, Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Constrained:
    """What the constraints make of the free accelerations."""

    accelerations: Array  # (N,6) ν̇ of each module, body
    forces: Array  # (N,6) of all joints together on each module, body: N, N m


def joint_rows(joint: Joint, a: Array, b: Array) -> tuple[Array, Array]:
    """Φ (6,12) and right-hand side (6,) of one joint, from the states (13,) of its modules.

    Nielsen 2018 (3.61) with the angular columns turned into the frame of the unknowns (they are body accelerations),
    and equal angular velocities in NED in place of (3.58), which holds for unturned modules only.
    """
    r_a, r_b = matrix(a[ATTITUDE]), matrix(b[ATTITUDE])
    w_a, w_b = r_a @ a[RATE], r_b @ b[RATE]  # NED
    lever_a, lever_b = r_a @ joint.at_a_m, r_b @ joint.at_b_m
    phi = np.zeros((6, 12))
    phi[:3, 0:3], phi[:3, 3:6] = r_a, -skew(lever_a) @ r_a
    phi[:3, 6:9], phi[:3, 9:12] = -r_b, skew(lever_b) @ r_b
    phi[3:, 3:6], phi[3:, 9:12] = r_a, -r_b
    centripetal_a = np.cross(w_a, r_a @ a[VELOCITY] + np.cross(w_a, lever_a))
    centripetal_b = np.cross(w_b, r_b @ b[VELOCITY] + np.cross(w_b, lever_b))
    return phi, np.concatenate([centripetal_b - centripetal_a, np.zeros(3)])


def printed_joint_rows(joint: Joint, a: Array, b: Array) -> tuple[Array, Array]:
    """Φ (7,12) and right-hand side as Nielsen 2018 prints them (3.61, 3.62, 3.68, 3.69). For comparison only.

    Right while the modules are not turned against each other and the motion is plane; elsewhere they come apart.
    """
    r_a, r_b = matrix(a[ATTITUDE]), matrix(b[ATTITUDE])
    w_a, w_b = r_a @ a[RATE], r_b @ b[RATE]
    lever_a, lever_b = r_a @ joint.at_a_m, r_b @ joint.at_b_m
    t_a, t_b = _rate_matrix(a[ATTITUDE]), _rate_matrix(b[ATTITUDE])
    g_a, g_b = _g_of_a(a[ATTITUDE]), _g_of_b(b[ATTITUDE])
    phi = np.zeros((7, 12))
    phi[:3, 0:3], phi[:3, 3:6], phi[:3, 6:9], phi[:3, 9:12] = r_a, -skew(lever_a), -r_b, skew(lever_b)
    phi[3:, 3:6], phi[3:, 9:12] = g_b @ t_a, g_a @ t_b
    turning = np.cross(w_b, r_b @ b[VELOCITY] + np.cross(w_b, lever_b))
    turning -= np.cross(w_a, r_a @ a[VELOCITY] + np.cross(w_a, lever_a))
    q_dot_a, q_dot_b = t_a @ a[RATE], t_b @ b[RATE]
    t_dot_a, t_dot_b = _rate_matrix(q_dot_a), _rate_matrix(q_dot_b)
    spin = -g_a @ t_dot_b @ b[RATE] - (g_b @ t_dot_a + 2 * _g_of_b(q_dot_b) @ t_a) @ a[RATE]
    return phi, np.concatenate([turning, spin])


def joint_error(joint: Joint, a: Array, b: Array) -> Array:
    """How far a joint has come apart (6,): metres, and a small rotation, both NED. Its rate is Φ ν."""
    r_a, r_b = matrix(a[ATTITUDE]), matrix(b[ATTITUDE])
    gap = a[POSITION] + r_a @ joint.at_a_m - b[POSITION] - r_b @ joint.at_b_m
    turn = r_a @ matrix(joint.attitude) @ r_b.T  # identity where B lies as it should; turns with ω_A − ω_B
    half = (turn - turn.T) / 2
    return np.concatenate([gap, [half[2, 1], half[0, 2], half[1, 0]]])


class ConstraintEngine:
    """The joined modules' motion. Every module keeps its full state, so that joining or parting changes rows only."""

    def __init__(
        self,
        assembly: Assembly,
        method: Method = "pseudo_inverse",
        stabilise_per_s: float = 2.0,
        rows: Rows = joint_rows,
    ) -> None:
        """`stabilise_per_s`: Baumgarte's α = β against drift; larger gains stiffen the equations and drift more."""
        self.assembly, self.method, self.stabilise_per_s, self._rows = assembly, method, stabilise_per_s, rows
        self.names = tuple(assembly.modules)
        self._index = {name: i for i, name in enumerate(self.names)}
        vehicles = list(assembly.modules.values())
        self.masses = np.array([mass_matrix(v) for v in vehicles])  # (N,6,6)
        self._inverse_factors = np.array([np.linalg.inv(np.linalg.cholesky(m)).T for m in self.masses])  # M⁻¹ = F Fᵀ
        self._models = [_free_motion(v) for v in vehicles]
        self.joints = self._chosen(assembly)

    def _chosen(self, assembly: Assembly) -> tuple[Joint, ...]:
        if self.method == "pseudo_inverse":
            return assembly.joints
        # The joints that close a loop of rigid bodies add nothing; without them the rows are independent.
        return tuple(j for group in assembly.groups() for j in assembly.tree(group))

    def free_accelerations(self, states: Array, wrenches: Array, current_mps: Array) -> Array:
        """ν̇ (N,6) of modules (N,13) that know nothing of each other (3.51); `wrenches` (N,6) of their thrusters."""
        found = np.empty((len(states), 6))
        for i, model in enumerate(self._models):
            model.inputs[0][:], model.inputs[2][:], model.inputs[3][:] = states[i], current_mps, wrenches[i]
            model.call()
            found[i] = model.outputs[0][TWIST]
        return found

    def rows(self, states: Array) -> tuple[Array, Array]:
        """Φ (R,6N) and b (R,) of all joints, stabilised."""
        blocks = [self._rows(j, states[self._index[j.a]], states[self._index[j.b]]) for j in self.joints]
        phi = np.zeros((sum(len(b) for _, b in blocks), 6 * len(self.names)))
        b, row = np.zeros(len(phi)), 0
        for joint, (block, right) in zip(self.joints, blocks, strict=True):
            i, k = self._index[joint.a], self._index[joint.b]
            end = row + len(right)
            phi[row:end, 6 * i : 6 * i + 6], phi[row:end, 6 * k : 6 * k + 6] = block[:, :6], block[:, 6:]
            b[row:end] = right
            if self.stabilise_per_s > 0 and len(right) == 6:
                rate = block @ np.concatenate([states[i][TWIST], states[k][TWIST]])
                error = joint_error(joint, states[i], states[k])
                b[row:end] -= 2 * self.stabilise_per_s * rate + self.stabilise_per_s**2 * error
            row = end
        return phi, b

    def constrain(self, states: Array, free: Array) -> Constrained:
        """From free to constrained accelerations (3.54, 3.55)."""
        if not self.joints:
            return Constrained(free, np.zeros_like(free))
        phi, b = self.rows(states)
        lacking = b - phi @ free.ravel()
        scaled = self._scaled(phi)
        if self.method == "pseudo_inverse":
            scaled_move = np.linalg.pinv(scaled, rcond=CUT_OFF) @ lacking
        else:
            scaled_move = scaled.T @ np.linalg.solve(scaled @ scaled.T, lacking)
        move = np.einsum("nij,nj->ni", self._inverse_factors, scaled_move.reshape(-1, 6))
        return Constrained(free + move, np.einsum("nij,nj->ni", self.masses, move))

    def _scaled(self, phi: Array) -> Array:
        """Φ M^(−1/2); with a Cholesky factor for the root, which changes neither accelerations nor forces."""
        blocks = phi.reshape(len(phi), -1, 6)
        return np.asarray(np.einsum("rni,nij->rnj", blocks, self._inverse_factors).reshape(len(phi), -1))

    def joint_loads(self, states: Array, free: Array) -> dict[tuple[str, str], Array]:
        """What each joint carries: force and moment (6,) on its module A at the shared point, NED.

        Of a loop's many ways to share the load the one of least norm; on a tree there is only one.
        """
        if not self.joints:
            return {}
        phi, b = self.rows(states)
        scaled = self._scaled(phi)
        loads = np.linalg.pinv(scaled @ scaled.T, rcond=CUT_OFF) @ (b - phi @ free.ravel())
        return {(j.a, j.b): loads[6 * k : 6 * k + 6] for k, j in enumerate(self.joints)}

    def derivative(self, states: Array, wrenches: Array, current_mps: Array) -> Array:
        """ẋ (N,13)."""
        free = self.free_accelerations(states, wrenches, current_mps)
        found = np.empty_like(states)
        for i, model in enumerate(self._models):
            found[i] = model.outputs[0]  # the kinematics do not depend on the acceleration
        found[:, TWIST] = self.constrain(states, free).accelerations
        return found

    def step(self, states: Array, wrenches: Array, duration_s: float, current_mps: Array | None = None) -> Array:
        """One RK4 step (7.10) with constant wrenches; quaternions are brought back to unit length."""
        current = np.zeros(3) if current_mps is None else current_mps
        h = duration_s
        k1 = self.derivative(states, wrenches, current)
        k2 = self.derivative(states + h / 2 * k1, wrenches, current)
        k3 = self.derivative(states + h / 2 * k2, wrenches, current)
        k4 = self.derivative(states + h * k3, wrenches, current)
        moved = states + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        moved[:, ATTITUDE] /= np.linalg.norm(moved[:, ATTITUDE], axis=1, keepdims=True)
        return np.asarray(moved)

    def joined(self, states: Array) -> Array:
        """Velocities right after the joints have closed: perfectly inelastic, linear and angular momentum kept."""
        if not self.joints:
            return states.copy()
        phi, _ = self.rows(states)
        scaled = self._scaled(phi)
        lost = np.linalg.pinv(scaled, rcond=CUT_OFF) @ (phi @ states[:, TWIST].ravel())
        moved = states.copy()
        moved[:, TWIST] -= np.einsum("nij,nj->ni", self._inverse_factors, lost.reshape(-1, 6))
        return moved

    def worst_gap(self, states: Array) -> tuple[float, float]:
        """Largest distance (m) and angle (rad) by which any joint of the assembly has come apart."""
        errors = [joint_error(j, states[self._index[j.a]], states[self._index[j.b]]) for j in self.assembly.joints]
        if not errors:
            return 0.0, 0.0
        return (
            max(float(np.linalg.norm(e[:3])) for e in errors),
            max(float(np.linalg.norm(e[3:])) for e in errors),
        )


def _free_motion(vehicle: Vehicle) -> Buffered:
    structure = structure_of(vehicle)
    model = Buffered(ode_function(structure))
    model.inputs[1][:] = 0.0
    model.inputs[4][:] = parameter_vector(vehicle, structure)
    return model


def _rate_matrix(q: Array) -> Array:
    """T_q (4,3) of (2.14): q̇ = T_q ω."""
    return 0.5 * np.vstack([-q[1:], q[0] * np.eye(3) + skew(q[1:])])


def _g_of_b(q: Array) -> Array:
    """G of (3.66) with q_B: q_A ⊗ q_B* = G q_A."""
    return np.vstack([q, np.column_stack([-q[1:], q[0] * np.eye(3) + skew(q[1:])])])


def _g_of_a(q: Array) -> Array:
    """G of (3.66) with q_A: q_A ⊗ q_B* = G q_B."""
    return np.vstack([q, -np.column_stack([-q[1:], q[0] * np.eye(3) + skew(q[1:])])])
