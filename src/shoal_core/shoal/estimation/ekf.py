"""Error-state extended Kalman filter for the vehicle's state, the current and a constant wrench.

The wrench (body, 6) takes up whatever the model gets wrong, the current (NED, 3) what moves with the water: together
they make the controller free of steady offsets. Attitude errors are three small angles in the body frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.estimation.actuator_state import Segment
from shoal.estimation.kalman import SIZE, make_filter
from shoal.estimation.outliers import OutlierGate, OutlierSettings
from shoal.estimation.position_noise import LEAST, WINDOW, PositionNoiseMonitor
from shoal.frames import matrix, multiply
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import parameter_vector, roomy_structure
from shoal.vehicles.scale import VehicleScale, scales_with

Array = NDArray[np.float64]
BLOCK_NAMES = ("position", "attitude", "velocity", "body rate")
ATTITUDE_BLOCK, RATE_BLOCK = 1, 3
QUICK_S = 0.1  # measurements no further apart than this are enough for a wrench that follows the waves
CONFIRMED = 3  # measurements after the first that must agree with it, if any does not
DOWN_CURRENT = 8  # among the disturbances
STILL_MPS = 0.02  # one sigma of a vertical current that was just found to be a weight
BLEND_S = 3.0  # of a map correction, the time constant if it is a large one


class EstimatorSettings(FileModel):
    """Noise levels. Measurement: one sigma. Process: growth of one sigma in a second."""

    position_m: float = Field(default=0.02, gt=0, description="one sigma of the measured position")
    attitude_deg: float = Field(default=0.5, gt=0, description="one sigma of the measured attitude")
    velocity_mps: float = Field(default=0.01, gt=0, description="one sigma of the measured velocity")
    rate_dps: float = Field(default=0.5, gt=0, description="one sigma of the measured body rates")
    force_N: float = Field(
        default=7.0, gt=0, description="wander of the wrench's forces", json_schema_extra=scales_with("force")
    )
    moment_Nm: float = Field(
        default=1.0, gt=0, description="wander of the wrench's moments", json_schema_extra=scales_with("moment")
    )
    wrench_share: float = Field(
        default=0.0,
        ge=0,
        description="wander of the wrench, of full thrust, in place of force_N and moment_Nm; 0: those",
    )
    current_mps: float = Field(default=0.2, gt=0, description="wander of the current")
    acceleration_mps2: float = Field(default=0.05, gt=0, description="fast model error")
    angular_mps2: float = Field(default=0.1, gt=0, description="fast model error, rotations, rad/s²")
    max_force_N: float = Field(
        default=1500.0,
        gt=0,
        description="largest wrench believed; a wrong weight is one, too",
        json_schema_extra=scales_with("force"),
    )
    max_moment_Nm: float = Field(
        default=50.0, gt=0, json_schema_extra=scales_with("moment"), description="largest moment that is estimated"
    )
    max_current_mps: float = Field(default=1.5, gt=0, description="fastest current that is estimated")
    scatter_factor: float = Field(
        default=10.0, gt=1, description="positions that scatter by so many position_m are believed less"
    )
    scatter_memory_s: float = Field(
        default=15.0, gt=0, description="how long such positions are averaged; longer trusts the velocity more"
    )
    outliers: OutlierSettings = OutlierSettings()


@dataclass(frozen=True)
class Surprise:
    """Part of a measurement that was left out, or that moved the estimate."""

    block: int  # position, attitude, velocity, rate
    off: float  # from what was expected, in the block's unit
    believed: bool


class StateEstimator:
    """`predict` with the thrusters' force, `correct` with odometry; `state`, `wrench`, `current` are the estimate."""

    def __init__(self, vehicle: Vehicle, settings: EstimatorSettings) -> None:
        self.settings = settings
        s = settings
        degree = np.pi / 180
        self._measurement = np.repeat(
            [s.position_m**2, (s.attitude_deg * degree) ** 2, s.velocity_mps**2, (s.rate_dps * degree) ** 2], 3
        )
        self._position_noise = PositionNoiseMonitor(s.scatter_factor * s.position_m)
        self._gate = OutlierGate(s.outliers)
        self._slowness = 1.0  # of the measurements
        self.surprises: tuple[Surprise, ...] = ()  # of the last measurement
        self._doubt: tuple[float, float, float, float] | None = None
        self._load(vehicle)
        self.reset(Odometry(0.0, np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)))

    def _load(self, vehicle: Vehicle) -> None:
        """The filter for a vehicle's structure and numbers."""
        structure, scale = roomy_structure(vehicle), VehicleScale.of(vehicle)
        self._inputs = vehicle.input_count
        s = self._fitted = _by_thrust(scale.fit(self.settings), vehicle)
        self._unknown = np.repeat(np.square([20.0 * scale.force, 2.0 * scale.moment, 0.2]), 3)  # N, N m, m/s at first
        self._filter = f = make_filter(structure)
        f.theta[:], f.variance[:] = parameter_vector(vehicle, structure), self._measurement
        f.believed[:] = np.repeat([s.max_force_N, s.max_moment_Nm, s.max_current_mps], 3)
        f.process[:] = self._process()
        self._covariance = f.covariance
        self._know_drag(vehicle)

    def _process(self) -> Array:
        """(21,) variance that a second adds."""
        s, n = self._fitted, self._slowness
        described = s.acceleration_mps2, s.angular_mps2, s.force_N, s.moment_Nm
        fast_mps2, fast_radps2, force_N, moment_Nm = described if self._doubt is None else self._doubt
        wander = force_N / n, moment_Nm / n**2, s.current_mps / n
        return np.repeat(np.square([0.0, 0.0, fast_mps2 * n, fast_radps2 * n**1.3, *wander]), 3)

    def expect_interval(self, interval_s: float) -> None:
        """Between two measurements, as usual.

        At 20 Hz whatever the model misses is taken for a wrench that goes on, for a tenth of a second. To extrapolate
        that over a second is worse than to take it for something that has passed: 1 N m turns a vehicle round.
        """
        slowness = max(1.0, interval_s / QUICK_S)
        if abs(slowness - self._slowness) > 0.05 * self._slowness:
            self._slowness = slowness
            self._filter.process[:] = self._process()

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another description; the state and what is known of it stay."""
        kept = self._filter
        if vehicle.input_count == self._inputs and roomy_structure(vehicle) == kept.structure:
            kept.theta[:] = parameter_vector(vehicle, kept.structure)
            self._know_drag(vehicle)
            return
        self._load(vehicle)
        self._filter.state[:], self._filter.disturbances[:] = kept.state, kept.disturbances
        self._filter.covariance[:] = kept.covariance

    def set_doubt(self, doubt: tuple[float, float, float, float] | None) -> None:
        """How the model errs from now on: fast, translations (m/s²) and rotations (rad/s²), then force and moment.

        None: as the settings have it.
        """
        self._doubt = doubt
        self._filter.process[:] = self._process()

    def go_on(self, odometry: Odometry, wrench: Array, current_mps: Array) -> None:
        """With another body, of which state, wrench (6) and current (3) are known as well as of the last one."""
        covariance = self._filter.covariance.copy()
        self.reset(odometry)
        self._filter.covariance[:] = covariance
        self._filter.disturbances[:6], self._filter.disturbances[6:] = wrench, current_mps
        self._hand_out()

    def explain(self, wrench: Array) -> None:
        """A new description accounts for this part of the wrench (6): it is no longer unexplained."""
        self._filter.disturbances[:6] -= wrench
        self._hand_out()

    def reset(self, odometry: Odometry) -> None:
        """Start anew from one measurement."""
        self._position_noise.clear()
        self._reset_s, self._count, self._to_confirm = odometry.stamp_s, 0, 0
        self._first_m = [odometry.state[POSITION]]  # the first positions, until it is clear whether they scatter
        self._start(odometry)

    def _start(self, odometry: Odometry) -> None:
        self._filter.covariance[:] = np.diag(np.concatenate([self._measurement, self._unknown])).ravel()
        self._filter.state[:], self._filter.disturbances[:] = odometry.state, 0.0
        self._behind_m: Array | None = None  # what of a corrected map the estimate handed out has yet to follow
        self._gate.clear()
        self._hand_out()
        self._beside_m = np.zeros(3)  # the last measured position, from the estimate that had taken it in
        self._corrected_s = odometry.stamp_s

    def _hand_out(self) -> None:
        """Copies of the estimate: the filter writes on in place."""
        self._hand_out_state()
        disturbances = self._filter.disturbances.copy()
        self.wrench = disturbances[:6]  # what the model misses (body)
        self.current = disturbances[6:]  # the water's motion (NED)

    def _hand_out_state(self) -> None:
        self.state = self._filter.state.copy()
        if self._behind_m is not None:
            self.state[POSITION] += self._behind_m
        self._sigma_m: float | None = None

    def step(self, state: Array, force_N: Array, segment: Segment) -> tuple[Array, Array]:
        """The model's next state under the estimated disturbances, and the thrusters' force (n,) by then."""
        return self._filter.step(state, force_N, segment)

    def predict(self, force_N: Array, segment: Segment) -> Array:
        """Move the estimate on; from the thrusters' force (n,) at the beginning to that at the end."""
        force_N = self._filter.predict(force_N, segment)
        if self._behind_m is not None:
            self._follow_map(segment.duration_s)
        self._hand_out_state()
        return force_N

    def correct(self, odometry: Odometry) -> None:
        """Take in a measurement of the whole state, but for parts of it that cannot be true."""
        f = self._filter
        self._doubt_position(odometry)
        if self._count % WINDOW == 0:
            self._gate.expect_scatter(float(self._position_noise.scatter_m().max()))
        self._gate.fill(f.gate, odometry.stamp_s - self._corrected_s)
        self._corrected_s = odometry.stamp_s
        left_out = f.correct(odometry.state)
        if left_out and (self._to_confirm > 0 or self._count <= CONFIRMED):  # either may be the outlier
            self.surprises = (Surprise(0, math.hypot(*f.residual[:3].tolist()), believed=False),)
            self._start(odometry)
            self._to_confirm = CONFIRMED
            return
        if abs(f.disturbances[DOWN_CURRENT]) >= f.believed[DOWN_CURRENT]:
            self._weigh()
        self._to_confirm = max(0, self._to_confirm - 1)
        self._beside_m = odometry.state[POSITION] - f.state[POSITION]
        self.surprises = ()
        if left_out or self._gate.has_refused:
            self._believe_or_not(odometry.stamp_s)
        self._hand_out()

    def _weigh(self) -> None:
        """No water rises or sinks as fast as was estimated: the vehicle is heavier or lighter than described.

        A hull with much drag in heave hides hundreds of newtons of weight behind such a current. What the current
        explained becomes the wrench's, and the current starts anew without knowledge of the other errors.
        """
        f = self._filter
        turn, current = matrix(f.state[ATTITUDE]).T, f.disturbances[6:].copy()
        before_N = self._drag_N(f.state[VELOCITY] - turn @ current)
        current[2] = 0.0
        f.disturbances[:3] += before_N - self._drag_N(f.state[VELOCITY] - turn @ current)
        f.disturbances[6:] = current
        at, covariance = 12 + DOWN_CURRENT, self._covariance.reshape(SIZE, SIZE)
        covariance[at, :], covariance[:, at] = 0.0, 0.0
        covariance[at, at] = STILL_MPS**2

    def _know_drag(self, vehicle: Vehicle) -> None:
        damping = vehicle.linear_damping, vehicle.quadratic_damping
        self._linear, self._quadratic = (np.diag(d)[:3] for d in damping)

    def _drag_N(self, through_mps: Array) -> Array:
        """Force (3,) of the water, without the coupling between axes."""
        return -(self._linear + self._quadratic * np.abs(through_mps)) * through_mps

    def _believe_or_not(self, stamp_s: float) -> None:
        """What was left out of the last measurement, or before it."""
        self._gate.expect_scatter(float(self._position_noise.scatter_m().max()))
        judged = self._gate.judge(stamp_s, self._filter.taken, self._filter.residual)
        for block, _, move in judged:
            if move is not None:
                self._move(block, move)
        self.surprises = tuple(Surprise(b, math.hypot(*off.tolist()), m is not None) for b, off, m in judged)

    def _move(self, block: int, by: Array) -> None:
        """One block of the state, and nothing else: neither water nor weight has changed."""
        state = self._filter.state
        if block == ATTITUDE_BLOCK:
            half = by / 2  # a residual is twice the vector part of the quaternion between them
            state[ATTITUDE] = multiply(state[ATTITUDE], np.array([math.sqrt(max(0.0, 1 - float(half @ half))), *half]))
            return
        first = 3 * block if block == 0 else 3 * block + 1  # a quaternion has one number more than angles
        state[first : first + 3] += by
        if block == 0:
            self._beside_m = self._beside_m - by
            self._behind_m = -by if self._behind_m is None else self._behind_m - by

    def _follow_map(self, elapsed_s: float) -> None:
        """Towards the filter's own position: at a bounded speed, but a far one within seconds."""
        assert self._behind_m is not None
        length_m = math.hypot(*self._behind_m.tolist())
        step_m = max(self.settings.outliers.blend_mps, length_m / BLEND_S) * elapsed_s
        self._behind_m = None if step_m >= length_m else self._behind_m * (1 - step_m / length_m)

    def _doubt_position(self, odometry: Odometry) -> None:
        """A position that scatters far more than described is averaged along the way made good.

        After n measurements the mean's variance is R/n, which gives the next one its weight of 1/(n+1). The mean
        reaches back by the memory only, lest a small error of the measured velocity lead far away.
        """
        self._count += 1
        step_m = odometry.state[POSITION] - self._filter.state[POSITION] - self._beside_m
        sigma_m = self._position_noise.sigma_m(step_m)
        if self._count <= LEAST:
            self._first_m.append(odometry.state[POSITION])
            if sigma_m is not None:
                self._filter.state[POSITION] = np.mean(self._first_m, axis=0)
        variance = self._measurement[POSITION]
        if sigma_m is not None:
            variance = np.maximum(variance, sigma_m**2)
            memory = min(1.0, self.settings.scatter_memory_s / max(odometry.stamp_s - self._reset_s, 1e-9))
            covariance = self._covariance.reshape(SIZE, SIZE)
            for i in np.flatnonzero(sigma_m):  # rows and columns alike: correlations stay what they are
                scale = math.sqrt(variance[i] / max(1.0, self._count * memory) / covariance[i, i])
                covariance[i, :] *= scale
                covariance[:, i] *= scale
        self._filter.variance[POSITION] = variance

    @property
    def is_finite(self) -> bool:
        """Whether the estimate is made of numbers."""
        return all(map(math.isfinite, self._filter.state.tolist() + self._filter.disturbances.tolist()))

    @property
    def position_sigma_m(self) -> float:
        """How well the position is known, on the worst axis; not at all while the first ones disagree."""
        if self._to_confirm > 0:
            return math.inf
        if self._sigma_m is None:
            self._sigma_m = math.sqrt(self._covariance[: 3 * SIZE : SIZE + 1].max())
        return self._sigma_m

    @property
    def covariance(self) -> Array:
        """(21,21) of the errors: position, attitude, velocity, rate, wrench, current."""
        return self._covariance.reshape(SIZE, SIZE)


def _by_thrust(settings: EstimatorSettings, vehicle: Vehicle) -> EstimatorSettings:
    """With the wrench's wander in newtons, where it is given as a share of full thrust."""
    if settings.wrench_share == 0.0:
        return settings
    limits_N = np.maximum(vehicle.input_max_N, -vehicle.input_min_N)
    full = settings.wrench_share * (np.abs(vehicle.input_matrix) @ limits_N)  # (6,)
    return settings.model_copy(update={"force_N": float(full[:3].max()), "moment_Nm": float(full[3:].max())})
