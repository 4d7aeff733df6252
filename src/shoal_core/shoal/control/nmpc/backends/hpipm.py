"""Real-time iteration with HPIPM as CasADi ships it: the default where there is no C compiler, and our kernel's judge.

The QP is the one of `rti_kernel.c`: same cost, bounds, trust region and slacks. With `shared_slacks` the rows of one
kind share a slack in each stage (the worst violation is priced instead of the sum): the number of variables then does
not grow with the number of neighbours. For one neighbour both are the same.

Traps of CasADi 3.8.2 that shaped this file:
* No function that contains the QP solver is ever turned into C (it crashes or returns garbage).
* The interface adds the solution to what it finds in the output array, and uses the pointers to the outputs as work
  space: `reset_outputs` before each call, all outputs asked for. That makes a call 1 ms cheaper than with DM matrices.
* The last stage takes no inputs; an empty stage behind it lets stage N carry slacks.
* It puts bounds on all states, and infinite ones become 1e8, which costs accuracy: finite ones that never bind.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Buffered
from shoal.control.nmpc.backends.linearise import Stages
from shoal.control.nmpc.backends.step import accept
from shoal.control.nmpc.formulation import Formulation
from shoal.control.nmpc.problem import Problem

Array = NDArray[np.float64]
Index = NDArray[np.intp]
REGULARISATION = 1e-6  # as the kernel: strictly convex whatever the weights
UNBOUNDED = 1e4  # metres, newtons, …: further than any step goes
GAP_TOLERANCE = 1e-3  # of the dynamics, for a QP that stopped early to be usable
H, G, A, LBA, UBA, LBX, UBX = range(7)  # arguments of CasADi's conic


class Layout:
    """Where everything lies: z = [u₀, (x u s)₁, …, (x u s)_{N−1}, (x s)_N], rows = [gap₀, (gap path)₁, …, path_N]."""

    def __init__(self, formulation: Formulation, n: int, shared_slacks: bool) -> None:
        nx, nu, rows, prices = formulation.nx, formulation.nu, len(formulation.row_prices), len(formulation.prices)
        self.slacks = 2 * prices if shared_slacks else 2 * rows
        width = nx + nu + self.slacks
        stage = np.arange(1, n + 1)
        x_start = nu + (stage - 1) * width  # of stages 1…N
        self.x: Index = x_start[:, None] + np.arange(nx)  # (N,13)
        self.u: Index = np.vstack([np.arange(nu), x_start[:-1, None] + nx + np.arange(nu)])  # (N,nu)
        slack_start = x_start + np.where(stage < n, nx + nu, nx)
        self.s: Index = slack_start[:, None] + np.arange(self.slacks)  # (N,ns)
        self.size = int(self.s[-1, -1]) + 1
        height = nx + 2 * rows
        gap_start = np.where(stage > 1, nx + (stage - 2) * height, 0)  # of the gaps that end in stages 1…N
        self.gap: Index = gap_start[:, None] + np.arange(nx)  # (N,13)
        path_start = nx + (stage - 1) * height + np.where(stage < n, nx, 0)
        self.path: Index = path_start[:, None] + np.arange(2 * rows)  # (N,2·rows): soft, then hard
        self.height = int(self.path[-1, -1]) + 1
        # Which slack a row uses: soft bounds first, then hard ones.
        kind = np.concatenate([formulation.row_prices, np.add(formulation.row_prices, prices)])
        self.slack_of_row: Index = kind if shared_slacks else np.arange(2 * rows)
        self.kind_of_slack: Index = np.arange(2 * prices) if shared_slacks else kind
        self.structure: dict[str, Any] = {
            "N": n + 1,
            "nx": [0, *[nx] * n, 0],
            "nu": [nu, *[nu + self.slacks] * (n - 1), self.slacks, 0],
            "ng": [0, *[2 * rows] * n, 0],
        }


def _matrix(shape: tuple[int, int], blocks: list[tuple[Index, Index]]) -> tuple[ca.Sparsity, list[Index]]:
    """Sparsity of a sum of blocks given by broadcast (row, column) indices, and where each block's entries go."""
    pairs = [np.broadcast_arrays(*block) for block in blocks]
    row, col = (np.concatenate([pair[i].ravel() for pair in pairs]) for i in (0, 1))
    order = np.lexsort((row, col))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    ends = np.cumsum([pair[0].size for pair in pairs])[:-1]
    start = np.concatenate([[0], np.cumsum(np.bincount(col, minlength=shape[1]))])
    return ca.Sparsity(*shape, start.tolist(), row[order].tolist()), np.split(place, ends)


