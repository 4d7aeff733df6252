"""The controller of Fosso 2023 as published, for comparison only.

do-mpc in DAE form, IPOPT/MUMPS, 25 iterations at most. Spec section 3: weights 35/35/60 and 12, soft constraints at
2 m and 30° with penalty 70, hard ones at 10 % of the distance and 60°; neighbours and setpoint constant over the
horizon; no plan is shared, no shift of the guess, no fallback: what the solver leaves after its last iteration is sent
to the thrusters. It steers by the odometry as it comes, knows of no lag, and of its neighbours only where each was when
it last sent something.

One thing is not copied: do-mpc asks for references by the count of its calls, which falls behind the clock when a
loop is slow. Here they are those of now.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.control.base import Controller, ControllerContext, ControlOutput, Estimate, NeighbourForecast
from shoal.control.nmpc.formulation import error_quaternion
from shoal.frames import from_yaw, yaw_of
from shoal.messages.directive import Directive
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.state import ATTITUDE, POSITION
from shoal.vehicles.description import Vehicle
from shoal.vehicles.dynamics import (
    Dynamics,
    coriolis_of_matrix,
    coriolis_without_linear_velocity,
    quaternion_rate,
    rotation,
)
from shoal.vehicles.parameters import mass_matrix, parameter_vector, structure_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that do-mpc's optional parts are not installed
    import do_mpc

Array = NDArray[np.float64]
HORIZON, STEP_S, MAX_ITERATIONS = 20, 0.1, 25
POSITION_WEIGHTS, ATTITUDE_WEIGHT, THRUST_CHANGE, THRUST = (35.0, 35.0, 60.0), 12.0, 0.1, 0.01
SOFT_M, HARD_M, SOFT_DEG, HARD_DEG, PENALTY = 2.0, 0.2, 30.0, 60.0, 70.0
FAR_M = 1e3  # where those are that were never heard of


class DompcSettings(FileModel):
    """The published numbers are constants; only this may be chosen."""

    common_point: bool = Field(
        default=True, description="all to the common setpoint, as published; false: each its own"
    )


class DompcController(Controller):
    """Slow: about 0.1 s a step. Who must be seen shapes its constraints, so a change of that builds it anew."""

    Settings = DompcSettings
    lag_compensation = False

    def __init__(self, context: ControllerContext) -> None:
        self.settings: DompcSettings = context.settings
        self._vehicle, self._others = context.vehicle, context.others
        self._positions = {other: np.full(3, FAR_M) for other in context.others}
        self._setup(frozenset(context.others))

    def _setup(self, must_see: frozenset[str]) -> None:
        self._must_see, self._started = must_see, False
        self._mpc = _build(self._vehicle, [other in must_see for other in self._others])
        self._values = self._mpc.get_tvp_template()
        self._mpc.set_tvp_fun(lambda _: self._values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # do-mpc's own, about numpy on CasADi values
            self._mpc.setup()

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Other thrusters. Another mass alone is the runtime's finding, which the published controller did not have."""
        if not np.array_equal(vehicle.thrust_matrix, self._vehicle.thrust_matrix):
            self._vehicle = vehicle
            self._setup(self._must_see)

    def apply(self, settings: Any) -> None:
        self.settings = settings

    def step(
        self, t_s: float, estimate: Estimate, directive: Directive, neighbours: NeighbourForecast
    ) -> ControlOutput:
        if (must_see := directive.must_see & set(self._others)) != self._must_see:
            self._setup(must_see)
        x = estimate.odometry.state
        self._look_around(t_s, neighbours)
        common = directive.common if self.settings.common_point else None
        setpoint = (common or directive.setpoint).at(np.array([t_s])).positions_m[0]
        self._values["_tvp", :, "setpoint"] = setpoint
        self._values["_tvp", :, "attitude"] = self._attitude(x, setpoint)
        for i, other in enumerate(self._others):
            self._values["_tvp", :, f"other{i}"] = self._positions[other]
        if not self._started:
            self._mpc.x0 = x
            self._mpc.set_initial_guess()
            self._started = True
        thrust = self._mpc.make_step(x[:, None]).ravel()
        stats = self._mpc.solver_stats
        failed = Issue(Code.SOLVER_FAILED, Severity.WARNING, str(stats["return_status"]))
        if not np.isfinite(thrust).all():
            thrust = np.zeros(self._vehicle.input_count)
        return ControlOutput(
            thrust,
            np.array([t_s]),
            x[None].copy(),
            issues=() if stats["success"] else (failed,),
            iterations=int(stats["iter_count"]),
        )

    def _look_around(self, t_s: float, neighbours: NeighbourForecast) -> None:
        """Where each neighbour was when it last sent something."""
        known = neighbours.at(np.array([t_s]))
        for i, (name, age_s) in enumerate(zip(known.names, known.ages_s.tolist(), strict=True)):
            if name in self._positions:
                self._positions[name] = neighbours.at(np.array([t_s - age_s])).positions_m[i, 0]

    def _attitude(self, x: Array, setpoint: Array) -> Array:
        """Level, facing the vehicles to be seen, or the setpoint when there are none."""
        seen = [self._positions[other] for other in self._others if other in self._must_see]
        towards = (np.mean(seen, axis=0) if seen else setpoint) - x[POSITION]
        near = np.hypot(towards[0], towards[1]) < 0.2  # no direction from a point one stands on
        yaw = yaw_of(x[ATTITUDE]) if near else float(np.arctan2(towards[1], towards[0]))
        return from_yaw(yaw)


