"""How much positions scatter is found from their steps, and the estimate takes them for what they are."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.estimation.actuator_state import Segment
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.estimation.position_noise import LEAST, WINDOW, PositionNoiseMonitor
from shoal.messages.odometry import Odometry
from shoal.messages.state import POSITION, VELOCITY
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.functions import VehicleModel

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018")
LEVEL = np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)
PERIOD_S = 0.05


def steps(positions_m: np.ndarray) -> np.ndarray:
    return np.diff(positions_m, axis=0)


def test_scatter_is_the_noise_of_each_axis() -> None:
    rng = np.random.default_rng(0)
    true = np.array([2.0, 0.05, 0.5])
    scatter, found = PositionNoiseMonitor(0.2), []
    for step in steps(rng.standard_normal((3000, 3)) * true):
        found.append(scatter.sigma_m(step))
    np.testing.assert_allclose(np.mean(found[WINDOW:], axis=0), [2.0, 0.0, 0.5], rtol=0.08)  # type: ignore[arg-type]


@pytest.mark.parametrize("jumps", [1, 5, 15])
def test_some_jumps_are_no_scatter(jumps: int) -> None:
    rng = np.random.default_rng(jumps)
    positions = 0.02 * rng.standard_normal((200, 3))
    for at in 20 + 2 * np.arange(jumps):
        positions[at:] += rng.uniform(-5, 5, 3)
    scatter = PositionNoiseMonitor(0.2)
    assert [scatter.sigma_m(step) for step in steps(positions)] == [None] * 199


def test_a_few_steps_are_enough_to_doubt_and_quiet_ones_restore_trust() -> None:
    scatter = PositionNoiseMonitor(0.2)
    first = [scatter.sigma_m(np.array([0.0, (-1) ** k * 3.0, 0.0])) for k in range(LEAST)]
    assert first[:-1] == [None] * (LEAST - 1)  # one or two outliers, for all that is known
    assert first[-1] is not None and first[-1][1] > 2.0 and first[-1][0] == first[-1][2] == 0.0
    for _ in range(WINDOW):
        scatter.sigma_m(np.full(3, 3.0))
    quiet = [scatter.sigma_m(np.zeros(3)) is None for _ in range(WINDOW)]
    assert quiet == sorted(quiet) and quiet.index(True) == WINDOW // 2  # half of them decide


def filtered(offsets_m: np.ndarray, velocity_off_mps: float = 0.0) -> tuple[StateEstimator, np.ndarray]:
    """A vehicle at rest, measured with these errors of its position and velocity; the estimate's errors."""
    thrust = VehicleModel(VEHICLE).trim()
    estimator = StateEstimator(VEHICLE, EstimatorSettings())
    rng, errors = np.random.default_rng(7), []
    for k, offset in enumerate(offsets_m):
        state = LEVEL.copy()
        state[POSITION] += offset
        state[VELOCITY] += velocity_off_mps + 0.01 * rng.standard_normal(3)
        odometry = Odometry(k * PERIOD_S, state)
        if k == 0:
            estimator.reset(odometry)
        else:
            estimator.predict(thrust, Segment.steady(thrust, PERIOD_S))
            estimator.correct(odometry)
        errors.append(estimator.state[POSITION] - LEVEL[POSITION])
    return estimator, np.array(errors)


def test_estimate_is_the_mean_of_scattered_positions() -> None:
    offsets = np.random.default_rng(1).uniform(-3, 3, (1200, 3))
    estimator, errors = filtered(offsets)
    for count in (20, 60, 200):  # the running mean is the best anyone could do
        np.testing.assert_allclose(errors[count - 1], offsets[:count].mean(axis=0), atol=0.35 * 1.73 / np.sqrt(count))
    assert np.sqrt((errors[600:] ** 2).mean()) < 0.13  # 300 in the memory: 1.73/√300 = 0.10
    assert 0.08 < estimator.position_sigma_m < 0.16
    assert np.linalg.eigvalsh(estimator.covariance).min() > 0


def test_velocity_that_is_off_leads_astray_by_the_memory_only() -> None:
    """2 cm/s for 15 s are 0.3 m, however long it goes on; a mean over everything would be 1.2 m off after 120 s."""
    offsets = np.random.default_rng(4).uniform(-3, 3, (2400, 3))
    _, errors = filtered(offsets, velocity_off_mps=0.02)
    np.testing.assert_allclose(errors[1200:].mean(axis=0), 0.3, atol=0.1)


@pytest.mark.parametrize("jump_m", [0.0, 2.0])
def test_what_does_not_scatter_is_filtered_as_ever(monkeypatch: pytest.MonkeyPatch, jump_m: float) -> None:
    """The same numbers to the last bit as with a filter that never doubts; a lasting jump is no reason to."""
    offsets = 0.02 * np.random.default_rng(3).standard_normal((300, 3))
    offsets[100:] += jump_m
    _, errors = filtered(offsets)
    assert np.linalg.norm(errors[-1] - jump_m) < 0.02 + 0.05 * jump_m
    sigma_m = PositionNoiseMonitor.sigma_m
    monkeypatch.setattr(PositionNoiseMonitor, "sigma_m", lambda self, step_m: sigma_m(self, step_m) and None)
    _, without = filtered(offsets)
    assert (errors == without).all()