class Hpipm:
    """Linearise, solve the QP, take the damped step."""

    name = "hpipm"
    use_compiler = True

    def __init__(self, problem: Problem, shared_slacks: bool = True) -> None:
        self.problem = problem
        formulation, n = problem.formulation, len(problem.steps_s)
        nx, nu, rows = formulation.nx, formulation.nu, len(formulation.row_prices)
        self.stages = Stages(problem, self.use_compiler)
        at = self.layout = Layout(formulation, n, shared_slacks)
        self._scale = np.append(problem.steps_s, problem.steps_s[-1]) / 0.1  # weights are per 0.1 s
        self._h_sparsity, (self._h_x, self._h_u, self._h_s) = _matrix(
            (at.size, at.size), [(at.x[:, None, :], at.x[:, :, None]), (at.u, at.u), (at.s, at.s)]
        )
        on_states = at.x[:, : formulation.row_states, None]
        self._a_sparsity, places = _matrix(
            (at.height, at.size),
            [
                (at.gap[1:, None, :], at.x[:-1, :, None]),  # A, [k, column, row]
                (at.gap[:, None, :], at.u[:, :, None]),  # B
                (at.gap, at.x),  # −I
                (at.path[:, None, :rows], on_states),  # C against the soft bounds, [k, state, row]
                (at.path[:, None, rows:], on_states),  # C against the hard bounds
                (at.path, at.s[:, at.slack_of_row]),  # +s
            ],
        )
        self._a_a, self._a_b, minus, self._a_soft, self._a_hard, plus = places
        self._constant_a = np.zeros(self._a_sparsity.nnz())
        self._constant_a[minus], self._constant_a[plus] = -1.0, 1.0
        self._solvers: dict[tuple[int, float], Buffered] = {}
        self.step: tuple[Array, Array] = (np.zeros((n + 1, nx)), np.zeros((n, nu)))  # the QP's solution

    def iterate(self, max_iterations: int, tolerance: float) -> int:
        """One real-time iteration; 0 solved, 1 iteration limit (usable), ≥ 2 failed (guess unchanged)."""
        p, at = self.problem, self.layout
        self.stages.update()
        key = (max_iterations, tolerance)
        if key not in self._solvers:
            self._solvers[key] = self._build(max_iterations, tolerance)
        solver = self._solvers[key]
        p.report[:] = 0.0
        with np.errstate(invalid="ignore"):  # judged below
            p.report[6] = self._fill(solver.inputs)
        if not all(np.isfinite(part).all() for part in (p.report[6], *solver.inputs[: UBX + 1])):
            p.report[7] = 2
            return 2  # never solve with what is not a number
        solver.reset_outputs()
        solver.call()
        dx, du = self.step
        dx[1:], du[:] = solver.outputs[0][at.x], solver.outputs[0][at.u]
        stats = solver.stats()
        p.report[0] = stats["iter_count"]
        status = 0 if stats["success"] else self._judge(dx, du)
        by_rows = np.einsum("kri,ki->kr", self.stages.row_gradient[1:], dx[1:, : p.formulation.row_states])
        violation = -(self.stages.row_value[1:] + by_rows)
        p.report[3] = violation.max(initial=0.0)
        p.report[4] = (violation - self.stages.row_gap[1:]).max(initial=0.0)
        return accept(p, dx, du, status, (solver.inputs[LBX][at.u], solver.inputs[UBX][at.u]))

    def _judge(self, dx: Array, du: Array) -> int:
        """A QP that stopped early is usable if what it returns is a motion of the vehicle."""
        a, b = self.stages.a_columns, self.stages.b_columns
        moved = np.einsum("kci,kc->ki", a, dx[:-1]) + np.einsum("kci,kc->ki", b, du)
        gap = np.abs(moved + self.stages.x_next - self.problem.x[1:] - dx[1:]).max()
        return 1 if gap < GAP_TOLERANCE else 2  # NaN is not less than anything

    def _build(self, max_iterations: int, tolerance: float) -> Buffered:
        options = {
            "mode": "balance",
            "mu0": 1e3,  # of the size of the penalties
            "iter_max": max_iterations,
            "res_g_max": 10 * tolerance,
            "res_b_max": min(tolerance, 1e-4),
            "res_d_max": min(tolerance, 1e-4),
            "res_m_max": tolerance / 2,  # the interface halves the cost, and the multipliers with it
        }
        sparsities = {"h": self._h_sparsity, "a": self._a_sparsity}
        settings = {**self.layout.structure, "hpipm": options, "error_on_fail": False, "print_time": False}
        solver = Buffered(ca.conic("qp", "hpipm", sparsities, settings))
        solver.inputs[LBX][:], solver.inputs[UBX][:] = -UNBOUNDED, UNBOUNDED
        solver.inputs[LBX][self.layout.s] = 0.0
        solver.inputs[UBA][:] = UNBOUNDED
        solver.inputs[A][:] = self._constant_a
        return solver

    def _fill(self, qp: list[Array]) -> float:
        """Write the QP; returns the cost at the guess."""
        p, at, st, scale = self.problem, self.layout, self.stages, self._scale
        thrust, proximal, rate = p.weights
        lower, upper, previous, change = p.limits
        hessian = scale[1:, None, None] * st.hessian[1:]
        hessian[-1] += st.terminal_hessian
        hessian[:, range(p.formulation.nx), range(p.formulation.nx)] += REGULARISATION
        gradient = scale[1:, None] * st.gradient[1:]
        gradient[-1] += st.terminal_gradient
        from_free = p.u - p.free
        from_previous = p.u[0] - previous
        per_u = scale[:-1] * (thrust + proximal)
        per_u[0] += rate
        on_u = (scale[:-1] * thrust)[:, None] * from_free
        on_u[0] += rate * from_previous
        qp[H][self._h_x] = hessian.ravel()
        qp[H][self._h_u] = np.repeat(per_u, p.u.shape[1])
        qp[H][self._h_s] = np.tile(p.penalties[at.kind_of_slack, 1], len(p.u))
        qp[G][at.x], qp[G][at.u] = gradient, on_u
        qp[G][at.s] = p.penalties[at.kind_of_slack, 0]
        qp[A][self._a_a] = st.a_columns[1:].ravel()
        qp[A][self._a_b] = st.b_columns.ravel()
        rows = st.row_gradient[1:].transpose(0, 2, 1).ravel()
        qp[A][self._a_soft] = rows
        qp[A][self._a_hard] = rows
        gap = p.x[1:] - st.x_next
        qp[LBA][at.gap], qp[UBA][at.gap] = gap, gap
        value = st.row_value[1:]
        qp[LBA][at.path] = -np.concatenate([value, value + st.row_gap[1:]], axis=1)
        low, high = np.broadcast_to(lower, p.u.shape).copy(), np.broadcast_to(upper, p.u.shape).copy()
        low[0] = np.maximum(lower, np.minimum(upper - 1e-3, previous - change))
        high[0] = np.minimum(upper, np.maximum(lower + 1e-3, previous + change))
        qp[LBX][at.u], qp[UBX][at.u] = low - p.u, high - p.u
        on_states = float(scale @ st.cost + st.terminal_cost[0])
        on_inputs = float((scale[:-1] * thrust) @ (from_free**2).sum(axis=1) + rate * from_previous @ from_previous)
        return on_states + on_inputs / 2


class HpipmVm(Hpipm):
    """Without machine code, whether there is a compiler or not."""

    name = "hpipm-vm"
    use_compiler = False
