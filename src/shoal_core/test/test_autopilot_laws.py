"""Attitude laws on the six-degree-of-freedom model: Ng 2024's step facts, and the law that beats them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from shoal.autopilot.attitude import (
    ModelBasedLaw,
    PdLaw,
    WantedAttitude,
    attitude_error,
    body_from_euler_rates,
    euler_angles,
    righting_moment,
)
from shoal.autopilot.gains import attitude_gains, closed_loop
from shoal.autopilot.reference_filter import ReferenceFilter
from shoal.autopilot.step_response import (
    AttitudeLoop,
    LoopTiming,
    filtered_step_to,
    overshoot,
    settling_s,
    step_to,
)
from shoal.frames import from_euler
from vehicles_for_tests import shipped

ROV = shipped("ng2024")
QUARTER_TURN = np.array([0.0, 0.0, np.pi / 2])


def pd_step(omega: float, kappa: float, duration_s: float = 9.0):
    loop = AttitudeLoop(ROV, PdLaw(ROV, attitude_gains(ROV, omega, kappa)), LoopTiming())
    return loop.run(step_to(QUARTER_TURN), duration_s)


@pytest.mark.parametrize(
    ("omega", "kappa", "over_percent", "settled_s"),
    [
        (2, 0, 41.9, None),
        (3, 0, 19.1, None),
        (4, 0, 11.1, 2.10),
        (2, 20, 0.5, 2.62),
        (3, 20, 4.7, 1.20),
        (4, 20, 5.1, 1.28),
    ],
)
def test_the_yaw_steps_of_ng2024(omega: float, kappa: float, over_percent: float, settled_s: float | None) -> None:
    found = pd_step(omega, kappa)
    assert 100 * overshoot(found) == pytest.approx(over_percent, abs=1.0)
    if settled_s is not None:
        assert settling_s(found) == pytest.approx(settled_s, abs=0.1)


def test_without_additional_damping_it_swings_the_less_the_faster() -> None:
    swings = [overshoot(pd_step(omega, 0.0, 3.0)) for omega in (2.0, 3.0, 4.0)]
    assert swings[0] > swings[1] > swings[2] > 0.05


def test_the_linear_reference_is_critically_damped() -> None:
    numerator, denominator = closed_loop(ROV, 3.0)
    assert np.roots(denominator) == pytest.approx([-3.0, -3.0], abs=1e-6)
    times, step = signal.step((numerator, denominator), T=np.linspace(0, 6, 3001))
    outside = np.flatnonzero(np.abs(step - 1) > 0.05)
    assert times[outside[-1]] == pytest.approx(1.49, abs=0.02)  # research: LTI at 3 rad/s


@pytest.mark.parametrize("omega", [2.0, 3.0, 4.0])
@pytest.mark.parametrize(("latency_s", "lag_s"), [(0.02, 0.05), (0.04, 0.10), (0.06, 0.15)])
def test_the_model_based_law_follows_the_filter(omega: float, latency_s: float, lag_s: float) -> None:
    timing = LoopTiming(latency_s=latency_s, thruster_lag_s=lag_s)
    loop = AttitudeLoop(ROV, ModelBasedLaw(ROV, omega), timing, predict=True)
    found = loop.run(filtered_step_to(QUARTER_TURN, omega, latency_s + lag_s), 6.0)
    assert 100 * overshoot(found) <= 1.5
    ideal = ReferenceFilter(np.zeros(1), omega)
    k = 0
    while abs(ideal.value[0] - np.pi / 2) > 0.05 * np.pi / 2:
        ideal.step(np.array([np.pi / 2]), 0.01)
        k += 1
    assert settling_s(found) <= 0.01 * k + 0.1


def test_pitch_is_held_where_it_is_wanted() -> None:
    """Restoring moments fed forward at the wanted attitude: no steady error; without them 3 to 4°."""
    wanted = np.array([0.0, np.radians(20), 0.0])
    law = PdLaw(ROV, attitude_gains(ROV, 3.0))
    held = AttitudeLoop(ROV, law, LoopTiming()).run(step_to(wanted), 8.0)
    assert np.degrees(held.angles_rad[-1, 1]) == pytest.approx(20, abs=0.1)
    floating = PdLaw(_without_righting(), attitude_gains(ROV, 3.0))
    sagging = AttitudeLoop(ROV, floating, LoopTiming()).run(step_to(wanted), 8.0)
    assert np.degrees(sagging.angles_rad[-1, 1]) < 19


def test_errors_by_euler_angles_and_by_quaternions_agree_where_both_hold() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        angles = rng.uniform(-1, 1, 3) * [1.0, 1.0, 3.0]
        q = from_euler(*angles)
        assert euler_angles(q) == pytest.approx(angles, abs=1e-12)
        small = rng.normal(size=3) * 1e-4
        error = attitude_error(q, angles + small)
        assert error == pytest.approx(body_from_euler_rates(angles) @ small, abs=1e-7)
    steep = attitude_error(from_euler(0.0, 1.5, 0.2), np.array([0.0, 1.56, 0.2]))
    assert steep == pytest.approx([0, 0.06, 0], abs=1e-6)
    assert abs(attitude_error(from_euler(0, 0, np.radians(175)), np.array([0, 0, np.radians(-175)]))[2]) < 0.2


def test_the_righting_moment_rights() -> None:
    assert righting_moment(ROV, from_euler(np.radians(30), 0, 0))[0] == pytest.approx(-0.02 * 119.451 * 0.5)
    assert righting_moment(ROV, from_euler(0, np.radians(90), 0))[1] == pytest.approx(-0.02 * 119.451)


def test_the_filter_is_exact_and_goes_the_short_way_round() -> None:
    once, often = ReferenceFilter(np.array([3.0]), 2.0), ReferenceFilter(np.array([3.0]), 2.0)
    once.step(np.array([-3.0]), 1.0)
    for _ in range(100):
        often.step(np.array([-3.0]), 0.01)
    assert often.value == pytest.approx(once.value) and often.rate == pytest.approx(once.rate)
    assert once.value[0] > 3.0  # over ±180°, not back through zero
    behind = ReferenceFilter(np.array([0.1]), 2.0, angles=False)  # a target ½ a t² is caught up with, not trailed
    for k in range(1, 401):
        behind.step(np.array([0.25 * (k * 0.02) ** 2]), 0.02, 0.5 * k * 0.02, 0.5)
    assert behind.value[0] == pytest.approx(0.25 * 8.0**2, abs=1e-5) and abs(behind.acceleration[0] - 0.5) < 1e-5
    moving = WantedAttitude.at_rest(yaw_rad=1.0)
    assert moving.angles_rad[2] == 1.0


def _without_righting():
    from dataclasses import replace

    return replace(ROV, cb_m=np.zeros(3))
