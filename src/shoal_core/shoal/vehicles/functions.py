"""Ready-made CasADi functions and plain numbers of a vehicle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from shoal.codegen import compiled
from shoal.messages.state import ATTITUDE, RATE, VELOCITY
from shoal.vehicles.allocation import allocate, largest
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.dynamics import Dynamics, normalised, rk4, rotation
from shoal.vehicles.parameters import Structure, parameter_vector, structure_of

Array = NDArray[np.float64]
SX = ca.SX
FASTEST_MPS = 10.0  # of a vehicle whose description has no drag
FORMS = {"quaternion": 13, "euler": 12}
THRUSTER_COLUMNS = 7


@lru_cache(maxsize=32)
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


@dataclass(frozen=True)
class ThrusterStructure:
    """What of the thrusters shapes the plant's code."""

    azimuths: tuple[int, ...] = ()  # first of the two inputs of each
    inflow: bool = False  # any that loses thrust with speed


def thruster_structure(vehicle: Vehicle, room: int = 0) -> ThrusterStructure:
    """Of a vehicle; where all are azimuths, inputs that fill up to `room` count as some, too."""
    starts = np.cumsum([0, *(t.inputs for t in vehicle.thrusters)])
    azimuths = tuple(int(i) for i, t in zip(starts, vehicle.thrusters, strict=False) if t.kind == "azimuth")
    if 2 * len(azimuths) == vehicle.input_count:
        azimuths = tuple(range(0, max(room, vehicle.input_count), 2))
    return ThrusterStructure(azimuths, any(t.inflow_loss for t in vehicle.thrusters))


@lru_cache(maxsize=32)
def plant_step_function(
    structure: Structure,
    substeps: int,
    use_compiler: bool = True,
    thrusters: ThrusterStructure = ThrusterStructure(),
) -> ca.Function:
    """`substeps` RK4 steps of body and thrusters.

    (x13, forces n, command n, currents 3×substeps, theta, thruster n×7, dt) → (x13, forces); thruster columns are
    lower and upper limit, lag, dead band, gain, slew, inflow loss. The lag is integrated exactly over a step (command
    constant), so that a lag of zero is no special case; the body sees the exact mean force over the step. Of an
    azimuth, `forces` holds thrust and angle.
    """
    n = structure.thruster_count
    dynamics = Dynamics(structure)
    x, f, command = ca.SX.sym("x", 13), ca.SX.sym("f", n), ca.SX.sym("command", n)
    current, theta = ca.SX.sym("current", 3), ca.SX.sym("theta", structure.length)
    thruster, dt = ca.SX.sym("thruster", n, THRUSTER_COLUMNS), ca.SX.sym("dt")
    p = structure.split(theta)
    lower, upper, lag, dead_band, gain, slew, inflow_loss = (thruster[:, i] for i in range(THRUSTER_COLUMNS))
    polar = SX(command)
    for i in thrusters.azimuths:
        polar[i] = ca.hypot(command[i], command[i + 1])
    target = ca.fmax(lower, ca.fmin(upper, polar))
    target = ca.if_else(ca.fabs(target) < dead_band, 0, target) * gain
    lag = ca.fmax(lag, 1e-9)
    decay = ca.exp(-dt / lag)
    f_next = target + (f - target) * decay
    mean = target + (f - target) * (1 - decay) * lag / dt
    for i in thrusters.azimuths:
        turn = ca.atan2(command[i + 1], command[i]) - f[i + 1]
        turn = ca.atan2(ca.sin(turn), ca.cos(turn))  # the short way round
        turn = ca.if_else(target[i] == 0, 0, ca.fmax(-slew[i] * dt, ca.fmin(slew[i] * dt, turn)))
        f_next[i + 1] = f[i + 1] + turn
        thrust, angle = mean[i], f[i + 1] + turn / 2
        mean[i], mean[i + 1] = thrust * ca.cos(angle), thrust * ca.sin(angle)
    if thrusters.inflow:
        mean -= _lost_to_inflow(dynamics, p, x, current, mean, inflow_loss)
    if structure.surface:  # within 10 ms no propeller comes out of the water
        mean *= dynamics.propellers_immersed(p, rotation(x[ATTITUDE]), x[2], ca.reshape(p["places"], 3, n))
    tau = dynamics.wrench(p, mean)
    x_next = normalised(rk4(lambda y: dynamics.quaternion_ode(p, y, tau, current), x, dt))
    one = ca.Function("one", [ca.vertcat(x, f), current, command, theta, thruster, dt], [ca.vertcat(x_next, f_next)])
    state, currents = ca.MX.sym("state", 13 + n), ca.MX.sym("currents", 3, substeps)
    fixed = [ca.MX.sym("command", n), ca.MX.sym("theta", structure.length)]
    fixed += [ca.MX.sym("thruster", n, THRUSTER_COLUMNS), ca.MX.sym("dt")]
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


def _lost_to_inflow(dynamics: Dynamics, p: dict[str, SX], x: SX, current: SX, force: SX, loss: SX) -> SX:
    """Nielsen 2018 (5.8), T|ω|ω + T'|ω|u_a: with |ω| from the thrust at rest, loss · √|F| · u_a along each input."""
    relative = x[VELOCITY] - rotation(x[ATTITUDE]).T @ current
    along = dynamics.input_columns(p)  # (6,n): power per force is the velocity of the place along the direction
    return loss * ca.sqrt(ca.fabs(force)) * (along.T @ ca.vertcat(relative, x[RATE]))


@dataclass(frozen=True)
class Linearisation:
    """ẋ ≈ A δx + B δu at a state."""

    a: Array  # (13,13)
    b: Array  # (13,n)


@lru_cache(maxsize=32)
def _jacobians(structure: Structure) -> ca.Function:
    """(x, thrust, current, wrench, parameters) → ∂ẋ/∂x, ∂ẋ/∂thrust."""
    ode = ode_function(structure)
    args = [ca.MX.sym(f"a{i}", ode.size1_in(i)) for i in range(5)]
    out = ode(*args)
    return ca.Function("jacobians", args, [ca.jacobian(out, args[0]), ca.jacobian(out, args[1])])


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
        a, b = _jacobians(self.structure)(x, thrust_N, current, np.zeros(6), self.theta)
        return Linearisation(np.array(a), np.array(b))

    def trim(self) -> Array:
        """Inputs (n,) that hold the level vehicle still in still water, as far as they can."""
        v, down = self.vehicle, np.array([0.0, 0.0, 1.0])
        moment = np.cross(v.cg_m, v.weight_N * down) - np.cross(v.cb_m, v.buoyancy_N * down)
        needed = -np.concatenate([(v.weight_N - v.buoyancy_N) * down, moment])
        return allocate(v, needed)

    def max_force(self, axis: int, sign: int) -> float:
        """Largest pure force or moment along one axis (none along the others that can be steered); ≥ 0.

        Pure, because thrusters that help one axis push others too: horizontal ones also roll and pitch the vehicle.
        """
        return largest(self.vehicle, axis, sign)

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

    def top_speed_mps(self) -> float:
        """The fastest it swims level, in any direction, thrusters alone."""
        ways = [(axis, sign) for axis in (0, 1) for sign in (1, -1)]
        speeds = [abs(self.terminal_speed(axis, sign * self.max_force(axis, sign))) for axis, sign in ways]
        return min(max(speeds), FASTEST_MPS)
