"""The whole nonlinear program solved to convergence by IPOPT or fatrop: reference solutions and cold starts.

Same formulation as the real-time iteration at its fixed point: the proximal term, which only damps a step, is left out.
Slacks are variables, gradients exact. As machine code the Hessian is the Gauss–Newton one, because the exact one of
the dynamics is 14 MB of C and minutes of compilation; that converges in closed loop, but from a random guess amid
violated constraints it may wander. The `-vm` back ends have the exact Hessian on CasADi's virtual machine: slow, and
converged from every guess tried; they are the ones to trust as a reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import FLAGS, build_shared
from shoal.control.nmpc.backends.hpipm import Layout
from shoal.control.nmpc.backends.linearise import variational_step
from shoal.control.nmpc.formulation import NE, Formulation, offsets, split
from shoal.control.nmpc.problem import Problem
from shoal.messages.state import ATTITUDE

Array = NDArray[np.float64]
MAX_ITERATIONS = 200
FEASIBLE = 1e-4  # constraint violation up to which an unconverged solution is usable
CALLED = {"never_inline": True}  # once in the code, however many stages call it
QUIET: dict[str, Any] = {"print_time": False, "error_on_fail": False, "calc_lam_p": False}


def quasi_linear(name: str, arguments: list[Any], value: Any, jacobians: list[Any]) -> ca.Function:
    """A function whose first derivatives are the given ones (by the first arguments) and whose second ones are zero.

    Squares of such functions have Gauss–Newton Hessians, and CasADi needs no second derivatives of the dynamics.
    """
    kind = type(value)
    empty = [kind(value.numel(), a.numel()) for a in arguments[len(jacobians) :]]
    inputs, outputs = [f"i{i}" for i in range(len(arguments))], [f"jac_y_i{i}" for i in range(len(arguments))]
    jacobian = ca.Function(
        f"jac_{name}",
        [*arguments, kind.sym("y", value.numel())],
        [*jacobians, *empty],
        [*inputs, "out_y"],
        outputs,
        {"is_diff_in": [False] * (len(arguments) + 1), "never_inline": True},
    )
    options: dict[str, Any] = {
        "custom_jacobian": jacobian,
        "jac_penalty": 0,
        "enable_forward": False,
        "enable_reverse": False,
        "is_diff_in": [i < len(jacobians) for i in range(len(arguments))],
        "never_inline": True,
    }
    return ca.Function(name, arguments, [value], inputs, ["y"], options)


@dataclass(frozen=True)
class Program:
    """The symbolic program; z and rows are ordered as `Layout` says."""

    nlp: dict[str, ca.MX]
    layout: Layout


@lru_cache(maxsize=8)
def build_program(formulation: Formulation, steps_s: tuple[float, ...], exact: bool) -> Program:
    """Variables z, parameters (x₀, stages, globals, weights, free, previous, penalties), cost, rows."""
    n, nx, nu, prices = len(steps_s), formulation.nx, formulation.nu, 2 * len(formulation.prices)
    layout = Layout(formulation, n, shared_slacks=False)
    z = ca.MX.sym("z", layout.size)
    per_stage, on_all = sum(formulation.stage_sizes.values()), sum(formulation.global_sizes.values())
    sizes = [nx, (n + 1) * per_stage, on_all, 3, n * nu, nu, 2 * prices]
    p = ca.MX.sym("p", sum(sizes))
    x0, stages, g, weights, free, previous, penalties = ca.vertsplit(p, np.cumsum([0, *sizes]).tolist())
    stages, penalties = ca.reshape(stages, -1, n + 1), ca.reshape(penalties, 2, prices)
    free = ca.reshape(free, nu, n)
    x = [x0, *(z[i.tolist()] for i in layout.x)]
    u = [z[i.tolist()] for i in layout.u]
    s = [z[i.tolist()] for i in layout.s]  # of stages 1…N
    l1, l2 = (penalties[i, layout.kind_of_slack.tolist()].T for i in (0, 1))
    step = _dynamics(formulation, exact)
    residual_of, rows_of, error_of, weights_of = _stage_functions(formulation, exact)
    w = weights_of(g)
    scale = np.append(steps_s, steps_s[-1]) / 0.1
    cost, constraints = weights[2] / 2 * ca.sumsqr(u[0] - previous), []
    for k in range(n + 1):
        r = residual_of(x[k], stages[:, k], g)
        cost += scale[k] / 2 * ca.dot(w, r * r)
        if k < n:
            cost += scale[k] * weights[0] / 2 * ca.sumsqr(u[k] - free[:, k])
            constraints.append(x[k + 1] - step(x[k], u[k], steps_s[k], g))  # fatrop wants this sign
        if k > 0:
            cost += ca.dot(l1, s[k - 1]) + ca.dot(l2, s[k - 1] ** 2) / 2
            constraints.append(rows_of(x[k], stages[:, k], g) + s[k - 1])
    e = error_of(x[n], stages[:, n], g)
    cost += ca.dot(e, ca.reshape(g[offsets(formulation.global_sizes)["terminal"]], NE, NE) @ e) / 2
    return Program({"x": z, "p": p, "f": cost, "g": ca.vertcat(*constraints)}, layout)


def _dynamics(formulation: Formulation, exact: bool) -> ca.Function:
    """(x, u, dt, globals) → next x."""
    kind: Any = ca.SX if exact else ca.MX
    x, u, dt = kind.sym("x", formulation.nx), kind.sym("u", formulation.nu), kind.sym("dt")
    g = kind.sym("g", sum(formulation.global_sizes.values()))
    if exact:
        x_next = formulation.step(x, u, dt, split(g, formulation.global_sizes))
        return ca.Function("dynamics", [x, u, dt, g], [x_next], CALLED)
    x_next, a, b = variational_step(formulation)(x, u, dt, g)
    return quasi_linear("dynamics", [x, u, dt, g], x_next, [a, b])


def _stage_functions(formulation: Formulation, exact: bool) -> list[ca.Function]:
    """(x, stage, globals) → residuals, rows (soft, hard), terminal error; globals → weights of the residuals."""
    sizes = formulation.stage_sizes, formulation.global_sizes
    lengths = formulation.nx, *(sum(part.values()) for part in sizes)
    x, s, g = (ca.SX.sym(name, length) for name, length in zip("xsg", lengths, strict=True))
    parts = split(s, sizes[0]), split(g, sizes[1])
    residual, w = formulation.residuals(x, *parts)
    value, gap = formulation.rows(x, *parts)
    error = formulation.error(x, parts[0])
    named = {"residual": residual, "rows": ca.vertcat(value, value + gap), "error": error}
    functions = [
        ca.Function(name, [x, s, g], [y], CALLED) if exact else quasi_linear(name, [x, s, g], y, [ca.jacobian(y, x)])
        for name, y in named.items()
    ]
    return [*functions, ca.Function("weights", [g], [w])]


@lru_cache(maxsize=8)
def load_solver(plugin: str, formulation: Formulation, steps_s: tuple[float, ...], use_compiler: bool) -> ca.Function:
    """The solver, with its functions as machine code where there is a compiler."""
    program = build_program(formulation, steps_s, exact=not use_compiler)
    settings = QUIET | {"ipopt": _ipopt, "fatrop": _fatrop}[plugin](program.layout)
    solver = ca.nlpsol("solver", plugin, program.nlp, settings)
    if not use_compiler:
        return solver
    functions = [solver.oracle(), *(solver.get_function(name) for name in solver.get_function())]

    def write(folder: Path) -> list[Path]:
        generator = ca.CodeGenerator("nlp.c")
        for function in functions:
            generator.add(function)
        generator.generate(f"{folder}/")
        return [folder / "nlp.c"]

    flags = tuple("-O2" if flag == "-O3" else flag for flag in FLAGS)  # half the compilation, the same speed
    library = build_shared(f"nlp_{plugin}", "".join(f.serialize() for f in functions), write, flags)
    return solver if library is None else ca.nlpsol("solver", plugin, str(library), settings)


def _ipopt(_: Layout) -> dict[str, Any]:
    options = {
        "print_level": 0,
        "sb": "yes",
        "max_iter": MAX_ITERATIONS,
        "tol": 1e-6,
        "warm_start_init_point": "yes",
        "warm_start_bound_push": 1e-6,
        "warm_start_mult_bound_push": 1e-6,
        "warm_start_slack_bound_push": 1e-6,
        "mu_init": 1e-2,
        "max_wall_time": 10.0,
    }
    return {"ipopt": options}


def _fatrop(layout: Layout) -> dict[str, Any]:
    structure = {name: layout.structure[name][:-1] for name in ("nx", "nu", "ng")}  # needs no empty stage at the end
    options = {"print_level": 0, "max_iter": MAX_ITERATIONS, "tol": 1e-6, "mu_init": 1e-2}
    return {"N": layout.structure["N"] - 1, **structure, "structure_detection": "manual", "fatrop": options}


class Converged:
    """A back end whose one iteration is a whole solve, warm-started with the last multipliers."""

    name = plugin = ""
    use_compiler = True
    converges = True  # in one iteration

    def __init__(self, problem: Problem) -> None:
        p = self.problem = problem
        steps = tuple(float(step) for step in p.steps_s)
        self._solver = load_solver(self.plugin, p.formulation, steps, self.use_compiler)
        at = self.layout = build_program(p.formulation, steps, exact=not self.use_compiler).layout
        self._lower, self._upper = np.full(at.size, -np.inf), np.full(at.size, np.inf)
        self._lower[at.s] = 0.0
        self._rows_upper = np.zeros(at.height)
        self._rows_upper[at.path] = np.inf
        self._forget()

    def _forget(self) -> None:
        at = self.layout
        self._slack = np.full(at.s.shape, 1e-2)
        self._multipliers = {"lam_x0": np.zeros(at.size), "lam_g0": np.zeros(at.height)}

    def iterate(self, max_iterations: int, tolerance: float) -> int:
        """Solve; the arguments are about QPs and ignored. 0 converged, 1 feasible, ≥ 2 failed (guess unchanged)."""
        p, at = self.problem, self.layout
        lower, upper, previous, change = p.limits
        self._lower[at.u], self._upper[at.u] = lower, upper
        self._lower[at.u[0]] = np.maximum(lower, np.minimum(upper - 1e-3, previous - change))
        self._upper[at.u[0]] = np.minimum(upper, np.maximum(lower + 1e-3, previous + change))
        parts = [p.x[0], p.stages, p.globals, p.weights, p.free, previous, p.penalties]
        parameters = np.concatenate([part.ravel() for part in parts])
        guess = np.zeros(at.size)
        guess[at.x], guess[at.u], guess[at.s] = p.x[1:], p.u, self._slack
        p.report[:] = 0.0
        if not np.isfinite(parameters).all() or not np.isfinite(guess).all():
            p.report[7] = 2
            return 2  # never solve with what is not a number
        found = self._solver(
            x0=guess,
            p=parameters,
            lbx=self._lower,
            ubx=self._upper,
            lbg=np.zeros(at.height),
            ubg=self._rows_upper,
            **self._multipliers,
        )
        z, rows = np.array(found["x"]).ravel(), np.array(found["g"]).ravel()
        stats = self._solver.stats()
        p.report[0] = stats["iter_count"]
        status = 0 if stats["success"] else 2
        if status == 2 and np.isfinite(z).all() and np.maximum(-rows, rows - self._rows_upper).max() < FEASIBLE:
            status = 1
        p.report[7] = status
        if status == 2:
            self._forget()
            return 2
        self._take(z, rows, float(found["f"]))
        self._multipliers = {name: np.array(found[name[:-1]]).ravel() for name in self._multipliers}
        return status

    def _take(self, z: Array, rows: Array, cost: float) -> None:
        p, at = self.problem, self.layout
        p.x[1:] = z[at.x]
        p.x[:, ATTITUDE] /= np.linalg.norm(p.x[:, ATTITUDE], axis=1, keepdims=True)
        p.u[:] = np.clip(z[at.u], self._lower[at.u], self._upper[at.u])
        slack = self._slack = np.maximum(z[at.s], 0.0)
        violation = slack - rows[at.path]
        count = violation.shape[1] // 2
        price = p.penalties[at.kind_of_slack]
        p.report[2] = 1.0
        p.report[3] = violation[:, :count].max(initial=0.0)
        p.report[4] = violation[:, count:].max(initial=0.0)
        p.report[6] = cost - float((slack @ price[:, 0]).sum() + (slack**2 @ price[:, 1]).sum() / 2)


class Ipopt(Converged):
    """IPOPT with MUMPS."""

    name = plugin = "ipopt"


class Fatrop(Converged):
    """fatrop, which knows the structure of the horizon."""

    name = plugin = "fatrop"


class IpoptVm(Ipopt):
    """With the exact Hessian, without machine code."""

    name, use_compiler = "ipopt-vm", False


class FatropVm(Fatrop):
    """With the exact Hessian, without machine code."""

    name, use_compiler = "fatrop-vm", False
