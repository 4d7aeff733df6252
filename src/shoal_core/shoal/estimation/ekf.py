"""Error-state extended Kalman filter for the vehicle's state, the current and a constant wrench.

The wrench (body, 6) takes up whatever the model gets wrong, the current (NED, 3) what moves with the water: together
they make the controller free of steady offsets. Attitude errors are three small angles in the body frame.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.estimation.actuator_state import Segment
from shoal.estimation.kalman import SIZE, make_filter
from shoal.estimation.position_noise import PositionNoiseMonitor
from shoal.messages.odometry import Odometry
from shoal.messages.state import POSITION
from shoal.vehicles.description import Vehicle
from shoal.vehicles.parameters import parameter_vector, structure_of

Array = NDArray[np.float64]


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
        self._load(vehicle)
        self.reset(Odometry(0.0, np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)))

    def _load(self, vehicle: Vehicle) -> None:
        """The filter for a vehicle's structure and numbers."""
        structure, s = structure_of(vehicle), self.settings
        self._filter = f = make_filter(structure)
        f.theta[:], f.variance[:] = parameter_vector(vehicle, structure), self._measurement
        f.believed[:] = np.repeat([s.max_force_N, s.max_moment_Nm, s.max_current_mps], 3)
        f.process[:] = np.repeat(
            [0.0, 0.0, s.acceleration_mps2**2, s.angular_mps2**2, s.force_N**2, s.moment_Nm**2, s.current_mps**2], 3
        )
        self._covariance = f.covariance

    def set_vehicle(self, vehicle: Vehicle) -> None:
        """Another description; the state and what is known of it stay."""
        kept = self._filter
        if structure_of(vehicle) == kept.structure:
            kept.theta[:] = parameter_vector(vehicle, kept.structure)
            return
        self._load(vehicle)
        self._filter.state[:], self._filter.disturbances[:] = kept.state, kept.disturbances
        self._filter.covariance[:] = kept.covariance

    def explain(self, wrench: Array) -> None:
        """A new description accounts for this part of the wrench (6): it is no longer unexplained."""
        self._filter.disturbances[:6] -= wrench
        self._hand_out()

    def reset(self, odometry: Odometry) -> None:
        """Start anew from one measurement."""
        unknown = np.repeat([400.0, 4.0, 0.04], 3)  # 20 N, 2 N m, 0.2 m/s
        self._filter.covariance[:] = np.diag(np.concatenate([self._measurement, unknown])).ravel()
        self._filter.state[:], self._filter.disturbances[:] = odometry.state, 0.0
        self._hand_out()
        self._position_noise.clear()
        self._beside_m = np.zeros(3)  # the last measured position, from the estimate that had taken it in
        self._reset_s, self._count = odometry.stamp_s, 0

    def _hand_out(self) -> None:
        """Copies of the estimate: the filter writes on in place."""
        self.state = self._filter.state.copy()
        disturbances = self._filter.disturbances.copy()
        self.wrench = disturbances[:6]  # what the model misses (body)
        self.current = disturbances[6:]  # the water's motion (NED)
        self._sigma_m: float | None = None

    def step(self, state: Array, force_N: Array, segment: Segment) -> tuple[Array, Array]:
        """The model's next state under the estimated disturbances, and the thrusters' force (n,) by then."""
        return self._filter.step(state, force_N, segment)

    def predict(self, force_N: Array, segment: Segment) -> Array:
        """Move the estimate on; from the thrusters' force (n,) at the beginning to that at the end."""
        force_N = self._filter.predict(force_N, segment)
        self.state, self._sigma_m = self._filter.state.copy(), None
        return force_N

    def correct(self, odometry: Odometry) -> None:
        """Take in a measurement of the whole state."""
        self._doubt_position(odometry)
        self._filter.correct(odometry.state)
        self._hand_out()
        self._beside_m = odometry.state[POSITION] - self.state[POSITION]

    def _doubt_position(self, odometry: Odometry) -> None:
        """A position that scatters far more than described is averaged along the way made good.

        After n measurements the mean's variance is R/n, which gives the next one its weight of 1/(n+1). The mean
        reaches back by the memory only, lest a small error of the measured velocity lead far away.
        """
        self._count += 1
        sigma_m = self._position_noise.sigma_m(odometry.state[POSITION] - self.state[POSITION] - self._beside_m)
        variance = self._measurement[0:3]
        if sigma_m is not None:
            variance = np.maximum(variance, sigma_m**2)
            memory = min(1.0, self.settings.scatter_memory_s / max(odometry.stamp_s - self._reset_s, 1e-9))
            covariance = self._covariance.reshape(SIZE, SIZE)
            for i in np.flatnonzero(sigma_m):  # rows and columns alike: correlations stay what they are
                scale = math.sqrt(variance[i] / max(1.0, self._count * memory) / covariance[i, i])
                covariance[i, :] *= scale
                covariance[:, i] *= scale
        self._filter.variance[0:3] = variance

    @property
    def is_finite(self) -> bool:
        """Whether the estimate is made of numbers."""
        return all(map(math.isfinite, self._filter.state.tolist() + self._filter.disturbances.tolist()))

    @property
    def position_sigma_m(self) -> float:
        """How well the position is known, on the worst axis."""
        if self._sigma_m is None:
            self._sigma_m = math.sqrt(self._covariance[: 3 * SIZE : SIZE + 1].max())
        return self._sigma_m

    @property
    def covariance(self) -> Array:
        """(21,21) of the errors: position, attitude, velocity, rate, wrench, current."""
        return self._covariance.reshape(SIZE, SIZE)
