"""Moving water: what each field promises."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.simulation.conditions import Environment, load_condition
from shoal.simulation.water import (
    GRAVITY_MPS2,
    Constant,
    Field,
    GaussMarkov,
    Square,
    Sum,
    Waves,
    build_current,
    still_water,
)

HERE = np.array([3.0, -2.0, 4.0])
EVERYTHING = {
    "currents": [
        {"kind": "constant", "velocity_mps": [0.1, 0.0, 0.0]},
        {"kind": "square", "amplitude_mps": [0.0, 0.0, 0.2], "half_period_s": 2.0},
        {"kind": "gauss_markov", "std_mps": [0.1, 0.1, 0.05], "time_constant_s": 10.0},
        {"kind": "waves", "amplitude_m": 0.3, "period_s": 6.0, "direction_deg": 30.0},
    ]
}


def everything(seed: int) -> Field:
    return build_current(Environment.model_validate(EVERYTHING), np.random.default_rng(seed), 60.0)


def test_still_water_is_known_as_such() -> None:
    assert build_current(Environment(), np.random.default_rng(0), 10.0) is still_water
    np.testing.assert_array_equal(still_water(3.0, HERE), np.zeros(3))


def test_square_waves_flip_every_half_period() -> None:
    field = Square((0.0, 0.0, 0.25), 2.0)
    times = np.arange(0, 12, 0.01)
    signs = np.sign(field.sample(times, HERE)[:, 2])
    np.testing.assert_array_equal(signs, np.repeat([1, -1, 1, -1, 1, -1], 200))
    assert np.abs(field.sample(times, HERE)).max() == 0.25
    for k in range(1, 6):  # times are sums of steps: one that is a switching instant but for rounding has switched
        almost = float(np.nextafter(2.0 * k, 0))
        np.testing.assert_array_equal(field(almost, HERE), field(2.0 * k, HERE))


def test_the_condition_of_fosso2023_has_its_current_and_waves() -> None:
    field = build_current(load_condition("current_025_waves").environment, np.random.default_rng(0), 10.0)
    np.testing.assert_allclose(field(1.0, HERE), [0.25, 0, 0.25])
    np.testing.assert_allclose(field(3.0, HERE), [0.25, 0, -0.25])


def test_gauss_markov_has_the_statistics_it_is_named_for() -> None:
    tau, std = 5.0, np.array([0.1, 0.05, 0.02])
    field = GaussMarkov((0.2, 0.0, -0.1), std, tau, 20_000.0, np.random.default_rng(1))
    step = 0.1
    x = field.sample(np.arange(0, 20_000, step), HERE)
    effective = 20_000 / (2 * tau)  # independent samples
    np.testing.assert_allclose(x.mean(axis=0), [0.2, 0.0, -0.1], atol=4 * 0.1 / np.sqrt(effective))
    np.testing.assert_allclose(x.std(axis=0), std, rtol=4 / np.sqrt(2 * effective))
    y = (x - x.mean(axis=0)) / x.std(axis=0)
    for lag_s in (1.0, 5.0, 10.0):
        k = round(lag_s / step)
        correlation = (y[:-k] * y[k:]).mean(axis=0)
        np.testing.assert_allclose(correlation, np.exp(-lag_s / tau), atol=0.07)
    assert np.abs(np.corrcoef(y.T) - np.eye(3)).max() < 0.1  # axes by themselves


def test_gauss_markov_starts_stationary_and_holds_its_end() -> None:
    fields = [GaussMarkov((0, 0, 0), (1, 1, 1), 10.0, 1.0, np.random.default_rng(s)) for s in range(300)]
    assert np.std([f(0.0, HERE) for f in fields]) == pytest.approx(1.0, abs=0.1)
    field = fields[0]
    np.testing.assert_array_equal(field(100.0, HERE), field.values_mps[-1])


def test_waves_are_linear_deep_water_waves() -> None:
    wave = Waves(amplitude_m=0.5, period_s=6.0, direction_rad=0.7, phase_rad=0.3)
    assert wave.wavenumber == pytest.approx((2 * np.pi / 6) ** 2 / GRAVITY_MPS2)
    times = np.linspace(0, 6, 50)
    speed = np.linalg.norm(wave.sample(times, HERE), axis=1)
    np.testing.assert_allclose(speed, 0.5 * 2 * np.pi / 6 * np.exp(-wave.wavenumber * 4.0))  # circles
    deeper = np.linalg.norm(wave(0.0, HERE + [0, 0, 3.0]))
    assert deeper / speed[0] == pytest.approx(np.exp(-3 * wave.wavenumber))
    h = 1e-5
    gradient = np.array([(wave(1.0, HERE + h * e) - wave(1.0, HERE - h * e)) / (2 * h) for e in np.eye(3)])
    assert np.trace(gradient) == pytest.approx(0, abs=1e-9)  # water is not compressed
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-9)  # nor does it turn
    length = 2 * np.pi / wave.wavenumber
    ahead = np.array([np.cos(0.7), np.sin(0.7), 0]) * length / 4
    np.testing.assert_allclose(wave(1.5, HERE + ahead), wave(0.0, HERE), atol=1e-12)  # the crest moves that way
    crest = wave(0.3 / wave.omega, np.array([0.0, 0.0, 0.0]))  # phase zero: elevation is largest
    np.testing.assert_allclose(crest, wave.speed_mps * np.array([np.cos(0.7), np.sin(0.7), 0]), atol=1e-12)
    np.testing.assert_array_equal(wave(0.0, np.array([0, 0, -1.0])), wave(0.0, np.zeros(3)))  # no growth above water


def test_sum_adds() -> None:
    parts = [Constant((0.1, 0.2, 0.3)), Square((1, 0, 0), 1.0)]
    np.testing.assert_allclose(Sum(parts)(1.5, HERE), [-0.9, 0.2, 0.3])


def test_the_water_does_not_depend_on_how_it_is_asked() -> None:
    times = np.arange(600) * 0.1
    at_once = everything(3).sample(times, HERE)
    field = everything(3)
    for k in np.random.default_rng(0).permutation(600):
        np.testing.assert_array_equal(field(float(times[k]), HERE), at_once[k])
    in_pieces = np.vstack([field.sample(piece, HERE) for piece in np.array_split(times, 70)])
    np.testing.assert_array_equal(in_pieces, at_once)
    assert np.abs(everything(4).sample(times, HERE) - at_once).max() > 0.05


def test_another_entry_leaves_the_first_ones_alone() -> None:
    shorter = {"currents": EVERYTHING["currents"][2:3]}
    longer = {"currents": EVERYTHING["currents"][2:4]}
    first = build_current(Environment.model_validate(shorter), np.random.default_rng(5), 60.0)
    both = build_current(Environment.model_validate(longer), np.random.default_rng(5), 60.0)
    assert isinstance(both, Sum)
    np.testing.assert_array_equal(first(7.0, HERE), both.fields[0](7.0, HERE))
