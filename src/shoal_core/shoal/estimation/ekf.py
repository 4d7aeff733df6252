"""Error-state extended Kalman filter for the vehicle's state, the current and a constant wrench.

The wrench (body, 6) takes up whatever the model gets wrong, the current (NED, 3) what moves with the water: together
they make the controller free of steady offsets. Attitude errors are three small angles in the body frame.
"""

from __future__ import annotations

import math
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.codegen import Buffered, compiled
from shoal.config.file_model import FileModel
from shoal.estimation.position_noise import PositionNoiseMonitor
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST
from shoal.vehicles.description import Vehicle
from shoal.vehicles.dynamics import Dynamics, normalised, rk4
from shoal.vehicles.parameters import Structure, parameter_vector, structure_of

Array = NDArray[np.float64]
SIZE = 21  # δp δθ δv δω wrench current
# Long straight-line code gains nothing from heavy optimisation but compile time.
FAST_BUILD = ("-O1", "-march=native", "-fno-math-errno", "-fPIC", "-shared")


class EstimatorSettings(FileModel):
    """Noise levels. Measurement: one sigma. Process: growth of one sigma in a second."""

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
    scatter_factor: float = Field(
        default=10.0, gt=1, description="positions that scatter by so many position_m are believed less"
    )
    scatter_memory_s: float = Field(
        default=15.0, gt=0, description="how long such positions are averaged; longer trusts the velocity more"
    )


@lru_cache(maxsize=8)
def _functions(structure: Structure) -> tuple[ca.Function, ca.Function, ca.Function]:
    """step: (x, force, wrench, current, theta, h) → x⁺; predict: (P, process, same) → P⁺, x⁺; correct: see there."""
    model = Dynamics(structure)
    x, f = ca.SX.sym("x", 13), ca.SX.sym("f", structure.thruster_count)
    wrench, current = ca.SX.sym("wrench", 6), ca.SX.sym("current", 3)
    theta, h = ca.SX.sym("theta", structure.length), ca.SX.sym("h")
    p = structure.split(theta)

    def rhs(y: ca.SX) -> ca.SX:
        return model.quaternion_ode(p, y, model.wrench(p, f) + wrench, current)

    inputs = [x, f, wrench, current, theta, h]
    next_x = normalised(rk4(rhs, x, h))
    step = ca.Function("estimator_step", inputs, [next_x])
    error = ca.SX.sym("error", 12)
    moved = ca.vertcat(x[POSITION] + error[0:3], _turned(x[ATTITUDE], error[3:6]), x[TWIST] + error[6:12])
    x_dot = rhs(moved)
    # Attitude: d(δθ)/dt = −ω × δθ + δω; the rest follows the state's own derivative.
    angle_rate = -ca.cross(x[RATE], error[3:6]) + error[9:12]
    rate = ca.vertcat(x_dot[POSITION], angle_rate, x_dot[TWIST])
    jac = ca.jacobian(rate, ca.vertcat(error, wrench, current))
    rates = ca.substitute(jac, error, ca.SX.zeros(12)) * h
    covariance, process = ca.SX.sym("P", SIZE, SIZE), ca.SX.sym("process", SIZE)
    top = ca.horzcat(ca.SX.eye(12), ca.SX(12, 9)) + rates + 0.5 * rates[:, 0:12] @ rates
    transition = ca.vertcat(top, ca.horzcat(ca.SX(9, 12), ca.SX.eye(9)))
    after = ca.densify(transition @ covariance @ transition.T + ca.diag(process) * h)
    predict = ca.Function("estimator_predict", [covariance, process, *inputs], [after, next_x])
    return compiled(step), compiled(predict, FAST_BUILD), compiled(_correction(), FAST_BUILD)


