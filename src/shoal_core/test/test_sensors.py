"""Odometry: noise, bias, rate, latency, seed."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from shoal.messages.state import ATTITUDE
from shoal.simulation.conditions import Sensors
from shoal.simulation.sensors import OdometrySensor
from vehicles_for_tests import random_state

EXACT = Sensors(position_std_m=0, attitude_std_deg=0, velocity_std_mps=0, rate_std_dps=0)


def sensor(seed: int = 0, **settings: object) -> OdometrySensor:
    return OdometrySensor(EXACT.model_copy(update=settings), np.random.default_rng(seed))


def measurements(s: OdometrySensor, state: np.ndarray, count: int) -> np.ndarray:
    rows = []
    for k in range(count):
        s.push(k * 0.1, state)
        newest = s.latest(k * 0.1)
        assert newest is not None
        rows.append(newest.state)
    return np.array(rows)


def test_an_exact_sensor_tells_the_truth() -> None:
    state = random_state(np.random.default_rng(1))
    np.testing.assert_allclose(measurements(sensor(), state, 3)[-1], state, atol=1e-15)


def test_noise_is_as_large_as_asked_and_white() -> None:
    state = random_state(np.random.default_rng(2))
    s = sensor(position_std_m=0.02, attitude_std_deg=0.5, velocity_std_mps=0.01, rate_std_dps=2.0)
    got = measurements(s, state, 4000)
    error = got - state
    for columns, std in ((slice(0, 3), 0.02), (slice(7, 10), 0.01), (slice(10, 13), np.deg2rad(2.0))):
        np.testing.assert_allclose(error[:, columns].std(axis=0), std, rtol=0.06)
        np.testing.assert_allclose(error[:, columns].mean(axis=0), 0, atol=4 * std / np.sqrt(4000))
    turned = Rotation.from_quat(state[[4, 5, 6, 3]]).inv() * Rotation.from_quat(got[:, [4, 5, 6, 3]])
    np.testing.assert_allclose(turned.as_rotvec(degrees=True).std(axis=0), 0.5, rtol=0.06)
    np.testing.assert_allclose(np.linalg.norm(got[:, ATTITUDE], axis=1), 1, atol=1e-12)
    everything = np.delete(error, np.s_[ATTITUDE], axis=1)
    assert np.abs((everything[1:] * everything[:-1]).mean(axis=0) / everything.var(axis=0)).max() < 0.08


def test_uniform_noise_stays_within_its_bounds() -> None:
    error = measurements(sensor(position_uniform_m=2.0), np.eye(13)[3], 4000)[:, :3]
    assert 1.99 < np.abs(error).max() <= 2.0
    np.testing.assert_allclose(error.std(axis=0), 2 / np.sqrt(3), rtol=0.05)


def test_bias_is_drawn_once_a_run() -> None:
    state = np.eye(13)[3]
    given = measurements(sensor(position_bias_m=(0.5, 0.0, -0.2)), state, 5)[:, :3]
    np.testing.assert_allclose(given, np.tile([0.5, 0.0, -0.2], (5, 1)))
    drawn = np.array([measurements(sensor(seed, position_bias_std_m=0.3), state, 2)[:, :3] for seed in range(300)])
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 1])
    np.testing.assert_allclose(drawn[:, 0].std(axis=0), 0.3, rtol=0.15)


def test_latency_delivers_later_with_the_original_stamp() -> None:
    s = sensor(latency_s=0.3)
    for k in range(20):
        t, state = k * 0.1, np.eye(13)[3].copy()
        state[0] = t
        s.push(t, state)
        newest = s.latest(t)
        if k < 3:
            assert newest is None, "nothing can have arrived yet"
        else:
            assert newest is not None
            assert abs(newest.stamp_s - (t - 0.3)) < 1e-9
            assert newest.position_m[0] == newest.stamp_s


def test_rate_limits_the_samples() -> None:
    s, state = sensor(rate_hz=5.0), np.eye(13)[3]
    stamps = set()
    for k in range(101):
        s.push(k * 0.05, state)
        newest = s.latest(k * 0.05)
        assert newest is not None
        stamps.add(round(newest.stamp_s, 6))
    assert stamps == {round(0.2 * k, 6) for k in range(26)}


def test_same_seed_same_noise_and_settings_do_not_shift_the_draws() -> None:
    state = random_state(np.random.default_rng(3))
    first, second = (measurements(sensor(9, position_std_m=0.1), state, 50) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    more = measurements(sensor(9, position_std_m=0.1, velocity_std_mps=0.5, position_uniform_m=0.0), state, 50)
    np.testing.assert_array_equal(first[:, :7], more[:, :7])
    assert np.abs(measurements(sensor(10, position_std_m=0.1), state, 50) - first).max() > 0.01


def test_a_measurement_does_not_change_afterwards() -> None:
    s, state = sensor(), np.eye(13)[3].copy()
    s.push(0.0, state)
    state[:] = 7.0  # the plant overwrites its state
    newest = s.latest(0.0)
    assert newest is not None
    np.testing.assert_array_equal(newest.state, np.eye(13)[3])
