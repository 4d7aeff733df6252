"""Ready-made CasADi functions and plain numbers of a vehicle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from shoal.codegen import compiled
from shoal.vehicles.allocation import largest
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.dynamics import Dynamics, normalised, rk4
from shoal.vehicles.parameters import Structure, parameter_vector, structure_of

Array = NDArray[np.float64]
FORMS = {"quaternion": 13, "euler": 12}


def ode_function(structure: Structure, form: str = "quaternion", coriolis: str = "velocity_free") -> ca.Function:
    """ẋ = f(x, thrust, current NED, wrench, parameters); `wrench` is any further force on the body (6)."""
    dynamics = Dynamics(structure, coriolis)
    x, u = ca.SX.sym("x", FORMS[form]), ca.SX.sym("u", structure.thruster_count)
    current, extra, theta = ca.SX.sym("current", 3), ca.SX.sym("wrench", 6), ca.SX.sym("theta", structure.length)
    p = structure.split(theta)
    tau = dynamics.wrench(p, u) + extra
    ode = dynamics.quaternion_ode if form == "quaternion" else dynamics.euler_ode
    names = ["x", "u", "current", "wrench", "theta"]
    return ca.Function(f"ode_{form}", [x, u, current, extra, theta], [ode(p, x, tau, current)], names, ["x_dot"])


@lru_cache(maxsize=32)
def plant_step_function(structure: Structure, substeps: int, use_compiler: bool = True) -> ca.Function:
    """`substeps` RK4 steps of body and thrusters.

    (x13, forces n, command n, currents 3×substeps, theta, thruster [lower, upper, lag, dead band, gain] n×5, dt)
    → (x13, forces). The lag is integrated exactly over a step (command constant), so that a lag of zero is no
    special case; the body sees the exact mean force over the step.
    """
    n = structure.thruster_count
    dynamics = Dynamics(structure)
    x, f, command = ca.SX.sym("x", 13), ca.SX.sym("f", n), ca.SX.sym("command", n)
    current, theta = ca.SX.sym("current", 3), ca.SX.sym("theta", structure.length)
    thruster, dt = ca.SX.sym("thruster", n, 5), ca.SX.sym("dt")
    p = structure.split(theta)
    lower, upper, lag, dead_band, gain = (thruster[:, i] for i in range(5))
    target = ca.fmax(lower, ca.fmin(upper, command))
    target = ca.if_else(ca.fabs(target) < dead_band, 0, target) * gain
    lag = ca.fmax(lag, 1e-9)
    decay = ca.exp(-dt / lag)
    f_next = target + (f - target) * decay
    tau = dynamics.wrench(p, target + (f - target) * (1 - decay) * lag / dt)
    x_next = normalised(rk4(lambda y: dynamics.quaternion_ode(p, y, tau, current), x, dt))
    one = ca.Function("one", [ca.vertcat(x, f), current, command, theta, thruster, dt], [ca.vertcat(x_next, f_next)])
    state, currents = ca.MX.sym("state", 13 + n), ca.MX.sym("currents", 3, substeps)
    fixed = [ca.MX.sym("command", n), ca.MX.sym("theta", structure.length)]
    fixed += [ca.MX.sym("thruster", n, 5), ca.MX.sym("dt")]
    folded = one.mapaccum("steps", substeps, [0], [0])
    last = folded(state, currents, *(ca.repmat(a, 1, substeps) for a in fixed))[:, -1]
    step = ca.Function(
        f"plant_step_{substeps}",
        [state, currents, *fixed],
        [last],
        ["state", "currents", "command", "theta", "thruster", "dt"],
        ["state_next"],
    )
    return compiled(step) if use_compiler else step


@dataclass(frozen=True)
class Linearisation:
    """ẋ ≈ A δx + B δu at a state."""

    a: Array  # (13,13)
    b: Array  # (13,n)


class VehicleModel:
    """The numbers one asks of a vehicle: accelerations, terminal speeds, trim, linearisation."""

    def __init__(self, vehicle: Vehicle) -> None:
        self.vehicle = vehicle
        self.structure = structure_of(vehicle)
        self.theta = parameter_vector(vehicle, self.structure)
        self.ode = ode_function(self.structure)

    def derivative(self, x: Array, thrust_N: Array, current_mps: Array | None = None) -> Array:
        """ẋ of the 13-state."""
        current = np.zeros(3) if current_mps is None else current_mps
        return np.array(self.ode(x, thrust_N, current, np.zeros(6), self.theta)).ravel()

    def linearise(self, x: Array, thrust_N: Array, current_mps: Array | None = None) -> Linearisation:
        """A and B at a state."""
        current = np.zeros(3) if current_mps is None else current_mps
        args = [ca.MX.sym(f"a{i}", self.ode.size1_in(i)) for i in range(5)]
        out = self.ode(*args)
        jacobians = ca.Function("jacobians", args, [ca.jacobian(out, args[0]), ca.jacobian(out, args[1])])
        a, b = jacobians(x, thrust_N, current, np.zeros(6), self.theta)
        return Linearisation(np.array(a), np.array(b))

    def trim(self) -> Array:
        """Thrust (n,) that holds the level vehicle still in still water: least squares within the limits."""
        v, down = self.vehicle, np.array([0.0, 0.0, 1.0])
        moment = np.cross(v.cg_m, v.weight_N * down) - np.cross(v.cb_m, v.buoyancy_N * down)
        needed = -np.concatenate([(v.weight_N - v.buoyancy_N) * down, moment])
        return np.asarray(lsq_linear(v.thrust_matrix, needed, (v.thrust_min_N, v.thrust_max_N)).x)

    def max_force(self, axis: int, sign: int) -> float:
        """Largest pure force or moment along one axis (the other five zero) within the thrusters' limits; ≥ 0.

        Pure, because thrusters that help one axis push others too: horizontal ones also roll and pitch the vehicle.
        """
        return largest(self.vehicle, sign * np.eye(6)[axis])[1]

    def terminal_speed(self, axis: int, force: float) -> float:
        """Steady speed (m/s, rad/s) along one axis under a constant force: d₁v + d₂v² = F, in closed form."""
        v = self.vehicle
        d1, d2 = v.linear_damping[axis, axis], v.quadratic_damping[axis, axis]
        heave = v.heave_dive if force > 0 else v.heave_rise
        if axis == 2 and heave is not None:
            d1, d2 = heave.linear_Nspm, heave.quadratic_Ns2pm2
        size = abs(force)
        if d2 == 0:
            return float(np.copysign(size / d1, force)) if d1 > 0 else float(np.copysign(np.inf, force))
        return float(np.copysign((-d1 + np.sqrt(d1**2 + 4 * d2 * size)) / (2 * d2), force))

    def top_speeds(self) -> dict[str, tuple[float, float]]:
        """Forward and reverse top speed per axis, thrusters alone (buoyancy added in heave)."""
        net = self.vehicle.weight_N - self.vehicle.buoyancy_N
        speeds = {}
        for i, axis in enumerate(AXES):
            bias = net if i == 2 else 0.0
            speeds[axis] = (
                self.terminal_speed(i, self.max_force(i, 1) + bias),
                self.terminal_speed(i, -self.max_force(i, -1) + bias),
            )
        return speeds
