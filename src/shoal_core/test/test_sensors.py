"""Odometry: noise, bias, rate, latency, seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from shoal.messages.state import ATTITUDE
from shoal.simulation.conditions import Sensors
from shoal.simulation.navigation_errors import Jumps, Outliers, Spells
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


def test_outliers_are_as_frequent_and_as_large_as_asked() -> None:
    s = sensor(outliers=Outliers(share=0.05, size_m=5.0))
    off_m = np.linalg.norm(measurements(s, np.eye(13)[3], 4000)[:, :3], axis=1)
    assert set(np.round(off_m, 9)) == {0.0, 5.0}
    assert abs(np.mean(off_m > 1.0) - 0.05) < 0.01


def test_outliers_of_a_burst_come_in_a_row_and_disagree() -> None:
    got = measurements(sensor(outliers=Outliers(share=0.01, size_m=5.0, burst=3)), np.eye(13)[3], 3000)[:, :3]
    far = np.linalg.norm(got, axis=1) > 1.0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], far, [False]])))
    lengths = edges[1::2] - edges[::2]
    assert len(lengths) > 10 and (lengths % 3 == 0).all()
    assert np.linalg.norm(np.diff(got[edges[0] : edges[0] + 3], axis=0), axis=1).min() > 0.5


def test_a_map_correction_steps_aside_and_back() -> None:
    s = sensor(jumps=Jumps(every_s=10.0, position_m=1.0, heading_deg=20.0))
    got = measurements(s, np.eye(13)[3], 400)
    steps = np.flatnonzero(np.linalg.norm(np.diff(got[:, :3], axis=0), axis=1) > 1e-9)
    np.testing.assert_array_equal(np.diff(steps), 100)  # 10 s apart
    np.testing.assert_allclose(np.linalg.norm(np.diff(got[:, :3], axis=0)[steps], axis=1), 1.0)
    np.testing.assert_array_equal(got[:, 2], 0.0)  # depth is measured by pressure
    yaw_deg = Rotation.from_quat(got[:, [4, 5, 6, 3]]).as_euler("ZYX", degrees=True)[:, 0]
    assert set(np.round(np.abs(yaw_deg), 6)) == {0.0, 20.0}
    np.testing.assert_array_equal(np.flatnonzero(np.abs(np.diff(yaw_deg)) > 1e-6), steps)


def test_drift_goes_one_way_and_a_walk_grows_with_the_root_of_time() -> None:
    got = measurements(sensor(position_drift_mps=0.02), np.eye(13)[3], 101)[:, :3]
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 0.02 * 0.1 * np.arange(101), atol=1e-12)
    ends = np.array([measurements(sensor(k, position_walk_m=0.1), np.eye(13)[3], 41)[-1, :3] for k in range(200)])
    np.testing.assert_allclose(ends.std(axis=0), 0.1 * np.sqrt(4.0), rtol=0.15)


@pytest.mark.parametrize(("kind", "stamps_go_on"), [("freezes", True), ("gaps", False)])
def test_a_frozen_sensor_repeats_itself_under_new_stamps_and_a_silent_one_does_not_speak(
    kind: str, stamps_go_on: bool
) -> None:
    s, stamps, xs = sensor(**{kind: Spells(every_s=5.0, lasting_s=1.0)}), [], []
    for k in range(200):
        state = np.eye(13)[3].copy()
        state[0] = k
        s.push(k * 0.1, state)
        newest = s.latest(k * 0.1)
        if newest is not None:
            stamps.append(newest.stamp_s)
            xs.append(newest.position_m[0])
    same = np.diff(xs) == 0
    assert 30 <= same.sum() <= 40  # four spells, one perhaps cut short
    assert (np.diff(stamps)[same] > 0).all() == stamps_go_on


def test_errors_of_navigation_do_not_shift_the_noise() -> None:
    state = random_state(np.random.default_rng(3))
    plain = measurements(sensor(9, position_std_m=0.1), state, 200)
    spoilt = measurements(sensor(9, position_std_m=0.1, outliers=Outliers(share=0.1), position_walk_m=0.0), state, 200)
    clean = np.linalg.norm((spoilt - plain)[:, :3], axis=1) < 1.0
    assert 150 < clean.sum() < 199
    np.testing.assert_array_equal(plain[clean], spoilt[clean])
    bursts = measurements(sensor(9, outliers=Outliers(share=0.1), jumps=Jumps(every_s=3.0, position_m=1.0)), state, 200)
    single = measurements(sensor(9, outliers=Outliers(share=0.1)), state, 200)
    off_m = np.linalg.norm((bursts - single)[:, :3], axis=1)  # the same outliers with and without jumps
    assert set(np.round(off_m, 9)) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (Outliers, {"size_m": 3.0}),
        (Outliers, {"burst": 2}),
        (Jumps, {"position_m": 1.0}),
        (Jumps, {"every_s": 5.0}),
        (Spells, {"lasting_s": 2.0}),
        (Spells, {"every_s": 1.0, "lasting_s": 1.0}),
    ],
)
def test_a_value_without_effect_is_refused(model: type, values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        model(**values)
