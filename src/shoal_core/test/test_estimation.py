"""The estimator finds current and wrench, stays consistent, and the thrust history knows what the thrusters do."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.estimation.actuator_state import ActuatorState, Segment
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, POSITION, TWIST, VELOCITY
from shoal.simulation.plant import Plant
from shoal.simulation.water import Constant
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.functions import VehicleModel

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018")
LEVEL = np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)


def noisy(t_s: float, x: np.ndarray, rng: np.random.Generator) -> Odometry:
    noise = rng.standard_normal(13) * np.repeat([0.02, 0.0, 0.01, 0.0087], [3, 4, 3, 3])
    q = x[ATTITUDE] + 0.0044 * rng.standard_normal(4)
    return Odometry.of_parts(
        t_s, x[POSITION] + noise[POSITION], q / np.linalg.norm(q), x[VELOCITY] + noise[VELOCITY], x[10:] + noise[10:]
    )


def run_filter(vehicle, plant: Plant, seconds: float, thrust: np.ndarray, seed: int = 0):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    estimator = StateEstimator(vehicle, EstimatorSettings())
    estimator.reset(noisy(0.0, plant.states[0], rng))
    errors = []
    for k in range(round(seconds / 0.05)):
        plant.step(thrust[None], 0.05)
        estimator.predict(thrust, Segment.steady(thrust, 0.05))
        estimator.correct(noisy((k + 1) * 0.05, plant.states[0], rng))
        errors.append(estimator.state - plant.states[0])
    return estimator, np.array(errors)


def still(vehicle, state: np.ndarray = LEVEL, **more) -> Plant:  # type: ignore[no-untyped-def]
    from dataclasses import replace

    ideal = replace(
        vehicle,
        thrusters=tuple(replace(t, time_constant_s=0.0, dead_band_N=0.0, curve=None) for t in vehicle.thrusters),
    )
    return Plant([ideal], state[None], **more)


def test_estimate_is_better_than_the_measurement() -> None:
    thrust = VehicleModel(VEHICLE).trim()
    _, errors = run_filter(VEHICLE, still(VEHICLE), 20.0, thrust)
    tail = errors[100:]
    assert tail[:, :3].std() < 0.5 * 0.02
    assert tail[:, VELOCITY].std() < 0.01
    assert abs(tail[:, :3].mean()) < 0.01


def test_disturbance_predicts_what_the_model_misses() -> None:
    """In a current, wrench and current together give, on average, the acceleration that a model without them lacks."""
    current, rng = np.array([0.4, -0.3, 0.0]), np.random.default_rng(0)
    model = VehicleModel(VEHICLE)
    thrust = model.trim()
    plant = still(VEHICLE, current=Constant(current.tolist()))
    estimator = StateEstimator(VEHICLE, EstimatorSettings())
    estimator.reset(noisy(0.0, plant.states[0], rng))
    with_estimate, without = [], []
    for k in range(40):
        plant.step(thrust[None], 0.05)
        estimator.predict(thrust, Segment.steady(thrust, 0.05))
        estimator.correct(noisy((k + 1) * 0.05, plant.states[0], rng))
        true = model.derivative(plant.states[0], thrust, current)[VELOCITY]
        args = [estimator.state, thrust, estimator.current, estimator.wrench, model.theta]
        with_estimate.append(true - np.array(model.ode(*args)).ravel()[VELOCITY])
        without.append(true - model.derivative(plant.states[0], thrust)[VELOCITY])
    missed = np.linalg.norm(np.mean(without[10:], axis=0))
    assert missed > 0.2  # m/s²: there is something to find
    assert np.linalg.norm(np.mean(with_estimate[10:], axis=0)) < 0.15 * missed


def test_wrong_weight_is_found_as_a_wrench() -> None:
    """A model twice as heavy is off by 112.8 N of weight; the wrench takes exactly that up."""
    thrust = VehicleModel(VEHICLE).trim()
    estimator, _ = run_filter(VEHICLE.scaled(mass=2.0), still(VEHICLE), 15.0, thrust)
    assert estimator.wrench[2] == pytest.approx(-VEHICLE.weight_N, abs=4.0)


def test_covariance_stays_symmetric_and_positive() -> None:
    estimator, _ = run_filter(VEHICLE, still(VEHICLE), 5.0, np.full(8, 1.0))
    p = estimator.covariance
    assert np.allclose(p, p.T)
    assert np.linalg.eigvalsh(p).min() > 0


def test_correction_equals_the_textbook_update() -> None:
    """Twelve scalar updates one after the other are the joint update (independent noise)."""
    rng = np.random.default_rng(3)
    estimator = StateEstimator(VEHICLE, EstimatorSettings())
    a = rng.standard_normal((21, 21))
    p = a @ a.T + np.eye(21)
    gap = 1e-3 * rng.standard_normal(12)  # small: the angles' innovation is exact to first order
    attitude = Odometry(0.0, np.array([0, 0, 0, 1, *(gap[3:6] / 2), 0, 0, 0, 0, 0, 0]))
    measured = Odometry.of_parts(0.0, gap[0:3], attitude.attitude, gap[6:9], gap[9:12])
    estimator._covariance[:] = p.ravel()
    estimator.correct(measured)
    gain = np.linalg.solve(p[:12, :12] + np.diag(estimator._measurement), p[:12]).T
    change = gain @ gap
    x, n = estimator.state, float(np.sqrt(1 + change[3:6] @ change[3:6] / 4))
    got = np.concatenate([x[POSITION], 2 * n * x[4:7], x[TWIST], estimator.wrench, estimator.current])
    np.testing.assert_allclose(got, change, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(estimator.covariance, p - gain @ p[:12], atol=1e-6)


def test_thrust_history_matches_the_differential_equation() -> None:
    history = ActuatorState(1, lag_s=0.15, delay_s=0.0)
    history.command(0.1, np.array([4.0]))
    history.command(0.33, np.array([-2.0]))
    pieces = history.segments(0.0, 0.7, 0.1)
    assert sum(p.duration_s for p in pieces) == pytest.approx(0.7)
    found, given = np.array([1.0]), 0.0
    for piece in pieces:
        given += piece.duration_s * piece.mean_N(found)[0]
        found = piece.end_N(found)
    force, impulse, dt = 1.0, 0.0, 1e-5
    for k in range(70_000):
        command = 0.0 if k * dt < 0.1 else (4.0 if k * dt < 0.33 else -2.0)
        force += dt * (command - force) / 0.15
        impulse += force * dt
    assert found[0] == pytest.approx(force, abs=1e-3)
    assert given == pytest.approx(impulse, abs=1e-3)


def test_a_later_command_overrules_one_not_yet_in_effect() -> None:
    history = ActuatorState(1, lag_s=0.0, delay_s=0.0)
    history.command(0.3, np.array([5.0]))
    history.command(0.2, np.array([1.0]))
    assert history.segments(0.25, 0.5, 1.0)[-1].end_N(np.zeros(1)) == 1.0
