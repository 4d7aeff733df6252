"""The optimal control problem, stage by stage, as symbolic functions that every back end shares.

Cost per stage: ½ Σ w r² over the residuals below (spec section 3; weights are twice its K, as K e² = ½ (2K) e²).
Rows per stage: a list of `Constraint`s, each against a soft and a hard bound; per neighbour, distance and cosine of the
sight angle. Numbers of states, rows and prices and the sparsity of their derivatives follow from the expressions here:
back ends read them off, so that another model or another constraint is written in this file alone.
Weights, limits, model coefficients, references and neighbours are parameters: one compiled solver serves them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.vehicles.dynamics import Dynamics, rk4, rotation
from shoal.vehicles.parameters import Structure

SX = ca.SX
NX = 13  # states of a vehicle
NE = 12  # the state's error, with three numbers for attitude
SUBSTEPS = 2  # of RK4 in a stage: one of 0.1 s lets the rate that a large moment gives fall as the moment grows
NORM_GAIN = 2.0  # pulls the predicted quaternion back to unit length
EPSILON_M2 = 1e-6  # keeps the distance differentiable where two points coincide


@dataclass(frozen=True)
class Constraint:
    """`expression` ≥ `soft` is wanted and ≥ `hard` needed, at two prices."""

    name: str
    expression: SX
    soft: SX
    hard: SX
    price: str  # rows of one kind share it: `<price>_soft` and `<price>_hard` of the settings' penalties
    active: SX | None = None  # 1: counts, 0: never binds; None: always counts

    @property
    def value(self) -> SX:
        """Above the soft bound, ≥ 0 wanted."""
        above = self.expression - self.soft
        return above if self.active is None else self.active * above + (1 - self.active)

    @property
    def gap(self) -> SX:
        """How far below the soft bound the hard one lies."""
        below = self.soft - self.hard
        return below if self.active is None else self.active * below


@dataclass(frozen=True)
class Formulation:
    """Symbolic functions for a vehicle structure and a number of neighbour places."""

    structure: Structure
    neighbours: int  # K, places for neighbours; unused ones are parked far away

    @property
    def nu(self) -> int:
        """Inputs: one force per thruster."""
        return self.structure.thruster_count

    @property
    def nx(self) -> int:
        """States."""
        return NX

    @cached_property
    def row_prices(self) -> tuple[int, ...]:
        """For each row, which of `prices` it pays."""
        return tuple(self.prices.index(c.price) for c in self._constraints)

    @cached_property
    def prices(self) -> tuple[str, ...]:
        """Kinds of constraints, in the order in which they appear."""
        return tuple(dict.fromkeys(c.price for c in self._constraints))

    @cached_property
    def row_states(self) -> int:
        """Rows depend on the first so many states only: position and attitude where nobody limits a speed."""
        values = ca.vertcat(*(c.value for c in self._constraints))
        return 1 + max(ca.jacobian(values, self._own_symbols[0]).sparsity().get_triplet()[1])

    @cached_property
    def _own_symbols(self) -> tuple[SX, SX, SX]:
        return self._symbols()

    @cached_property
    def _constraints(self) -> list[Constraint]:
        x, s, g = self._own_symbols
        return self.constraints(x, split(s, self.stage_sizes), split(g, self.global_sizes))

    @cached_property
    def global_sizes(self) -> dict[str, int]:
        """Blocks of the parameter vector that holds for the whole horizon."""
        return {
            "theta": self.structure.length,
            "current": 3,
            "wrench": 6,
            "position": 3,
            "ring_root": 1,
            "ring_quartic": 1,
            "ring_radius": 1,
            "attitude": 1,
            "attitude_quartic": 1,
            "velocity": 3,
            "rate": 3,
            "cos_soft": self.neighbours,
            "cos_hard": self.neighbours,
            "sight": self.neighbours,  # 1: must be seen
            "axis": 3 * self.neighbours,  # of the camera that sees it, body
            "camera": 3 * self.neighbours,  # its place, body
            "mark": 3 * self.neighbours,  # what it sees, NED from the other's origin
            "terminal": NE * NE,
        }

    @cached_property
    def stage_sizes(self) -> dict[str, int]:
        """Blocks of the parameter vector of one stage."""
        k = self.neighbours
        return {"position": 3, "velocity": 3, "quaternion": 4, "others": 3 * k, "soft_m": k, "hard_m": k}

    def ode_jacobians(self) -> ca.Function:
        """(x, u, globals) → (ẋ, ∂ẋ/∂x, ∂ẋ/∂u), dense."""
        inputs, x_dot, by_x, by_u = self._derivatives
        return ca.Function("ode_jacobians", inputs, [ca.densify(part) for part in (x_dot, by_x, by_u)])

    def ode_rows(self, columns: int) -> ca.Function:
        """(x, u, globals) → (ẋ, [∂ẋ/∂x ∂ẋ/∂u] row by row), for the compiled kernel.

        Without the columns before `first_dependence`, with zeros up to that many `columns`.
        """
        inputs, x_dot, by_x, by_u = self._derivatives
        both = ca.horzcat(by_x[:, self.first_dependence :], by_u)
        padded = ca.horzcat(both, SX(self.nx, columns - both.shape[1]))
        return ca.Function("stage_ode", inputs, [ca.densify(x_dot), ca.densify(padded.T)])

    @cached_property
    def first_dependence(self) -> int:
        """The first state that the motion depends on: 3 where no force depends on the position."""
        columns = self._derivatives[2].sparsity().get_triplet()[1]
        return min(columns)

    @cached_property
    def _derivatives(self) -> tuple[list[SX], SX, SX, SX]:
        """(x, u, globals), ẋ, ∂ẋ/∂x, ∂ẋ/∂u."""
        x, u = SX.sym("x", self.nx), SX.sym("u", self.nu)
        g = SX.sym("g", sum(self.global_sizes.values()))
        x_dot = self.ode(x, u, split(g, self.global_sizes))
        return [x, u, g], x_dot, ca.jacobian(x_dot, x), ca.jacobian(x_dot, u)

    def ode(self, x: SX, u: SX, g: dict[str, SX]) -> SX:
        """The quaternion model with the estimated current and wrench."""
        model = Dynamics(self.structure)
        p = self.structure.split(g["theta"])
        return model.quaternion_ode(p, x, model.wrench(p, u) + g["wrench"], g["current"], NORM_GAIN)

    def step(self, x: SX, u: SX, dt: SX, g: dict[str, SX]) -> SX:
        """A stage, in `SUBSTEPS` RK4 steps."""
        for _ in range(SUBSTEPS):
            x = rk4(lambda y: self.ode(y, u, g), x, dt / SUBSTEPS)
        return x

    def cost(self) -> ca.Function:
        """(x, stage, globals) → (Gauss–Newton H, gradient, row values, row gradients, soft − hard, cost).

        The gradients are by the first `row_states` states.
        """
        x, s, g = self._symbols()
        gp, sp = split(g, self.global_sizes), split(s, self.stage_sizes)
        r, w = self.residuals(x, sp, gp)
        value, gap = self.rows(x, sp, gp)
        row_jac = ca.densify(ca.jacobian(value, x[: self.row_states]))
        h, grad = gauss_newton(r, w, x)
        cost = ca.dot(w, r * r) / 2
        return ca.Function("stage_cost", [x, s, g], [h, grad, value, row_jac.T, gap, cost])

    def terminal(self) -> ca.Function:
        """(x, stage, globals) → (H, gradient, cost) of ½ eᵀ P e with P from the linearised problem."""
        x, s, g = self._symbols()
        gp, sp = split(g, self.global_sizes), split(s, self.stage_sizes)
        e = self.error(x, sp)
        p = ca.reshape(gp["terminal"], NE, NE)
        jac = ca.jacobian(e, x)
        return ca.Function(
            "stage_terminal",
            [x, s, g],
            [ca.densify(jac.T @ p @ jac), ca.densify(jac.T @ (p @ e)), ca.dot(e, p @ e) / 2],
        )

    def error(self, x: SX, s: dict[str, SX]) -> SX:
        """12 numbers: position, attitude, velocity and rate errors in the wanted body frame."""
        r_ref = rotation(s["quaternion"])
        position = r_ref.T @ (x[POSITION] - s["position"])
        attitude = 2 * error_quaternion(s["quaternion"], x[ATTITUDE])[1:4]
        velocity = x[VELOCITY] - rotation(x[ATTITUDE]).T @ s["velocity"]
        return ca.vertcat(position, attitude, velocity, x[RATE])

    def residuals(self, x: SX, s: dict[str, SX], g: dict[str, SX]) -> tuple[SX, SX]:
        """Residuals and their weights."""
        delta = x[POSITION] - s["position"]
        flat = ca.sumsqr(delta[0:2])
        ring_root = ca.sqrt(flat + EPSILON_M2) - g["ring_radius"]  # the form that Fosso 2023 wanted
        ring_quartic = flat - g["ring_radius"] ** 2  # the form it ran
        q_error = error_quaternion(s["quaternion"], x[ATTITUDE])
        velocity = x[VELOCITY] - rotation(x[ATTITUDE]).T @ s["velocity"]
        r = ca.vertcat(delta, ring_root, ring_quartic, q_error[1:4], 1 - q_error[0] ** 2, velocity, x[RATE])
        attitude = ca.repmat(g["attitude"], 3, 1)  # ‖ε̃‖² = 1 − (q·q_d)²
        w = ca.vertcat(
            g["position"], g["ring_root"], g["ring_quartic"], attitude, g["attitude_quartic"], g["velocity"], g["rate"]
        )
        return r, w

    def rows(self, x: SX, s: dict[str, SX], g: dict[str, SX]) -> tuple[SX, SX]:
        """Row values above the soft bound (≥ 0 wanted) and how far below it the hard bound lies."""
        found = self.constraints(x, s, g)
        return ca.densify(ca.vertcat(*(c.value for c in found))), ca.densify(ca.vertcat(*(c.gap for c in found)))

    def constraints(self, x: SX, s: dict[str, SX], g: dict[str, SX]) -> list[Constraint]:
        """What the stages 1…N must keep, in the order of the rows."""
        found = []
        turn = rotation(x[ATTITUDE])
        for j in range(self.neighbours):
            place = slice(3 * j, 3 * j + 3)
            away = s["others"][place] - x[POSITION]
            distance = ca.sqrt(ca.sumsqr(away) + EPSILON_M2)
            ray = away + g["mark"][place] - turn @ g["camera"][place]  # the bow from the origin unless a view is given
            cosine = ca.dot(turn @ g["axis"][place], ray) / ca.sqrt(ca.sumsqr(ray) + EPSILON_M2)
            bounds = g["cos_soft"][j], g["cos_hard"][j]
            found += [
                Constraint(f"distance{j}", distance, s["soft_m"][j], s["hard_m"][j], "distance"),
                Constraint(f"sight{j}", cosine, *bounds, "sight", active=g["sight"][j]),
            ]
        return found

    def _symbols(self) -> tuple[SX, SX, SX]:
        return (
            SX.sym("x", self.nx),
            SX.sym("s", sum(self.stage_sizes.values())),
            SX.sym("g", sum(self.global_sizes.values())),
        )


def error_quaternion(q_ref: SX, q: SX) -> SX:
    """q̃ = q_ref* ⊗ q."""
    eta, eps = q_ref[0], q_ref[1:4]
    return ca.vertcat(eta * q[0] + ca.dot(eps, q[1:4]), eta * q[1:4] - q[0] * eps - ca.cross(eps, q[1:4]))


def gauss_newton(r: SX, w: SX, x: SX) -> tuple[SX, SX]:
    """H = Jᵀ W J and gradient Jᵀ W r, dense."""
    jac = ca.jacobian(r, x)
    weighted = ca.diag(w) @ jac
    return ca.densify(jac.T @ weighted), ca.densify(weighted.T @ r)


def split(vector: SX, sizes: dict[str, int]) -> dict[str, SX]:
    """Blocks of a vector by name."""
    blocks, start = {}, 0
    for name, size in sizes.items():
        blocks[name] = vector[start : start + size]
        start += size
    return blocks


def offsets(sizes: dict[str, int]) -> dict[str, slice]:
    """Where each block lies."""
    places, start = {}, 0
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places
