"""Error-state extended Kalman filter for the vehicle's state, the current and a constant wrench.

The wrench (body, 6) takes up whatever the model gets wrong, the current (NED, 3) what moves with the water: together
they make the controller free of steady offsets. Attitude errors are three small angles in the body frame.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from shoal.codegen import Buffered, compiled
from shoal.control.rotations import multiply
from shoal.fleet.odometry import Odometry
from shoal.vehicles.description import Vehicle
from shoal.vehicles.dynamics import Dynamics, normalised, rk4
from shoal.vehicles.parameters import Structure, parameter_vector, structure_of

Array = NDArray[np.float64]
SIZE = 21  # δp δθ δv δω wrench current
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
# Long straight-line code gains nothing from heavy optimisation but compile time.
FAST_BUILD = ("-O1", "-march=native", "-fno-math-errno", "-fPIC", "-shared")


class EstimatorSettings(BaseModel):
    """Noise levels. Measurement: one sigma. Process: growth of one sigma in a second."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    position_m: float = Field(default=0.02, gt=0)
    attitude_deg: float = Field(default=0.5, gt=0)
    velocity_mps: float = Field(default=0.01, gt=0)
    rate_dps: float = Field(default=0.5, gt=0)
    force_N: float = Field(default=10.0, gt=0, description="wander of the wrench's forces")
    moment_Nm: float = Field(default=2.5, gt=0, description="wander of the wrench's moments")
    current_mps: float = Field(default=0.2, gt=0, description="wander of the current")
    acceleration_mps2: float = Field(default=0.05, gt=0, description="fast model error")
    angular_mps2: float = Field(default=0.1, gt=0, description="fast model error, rotations, rad/s²")
    max_force_N: float = Field(default=1500.0, gt=0, description="largest wrench believed; a wrong weight is one, too")
    max_moment_Nm: float = Field(default=50.0, gt=0)
    max_current_mps: float = Field(default=1.5, gt=0)


@lru_cache(maxsize=8)
def _functions(structure: Structure) -> tuple[ca.Function, ca.Function, ca.Function]:
    """step: (x, force, wrench, current, theta, h) → x⁺;  spread: (P, process, the same) → P⁺;  correct: see there."""
    model = Dynamics(structure)
    x, f = ca.SX.sym("x", 13), ca.SX.sym("f", structure.thruster_count)
    wrench, current = ca.SX.sym("wrench", 6), ca.SX.sym("current", 3)
    theta, h = ca.SX.sym("theta", structure.length), ca.SX.sym("h")
    p = structure.split(theta)

    def rhs(y: ca.SX) -> ca.SX:
        return model.quaternion_ode(p, y, model.wrench(p, f) + wrench, current)

    inputs = [x, f, wrench, current, theta, h]
    step = ca.Function("estimator_step", inputs, [normalised(rk4(rhs, x, h))])
    error = ca.SX.sym("error", 12)
    moved = ca.vertcat(x[0:3] + error[0:3], _turned(x[3:7], error[3:6]), x[7:13] + error[6:12])
    x_dot = rhs(moved)
    # Attitude: d(δθ)/dt = −ω × δθ + δω; the rest follows the state's own derivative.
    angle_rate = -ca.cross(x[10:13], error[3:6]) + error[9:12]
    rate = ca.vertcat(x_dot[0:3], angle_rate, x_dot[7:13])
    jac = ca.jacobian(rate, ca.vertcat(error, wrench, current))
    rates = ca.substitute(jac, error, ca.SX.zeros(12)) * h
    covariance, process = ca.SX.sym("P", SIZE, SIZE), ca.SX.sym("process", SIZE)
    top = ca.horzcat(ca.SX.eye(12), ca.SX(12, 9)) + rates + 0.5 * rates[:, 0:12] @ rates
    transition = ca.vertcat(top, ca.horzcat(ca.SX(9, 12), ca.SX.eye(9)))
    after = ca.densify(transition @ covariance @ transition.T + ca.diag(process) * h)
    spread = ca.Function("estimator_spread", [covariance, process, *inputs], [after])
    return compiled(step), compiled(spread, FAST_BUILD), compiled(_correction(), FAST_BUILD)


