"""Odometry that comes slowly, repeats itself, stops or is absurd: flown as far as it goes, and no further."""

from __future__ import annotations

import numpy as np
import pytest

from closed_loop import changed, figures, simulated
from shoal.estimation.ekf import StateEstimator
from shoal.fleet.gate import GateSettings
from shoal.fleet.odometry_watch import OdometryWatch
from shoal.messages.health import Code, Mode
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE
from swim import Swim, codes

LEVEL = np.array([0, 0, 5, 1, 0, 0, 0, 0.1, 0, 0, 0, 0, 0], dtype=float)


def watched(interval_s: float, latency_s: float = 0.0, count: int = 10) -> OdometryWatch:
    watch = OdometryWatch(GateSettings())
    for k in range(count):
        watch.see(k * interval_s + latency_s, Odometry(k * interval_s, LEVEL))
    return watch


@pytest.mark.parametrize(
    ("interval_s", "latency_s", "limit_s"),
    [(0.05, 0.0, 0.5), (0.2, 0.0, 0.5), (0.5, 0.0, 1.25), (1.0, 0.0, 2.5), (1.0, 0.3, 2.8), (4.0, 0.0, 3.0)],
)
def test_as_old_as_a_few_usual_intervals(interval_s: float, latency_s: float, limit_s: float) -> None:
    watch = watched(interval_s, latency_s)
    assert abs(watch.age_limit_s - limit_s) < 1e-9
    assert bool(watch.issues()) == (interval_s > 0.25)
    assert abs(watch.thrust_share(9 * interval_s + latency_s) - min(1.0, (0.25 / interval_s) ** 0.5)) < 1e-9


def test_one_gap_is_no_habit() -> None:
    watch = watched(0.05)
    watch.see(5.0, Odometry(5.0, LEVEL))
    assert watch.age_limit_s == 0.5 and watch.interval_s < 0.06


def test_a_wait_costs_thrust_before_the_interval_is_known() -> None:
    watch = watched(1.0, count=1)
    assert watch.thrust_share(0.1) == 1.0 and abs(watch.thrust_share(1.0) - 0.5) < 1e-9


def test_a_moving_vehicle_that_measures_the_same_twice_is_frozen() -> None:
    watch, rest = watched(0.05), LEVEL.copy()
    rest[7:] = 0.0
    assert [watch.is_frozen(Odometry(t, LEVEL)) for t in (1.0, 1.05, 1.1)] == [False, True, True]
    assert not watch.is_frozen(Odometry(1.15, LEVEL + 1e-9))
    assert [watch.is_frozen(Odometry(t, rest)) for t in (1.2, 1.25)] == [False, False]  # it may lie still


@pytest.mark.parametrize("rate_hz", [1, 2])
def test_slow_odometry_is_flown(rate_hz: int) -> None:
    swim = Swim()

    def slow(s: Swim) -> Odometry | None:
        return s.odometry() if s.k % (20 // rate_hz) == 0 else None

    swim.run(3.0, slow)
    health = swim.run(8.0, slow, velocity_mps=(0.2, 0.0, 0.0))
    assert {h.mode for h in health} == {Mode.CONTROLLER}
    assert all(Code.ODOMETRY_SLOW in codes(h) for h in health)
    stopped = swim.run(6.0, lambda s: None)
    limit_s = 2.5 / rate_hz
    modes = np.array([h.mode for h in stopped])
    assert (modes[: round(20 * limit_s) - 21] == Mode.CONTROLLER).all()
    assert (modes[round(20 * max(limit_s, 1.5)) + 1 :] == Mode.ZERO_THRUST).all()  # 3 s at the very most


@pytest.mark.parametrize("path", ["circle", "torus"])
def test_limits_are_kept_at_one_hertz_in_waves(path: str) -> None:
    """Tumbles if the wrench of the last second is expected of the next one, too."""
    slow = changed("current_025_waves", sensors={"rate_hz": 1.0})
    found = figures(simulated(path, "fosso2023_two", slow, duration_s=15.0))
    assert found.fov_max_deg < 60 and found.distance_min_m > 1.5 and found.rmse_m < 0.25


def test_the_wrench_follows_slowly_when_odometry_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule is worth half of the error; without it the vehicle is thrown about by its own belief."""
    slow = changed("current_025_waves", sensors={"rate_hz": 1.0})
    with_rule = figures(simulated("circle", "fosso2023_two", slow, duration_s=15.0))
    monkeypatch.setattr(StateEstimator, "expect_interval", lambda self, interval_s: None)
    assert figures(simulated("circle", "fosso2023_two", slow, duration_s=15.0)).rmse_m > 1.5 * with_rule.rmse_m


def test_a_frozen_sensor_is_not_believed() -> None:
    swim = Swim()
    swim.run(3.0, velocity_mps=(0.2, 0.0, 0.0))
    kept = swim.odometry().state + 0.001
    kept[ATTITUDE] = swim.odometry().state[ATTITUDE]
    health = swim.run(3.0, lambda s: Odometry(s.t_s, kept), velocity_mps=(0.2, 0.0, 0.0))
    assert Code.ODOMETRY_FROZEN in codes(health[15]) and health[-1].mode is Mode.ZERO_THRUST
    health = swim.run(3.0, velocity_mps=(0.2, 0.0, 0.0))
    assert health[-1].mode is Mode.CONTROLLER and not codes(health[-1])


@pytest.mark.parametrize("absurd", ["future", "past", "nan", "attitude", "fast", "stamp"])
def test_one_absurd_message_changes_nothing_but_the_report(absurd: str) -> None:
    swim = Swim()
    swim.run(3.0)
    good = swim.odometry()
    state, stamp_s = good.state.copy(), good.stamp_s
    if absurd == "nan":
        state[2] = np.nan
    elif absurd == "attitude":
        state[ATTITUDE] = 0.0
    elif absurd == "fast":
        state[7] = 80.0
    else:
        stamp_s = {"future": stamp_s + 1000.0, "past": stamp_s - 1000.0, "stamp": np.nan}[absurd]
    bad = Odometry(stamp_s, state)
    health = swim.run(0.05, lambda s: bad) + swim.run(2.0)
    assert {h.mode for h in health} == {Mode.CONTROLLER} and swim.off_m() < 0.05
    if absurd != "past":
        assert any(codes(h) & {c for c in Code if c.name.startswith("ODOMETRY")} for h in health)