def _build(vehicle: Vehicle, seen: Sequence[bool]) -> Any:
    """The do-mpc controller, ready but for its time-varying parameters."""
    model, x, others = _model(vehicle, len(seen))
    q = x["quaternion"]
    delta = x["position"] - model.tvp["setpoint"]
    error = error_quaternion(model.tvp["attitude"], q)
    cost = ca.dot(ca.DM(POSITION_WEIGHTS), delta**2) + ATTITUDE_WEIGHT * (
        (error[0] ** 2 - 1) ** 2 + ca.sumsqr(error[1:4])
    )
    mpc = do_mpc.controller.MPC(model)
    mpc.settings.n_horizon, mpc.settings.t_step, mpc.settings.n_robust = HORIZON, STEP_S, 2
    mpc.settings.store_full_solution = False
    mpc.settings.supress_ipopt_output()
    mpc.settings.nlpsol_opts |= {"ipopt.max_iter": MAX_ITERATIONS, "ipopt.linear_solver": "mumps"}
    mpc.set_objective(mterm=cost, lterm=cost + THRUST * ca.sumsqr(model.u["thrust"]))
    mpc.set_rterm(thrust=THRUST_CHANGE)
    mpc.bounds["lower", "_u", "thrust"] = vehicle.thrust_min_N
    mpc.bounds["upper", "_u", "thrust"] = vehicle.thrust_max_N
    bow = rotation(q)[:, 0]
    soft = {"soft_constraint": True, "penalty_term_cons": PENALTY}
    for i, other in enumerate(others):
        away = other - x["position"]
        square = ca.sumsqr(away)
        mpc.set_nl_cons(f"distance_soft{i}", SOFT_M**2 - square, ub=0, **soft)
        mpc.set_nl_cons(f"distance_hard{i}", HARD_M**2 - square, ub=0)
        if seen[i]:
            ahead, length = ca.dot(bow, away), ca.sqrt(square + 1e-9)
            mpc.set_nl_cons(f"sight_soft{i}", np.cos(np.deg2rad(SOFT_DEG)) * length - ahead, ub=0, **soft)
            mpc.set_nl_cons(f"sight_hard{i}", np.cos(np.deg2rad(HARD_DEG)) * length - ahead, ub=0)
    return mpc


def _model(vehicle: Vehicle, others: int) -> tuple[Any, dict[str, Any], list[Any]]:
    """M ν̇ + C(ν)ν + D(ν)ν + g(q) − B u = 0 as algebraic equations; the accelerations are algebraic states."""
    model = do_mpc.model.Model("continuous", "SX")
    sizes = {"position": 3, "quaternion": 4, "velocity": 3, "rate": 3}
    x = {name: model.set_variable("_x", name, shape=(size, 1)) for name, size in sizes.items()}
    thrust = model.set_variable("_u", "thrust", shape=(vehicle.input_count, 1))
    acceleration = model.set_variable("_z", "acceleration", shape=(6, 1))
    model.set_variable("_tvp", "setpoint", shape=(3, 1))
    model.set_variable("_tvp", "attitude", shape=(4, 1))
    positions = [model.set_variable("_tvp", f"other{i}", shape=(3, 1)) for i in range(others)]
    structure = structure_of(vehicle)
    dynamics = Dynamics(structure)
    p = structure.split(ca.SX(parameter_vector(vehicle, structure)))
    r, nu = rotation(x["quaternion"]), ca.vertcat(x["velocity"], x["rate"])
    coriolis = coriolis_without_linear_velocity(p, nu) @ nu + coriolis_of_matrix(dynamics.added_mass(p), nu) @ nu
    restoring = dynamics.restoring(p, r, x["position"][2])
    load = coriolis + dynamics.damping(p, nu) + restoring - dynamics.wrench(p, thrust)
    model.set_rhs("position", r @ x["velocity"])
    model.set_rhs("quaternion", quaternion_rate(x["quaternion"], x["rate"]))
    model.set_rhs("velocity", acceleration[0:3])
    model.set_rhs("rate", acceleration[3:6])
    model.set_alg("motion", ca.DM(mass_matrix(vehicle)) @ acceleration + load)
    model.setup()
    return model, x, positions
