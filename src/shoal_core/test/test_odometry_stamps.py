"""Stamps late, early or jittering: measurements are put where they belong, and nobody is blocked by a stamp."""

from __future__ import annotations

import math

import numpy as np
import pytest

from closed_loop import changed, figures
from shoal.estimation.odometry_stamps import StampCorrector
from shoal.frames import tilt_rad
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE
from shoal.simulation.conditions import Sensors
from shoal.simulation.sensors import OdometrySensor
from shoal.tasks.run import RunSpec, simulate

PERIOD_S = 0.05
LEVEL = np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=float)


def corrected(stamps_s: np.ndarray, arrivals_s: np.ndarray, tick_s: float = 0.0) -> np.ndarray:
    """Not-a-number for what is left out."""
    corrector = StampCorrector(tick_s)
    found = [corrector.correct(float(s), float(a)) for s, a in zip(stamps_s, arrivals_s, strict=True)]
    return np.array([math.nan if f is None else f for f in found])


def true_times(count: int = 400) -> np.ndarray:
    return PERIOD_S * np.arange(count)


@pytest.mark.parametrize("latency_s", [0.0, 0.02, 0.2])
def test_right_stamps_stay(latency_s: float) -> None:
    times_s = true_times()
    np.testing.assert_array_equal(corrected(times_s, times_s + latency_s), times_s)


def test_right_stamps_stay_when_messages_come_unevenly() -> None:
    """Late by up to three periods, in order: the arrivals jitter, not the stamps."""
    rng, times_s = np.random.default_rng(1), true_times()
    arrivals_s = np.maximum.accumulate(times_s + rng.uniform(0.0, 0.15, len(times_s)))
    np.testing.assert_array_equal(corrected(times_s, arrivals_s), times_s)


def test_one_that_was_overtaken_is_left_out() -> None:
    times_s = true_times(40)
    stamps_s = times_s.copy()
    stamps_s[[20, 21]] = stamps_s[[21, 20]]
    found = corrected(stamps_s, times_s + 0.06)
    assert np.isnan(found[21]) and np.isfinite(np.delete(found, 21)).all()
    assert math.isnan(corrected(np.array([1.0, 1.0]), np.array([1.0, 1.05]))[1])  # the same once more


@pytest.mark.parametrize("ahead_s", [0.05, 0.3, 0.6])
def test_stamps_ahead_of_the_clock_count_as_arrived_now(ahead_s: float) -> None:
    times_s = true_times()
    np.testing.assert_allclose(corrected(times_s + ahead_s, times_s), times_s, atol=1e-9)


def test_a_clock_that_ticks_coarsely_leaves_the_stamps() -> None:
    times_s = true_times()
    clock_s = np.floor(times_s / 0.1 + 1e-9) * 0.1 - 0.1  # and its message comes after the odometry
    np.testing.assert_array_equal(corrected(times_s, clock_s, tick_s=0.2), times_s)
    late = corrected(times_s + 0.3, times_s, tick_s=0.2)
    np.testing.assert_allclose(late, times_s, atol=1e-9)


@pytest.mark.parametrize("jitter_s", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("offset_s", [-0.3, 0.0, 0.3])
def test_jitter_is_taken_out_by_the_arrivals(jitter_s: float, offset_s: float) -> None:
    """After a second the intervals are those of the arrivals; what is constant stays, unless it is in the future."""
    rng, times_s = np.random.default_rng(2), true_times()
    stamps_s = times_s + offset_s + jitter_s * rng.uniform(-1, 1, len(times_s))
    found = corrected(stamps_s, times_s)
    settled = found[60:]
    assert np.isfinite(settled).all()
    np.testing.assert_allclose(np.diff(settled), PERIOD_S, atol=0.1 * jitter_s)
    assert np.all(np.diff(found[np.isfinite(found)]) > 0)
    wanted_s = times_s[60:] + min(offset_s, 0.0)
    assert np.abs(settled - wanted_s).max() < 0.25 * jitter_s
    assert np.isfinite(found[:20]).sum() >= 8  # nor is anybody blind at the start


@pytest.mark.parametrize("absurd_s", [0.7, -0.7, 5.0, -1e6, 1e6])
def test_one_absurd_stamp_does_no_harm(absurd_s: float) -> None:
    times_s = true_times()
    stamps_s = times_s.copy()
    stamps_s[200] += absurd_s
    found = corrected(stamps_s, times_s)
    rest = np.delete(np.arange(400), 200)
    assert np.nanmax(np.abs(found - times_s)[rest]) < 0.3 and np.isfinite(found[203:]).all()
    np.testing.assert_array_equal(found[240:], times_s[240:])


# -- the sensor -----------------------------------------------------------------------------------------------------


def test_the_sensors_stamps_are_wrong_as_asked_and_nothing_else_changes() -> None:
    def measured(**settings: float) -> list[Odometry]:
        sensor, found = OdometrySensor(Sensors(**settings), np.random.default_rng(3)), []
        for t_s in true_times(200):
            sensor.push(float(t_s), LEVEL)
            latest = sensor.latest(float(t_s))
            assert latest is not None  # it arrives when it arrives, whatever its stamp
            found.append(latest)
        return found

    plain, wrong = measured(), measured(stamp_offset_s=-0.2, stamp_jitter_s=0.1)
    np.testing.assert_array_equal([o.state for o in wrong], [o.state for o in plain])
    off_s = np.array([o.stamp_s for o in wrong]) - [o.stamp_s for o in plain]
    assert off_s.min() == pytest.approx(-0.3, abs=0.01) and off_s.max() == pytest.approx(-0.1, abs=0.01)
    assert off_s.mean() == pytest.approx(-0.2, abs=0.015)


# -- whole runs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("offset_s", "jitter_s"), [(-0.3, 0.0), (0.3, 0.0), (-0.1, 0.0), (0.0, 0.3), (0.0, 0.1)])
def test_no_stamp_costs_sight_or_balance(offset_s: float, jitter_s: float) -> None:
    condition = changed("default", sensors={"stamp_offset_s": offset_s, "stamp_jitter_s": jitter_s})
    recording = simulate(RunSpec("circle", "fosso2023_two", condition, 4, "nmpc", duration_s=15.0))
    honest = simulate(RunSpec("circle", "fosso2023_two", "default", 4, "nmpc", duration_s=15.0))
    tilts = [np.degrees([tilt_rad(q) for q in states[ATTITUDE].T]) for states in recording.states.transpose(1, 2, 0)]
    tilt_deg = np.array(tilts)
    assert tilt_deg.max() < 30 and tilt_deg[:, recording.times_s > 5].max() < 10
    found, known = figures(recording), figures(honest)
    assert not found.failed
    assert found.rmse_m < 1.2 * known.rmse_m + 0.002


def test_old_messages_in_between_do_not_make_good_stamps_uneven() -> None:
    """A second source, 0.3 s behind: taken for jitter, its positions would be believed."""
    corrector = StampCorrector()
    for t_s in true_times():
        assert corrector.correct(t_s, t_s) == pytest.approx(t_s)
        assert corrector.correct(t_s - 0.3, t_s) is None