def _correction() -> ca.Function:
    """(P, measurement variances 12, innovation 12) → (P⁺, change 21).

    The measurement noise is uncorrelated, so the twelve numbers are taken in one after the other: no matrix to invert.
    """
    covariance, variance = ca.SX.sym("P", SIZE, SIZE), ca.SX.sym("variance", 12)
    innovation = ca.SX.sym("innovation", 12)
    state, change = ca.SX(covariance), ca.SX.zeros(SIZE)
    for i in range(12):
        column = state[:, i]
        gain = column / (state[i, i] + variance[i])
        change += gain * (innovation[i] - change[i])
        state -= gain @ column.T
    state = (state + state.T) / 2
    return ca.Function("estimator_correct", [covariance, variance, innovation], [state, change])


def _turned(q: ca.SX, angle: ca.SX) -> ca.SX:
    """q ⊗ [1, angle/2], to first order."""
    half = angle / 2
    return ca.vertcat(q[0] - ca.dot(q[1:4], half), q[1:4] + q[0] * half + ca.cross(q[1:4], half))


class StateEstimator:
    """`predict` with the thrusters' force, `correct` with odometry; `state`, `wrench`, `current` are the estimate."""

    def __init__(self, vehicle: Vehicle, settings: EstimatorSettings) -> None:
        self.settings = settings
        structure = structure_of(vehicle)
        self._step, self._spread, self._correct = map(Buffered, _functions(structure))
        theta = parameter_vector(vehicle, structure)
        self._step.inputs[4][:], self._spread.inputs[6][:] = theta, theta
        s = settings
        degree = np.pi / 180
        self._measurement = np.repeat(
            [s.position_m**2, (s.attitude_deg * degree) ** 2, s.velocity_mps**2, (s.rate_dps * degree) ** 2], 3
        )
        self._believed = np.repeat([s.max_force_N, s.max_moment_Nm, s.max_current_mps], 3)
        self._process = np.repeat(
            [0.0, 0.0, s.acceleration_mps2**2, s.angular_mps2**2, s.force_N**2, s.moment_Nm**2, s.current_mps**2], 3
        )
        self._spread.inputs[1][:], self._correct.inputs[1][:] = self._process, self._measurement
        self.reset(Odometry.from_state(0.0, np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)))

    def reset(self, odometry: Odometry) -> None:
        """Start anew from one measurement."""
        self.state = odometry.state
        self.wrench = np.zeros(6)
        self.current = np.zeros(3)
        unknown = np.repeat([400.0, 4.0, 0.04], 3)  # 20 N, 2 N m, 0.2 m/s
        self._covariance = np.diag(np.concatenate([self._measurement, unknown])).ravel()

    def step(self, state: Array, force_N: Array, duration_s: float) -> Array:
        """The model's next state under the estimated disturbances."""
        i = self._step.inputs
        i[0][:], i[1][:], i[2][:], i[3][:], i[5][:] = state, force_N, self.wrench, self.current, duration_s
        self._step.call()
        return self._step.outputs[0].copy()

    def predict(self, force_N: Array, duration_s: float) -> None:
        """Move the estimate on."""
        i = self._spread.inputs
        i[0][:], i[2][:], i[3][:], i[4][:], i[5][:] = self._covariance, self.state, force_N, self.wrench, self.current
        i[7][:] = duration_s
        self._spread.call()
        self._covariance[:] = self._spread.outputs[0]
        self.state = self.step(self.state, force_N, duration_s)

    def correct(self, odometry: Odometry) -> None:
        """Take in a measurement of the whole state."""
        gap = odometry.state - self.state
        error_q = multiply(self.state[3:7] * _CONJUGATE, odometry.quaternion)
        i = self._correct.inputs
        i[0][:] = self._covariance
        i[2][0:3], i[2][6:12] = gap[0:3], gap[7:13]
        i[2][3:6] = (2.0 if error_q[0] >= 0 else -2.0) * error_q[1:]
        self._correct.call()
        self._covariance[:], change = self._correct.outputs
        turned = multiply(self.state[3:7], np.array([1.0, *(change[3:6] / 2)]))
        self.state[0:3] += change[0:3]
        self.state[3:7] = turned / np.sqrt(turned @ turned)
        self.state[7:13] += change[6:12]
        extra = np.concatenate([self.wrench, self.current]) + change[12:]
        extra = np.minimum(np.maximum(extra, -self._believed), self._believed)
        self.wrench, self.current = extra[:6], extra[6:]

    @property
    def covariance(self) -> Array:
        """(21,21) of the errors: position, attitude, velocity, rate, wrench, current."""
        return self._covariance.reshape(SIZE, SIZE)
