"""All stages of a problem linearised in one call: machine code where there is a compiler, CasADi's VM otherwise."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import Buffered, compiled
from shoal.control.nmpc.formulation import SUBSTEPS, Formulation
from shoal.control.nmpc.problem import Problem

Array = NDArray[np.float64]


def variational_step(formulation: Formulation) -> ca.Function:
    """(x, u, dt, globals) → (next x, A, B): RK4 steps and their sensitivities from the ODE's Jacobians alone.

    Differentiating an RK4 step symbolically gives 34 000 instructions instead of 4 × 2 000: too slow for a VM.
    """
    ode = formulation.ode_jacobians()
    nx, nu, first = formulation.nx, formulation.nu, formulation.first_dependence
    x, u, dt = ca.MX.sym("x", nx), ca.MX.sym("u", nu), ca.MX.sym("dt")
    g = ca.MX.sym("g", sum(formulation.global_sizes.values()))
    unmoved = ca.horzcat(ca.DM(np.eye(nx)[:, first:]), ca.MX.zeros(nx, nu))
    wide = ca.MX.zeros(nx, nx - first)
    x_next, by, h = x, unmoved, dt / SUBSTEPS
    for _ in range(SUBSTEPS):
        f, k = ca.MX.zeros(nx), ca.MX.zeros(nx, nx - first + nu)
        f_sum, k_sum = f, k
        for ahead, share in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            s = by + ahead * h * k
            f, f_x, f_u = ode(x_next + ahead * h * f, u, g)
            k = f_x[:, first:] @ s[first:, :] + ca.horzcat(wide, f_u)
            f_sum, k_sum = f_sum + share * f, k_sum + share * k
        x_next, by = x_next + h / 6 * f_sum, by + h / 6 * k_sum
    a = ca.horzcat(ca.DM(np.eye(nx)[:, :first]), by[:, : nx - first])
    return ca.Function("variational_step", [x, u, dt, g], [x_next, ca.densify(a), by[:, nx - first :]])


@lru_cache(maxsize=16)
def stages_function(formulation: Formulation, count: int, use_compiler: bool) -> ca.Function:
    """(x, u, dt, stages, globals) → outputs of variational_step, cost and terminal, for all stages."""
    nx, sizes = formulation.nx, (formulation.stage_sizes, formulation.global_sizes)
    x, u = ca.MX.sym("x", nx, count + 1), ca.MX.sym("u", formulation.nu, count)
    dt = ca.MX.sym("dt", 1, count)
    s, g = ca.MX.sym("s", sum(sizes[0].values()), count + 1), ca.MX.sym("g", sum(sizes[1].values()))
    step = variational_step(formulation).map(count)
    moved = step(x[:, :-1], u, dt, ca.repmat(g, 1, count))
    cost = formulation.cost().map(count + 1)(x, s, ca.repmat(g, 1, count + 1))
    last = formulation.terminal()(x[:, -1], s[:, -1], g)
    function = ca.Function(f"stages_{count}", [x, u, dt, s, g], [*moved, *cost, *last])
    return compiled(function) if use_compiler else function


class Stages:
    """The linearised problem as arrays (count, rows, columns), refreshed by `update`."""

    def __init__(self, problem: Problem, use_compiler: bool = True) -> None:
        formulation, n = problem.formulation, len(problem.steps_s)
        nx, nu, rows = formulation.nx, formulation.nu, len(formulation.row_prices)
        self._problem = problem
        self._call = Buffered(stages_function(formulation, n, use_compiler))
        self._call.inputs[2][:] = problem.steps_s
        out = self._call.outputs
        self.x_next = out[0].reshape(n, nx)
        self.a_columns = out[1].reshape(n, nx, nx)  # [k, column, row]
        self.b_columns = out[2].reshape(n, nu, nx)  # [k, column, row]
        self.hessian = out[3].reshape(n + 1, nx, nx)
        self.gradient = out[4].reshape(n + 1, nx)
        self.row_value = out[5].reshape(n + 1, rows)
        self.row_gradient = out[6].reshape(n + 1, rows, formulation.row_states)
        self.row_gap = out[7].reshape(n + 1, rows)
        self.cost = out[8]  # (n+1,)
        self.terminal_hessian = out[9].reshape(nx, nx)
        self.terminal_gradient = out[10]
        self.terminal_cost = out[11]

    def update(self) -> None:
        """Linearise at the problem's guess."""
        p, inputs = self._problem, self._call.inputs
        inputs[0][:], inputs[1][:] = p.x.ravel(), p.u.ravel()
        inputs[3][:], inputs[4][:] = p.stages.ravel(), p.globals
        self._call.call()