def _correction() -> ca.Function:
    """(P, measurement variances 12, x, disturbances 9, their bounds 9, measured x) → (P⁺, x⁺, disturbances⁺).

    The measurement noise is uncorrelated, so the twelve numbers are taken in one after the other: no matrix to invert.
    """
    covariance, variance = ca.SX.sym("P", SIZE, SIZE), ca.SX.sym("variance", 12)
    x, measured = ca.SX.sym("x", 13), ca.SX.sym("measured", 13)
    extra, believed = ca.SX.sym("extra", 9), ca.SX.sym("believed", 9)
    gap = measured - x
    q, seen = x[ATTITUDE], measured[ATTITUDE]
    error_q = q[0] * seen[1:4] - seen[0] * q[1:4] - ca.cross(q[1:4], seen[1:4])  # of q* ⊗ seen
    angle = ca.if_else(ca.dot(q, seen) >= 0, 2.0, -2.0) * error_q
    innovation = ca.vertcat(gap[0:3], angle, gap[7:13])
    state, change = ca.SX(covariance), ca.SX.zeros(SIZE)
    for i in range(12):
        column = state[:, i]
        gain = column / (state[i, i] + variance[i])
        change += gain * (innovation[i] - change[i])
        state -= gain @ column.T
    state = (state + state.T) / 2
    turned = _turned(q, change[3:6])
    after = ca.vertcat(x[POSITION] + change[0:3], turned / ca.norm_2(turned), x[TWIST] + change[6:12])
    disturbances = ca.fmin(ca.fmax(extra + change[12:21], -believed), believed)
    inputs = [covariance, variance, x, extra, believed, measured]
    return ca.Function("estimator_correct", inputs, [state, after, disturbances])


def _turned(q: ca.SX, angle: ca.SX) -> ca.SX:
    """q ⊗ [1, angle/2], to first order."""
    half = angle / 2
    return ca.vertcat(q[0] - ca.dot(q[1:4], half), q[1:4] + q[0] * half + ca.cross(q[1:4], half))


class StateEstimator:
    """`predict` with the thrusters' force, `correct` with odometry; `state`, `wrench`, `current` are the estimate."""

    def __init__(self, vehicle: Vehicle, settings: EstimatorSettings) -> None:
        self.settings = settings
        self._load(structure_of(vehicle))
        s = settings
        degree = np.pi / 180
        self._measurement = np.repeat(
            [s.position_m**2, (s.attitude_deg * degree) ** 2, s.velocity_mps**2, (s.rate_dps * degree) ** 2], 3
        )
        self._position_noise = PositionNoiseMonitor(s.scatter_factor * s.position_m)
        self._set_parameters(vehicle)
        self.reset(Odometry(0.0, np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)))

    def _load(self, structure: Structure) -> None:
        """The functions share arrays: what one writes, the next reads."""
        self._structure = structure
        step, predict, correct = _functions(structure)
        self._shared = np.zeros(9)
        wrench, current = self._shared[:6], self._shared[6:]
        self._step = Buffered(step, {2: wrench, 3: current})
        self._predict = Buffered(predict, {4: wrench, 5: current})
        before, after = self._predict.inputs, self._predict.outputs
        self._correct = Buffered(correct, {0: after[0], 2: after[1], 3: self._shared}, {0: before[0], 1: before[2]})

    def _set_parameters(self, vehicle: Vehicle) -> None:
        s, theta = self.settings, parameter_vector(vehicle, self._structure)
        self._step.inputs[4][:], self._predict.inputs[6][:] = theta, theta
        self._correct.inputs[1][:] = self._measurement
        self._correct.inputs[4][:] = np.repeat([s.max_force_N, s.max_moment_Nm, s.max_current_mps], 3)
        self._predict.inputs[1][:] = np.repeat(
            [0.0, 0.0, s.acceleration_mps2**2, s.angular_mps2**2, s.force_N**2, s.moment_Nm**2, s.current_mps**2], 3
        )

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another description; the state and what is known of it stay."""
        structure = structure_of(vehicle)
        if structure != self._structure:
            self._load(structure)
            self._begin(self.state, self._covariance)
        self._set_parameters(vehicle)
        self._disturb(self._disturbances)

    def _begin(self, state: Array, covariance: Array) -> None:
        """Where the next prediction, or a correction without one, starts from."""
        i, o = self._predict.inputs, self._predict.outputs
        i[2][:], o[1][:], i[0][:], o[0][:] = state, state, covariance, covariance
        self.state, self._covariance = state.copy(), i[0]

    def explain(self, wrench: Array) -> None:
        """A new description accounts for this part of the wrench (6): it is no longer unexplained."""
        self._disturb(self._disturbances - np.concatenate([wrench, np.zeros(3)]))

    def reset(self, odometry: Odometry) -> None:
        """Start anew from one measurement."""
        self._disturb(np.zeros(9))
        unknown = np.repeat([400.0, 4.0, 0.04], 3)  # 20 N, 2 N m, 0.2 m/s
        self._begin(odometry.state, np.diag(np.concatenate([self._measurement, unknown])).ravel())
        self._position_noise.clear()
        self._beside_m = np.zeros(3)  # the last measured position, from the estimate that had taken it in
        self._reset_s, self._count = odometry.stamp_s, 0

    @property
    def wrench(self) -> Array:
        """What the model misses (body, 6)."""
        return self._disturbances[:6]

    @property
    def current(self) -> Array:
        """The water's motion (NED, 3)."""
        return self._disturbances[6:]

    def step(self, state: Array, force_N: Array, duration_s: float) -> Array:
        """The model's next state under the estimated disturbances."""
        i = self._step.inputs
        i[0][:], i[1][:], i[5][0] = state, force_N, duration_s
        self._step.call()
        return self._step.outputs[0].copy()

    def predict(self, force_N: Array, duration_s: float) -> None:
        """Move the estimate on."""
        i, o = self._predict.inputs, self._predict.outputs
        if self._covariance is o[0]:  # again, without a correction
            i[0][:], i[2][:] = o[0], o[1]
        i[3][:], i[7][0] = force_N, duration_s
        self._predict.call()
        self.state, self._covariance = o[1].copy(), o[0]

    def correct(self, odometry: Odometry) -> None:
        """Take in a measurement of the whole state."""
        i, o = self._correct.inputs, self._correct.outputs
        if self._covariance is o[0]:  # without a prediction
            i[0][:], i[2][:] = o[0], o[1]
        self._doubt_position(odometry)
        i[5][:] = odometry.state
        self._correct.call()
        self.state, self._covariance = o[1].copy(), o[0]
        self._disturb(o[2])
        self._beside_m = odometry.position_m - self.state[POSITION]

    def _doubt_position(self, odometry: Odometry) -> None:
        """A position that scatters far more than described is averaged along the way made good.

        After n measurements the mean's variance is R/n, which gives the next one its weight of 1/(n+1). The mean
        reaches back by the memory only, lest a small error of the measured velocity lead far away.
        """
        self._count += 1
        sigma_m = self._position_noise.sigma_m(odometry.position_m - self.state[POSITION] - self._beside_m)
        variance = self._measurement[0:3]
        if sigma_m is not None:
            variance = np.maximum(variance, sigma_m**2)
            memory = min(1.0, self.settings.scatter_memory_s / max(odometry.stamp_s - self._reset_s, 1e-9))
            covariance = self._covariance.reshape(SIZE, SIZE)
            for i in np.flatnonzero(sigma_m):  # rows and columns alike: correlations stay what they are
                scale = math.sqrt(variance[i] / max(1.0, self._count * memory) / covariance[i, i])
                covariance[i, :] *= scale
                covariance[:, i] *= scale
        self._correct.inputs[1][0:3] = variance

    def _disturb(self, values: Array) -> None:
        """New wrench and current; the model's functions have them at hand from now on."""
        self._disturbances = values.copy()
        self._shared[:] = values

    @property
    def position_sigma_m(self) -> float:
        """How well the position is known, on the worst axis."""
        return math.sqrt(self._covariance[: 3 * SIZE : SIZE + 1].max())

    @property
    def covariance(self) -> Array:
        """(21,21) of the errors: position, attitude, velocity, rate, wrench, current."""
        return self._covariance.reshape(SIZE, SIZE)
