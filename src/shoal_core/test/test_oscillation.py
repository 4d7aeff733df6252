"""A vehicle that swings is noticed and slowed down; one that manoeuvres or meets waves is not."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from shoal.campaigns.vary import varied
from shoal.estimation.ekf import EstimatorSettings, StateEstimator
from shoal.fleet.oscillation import OscillationSettings, OscillationWatch
from shoal.frames import rotation_matrix
from shoal.messages.health import Code
from shoal.tasks.run import RunSpec, build_run
from swim import VEHICLE

PERIOD_S = 0.05
GAZEBO = {  # thrusters without lag or delay, believed as shipped, and nothing that would estimate it
    "plant.thrusters.lag": {"replace": 0.0},
    "control_delay_periods": 0,
    "controller_model.control_delay_periods": 1,
    "runtime.agent.timing.enabled": False,
}


def watched(rates: np.ndarray, **settings: float) -> list[bool]:
    watch, estimator = OscillationWatch(OscillationSettings(**settings)), StateEstimator(VEHICLE, EstimatorSettings())
    slowed = []
    for k, value in enumerate(rates):
        watch.see(k * PERIOD_S, np.array([0.0, value, 0.0]), estimator)
        slowed.append(watch.slowed)
    return slowed


def times(duration_s: float) -> np.ndarray:
    return np.arange(0.0, duration_s, PERIOD_S)


@pytest.mark.parametrize("per_s", [8.0, 20.0, 62.0])
def test_swings_of_any_frequency_are_noticed(per_s: float) -> None:
    t = times(6.0)
    assert watched(0.5 * np.cos(per_s * t))[-1]
    assert not any(watched(0.2 * np.cos(per_s * t)))  # too small to matter


def test_a_manoeuvre_or_a_wave_is_no_oscillation() -> None:
    t = times(12.0)
    assert not any(watched(1.5 * np.sin(2 * t) * (t < np.pi)))  # turns and turns back
    assert not any(watched(np.where(t < 2.0, 0.0, 0.8)))  # turns on
    assert not any(watched(1.5 * np.sin(7 * (t % 2)) * np.exp(-3 * (t % 2))))  # pushed every 2 s, dies away


def test_full_bandwidth_returns_when_quiet_and_later_each_time() -> None:
    t = times(60.0)
    swings = np.where((t < 2.0) | ((t > 10.0) & (t < 12.0)), 0.5 * np.cos(20 * t), 0.0)
    slowed = np.array(watched(swings, quiet_s=5.0))
    changes = t[1:][np.diff(slowed.astype(int)) != 0]
    assert len(changes) == 4 and not slowed[-1]
    first_s, again_s = changes[1] - 2.0, changes[3] - 12.0
    assert 4.0 < first_s < 7.5 and 8.5 < again_s < 12.5


def test_the_estimate_is_slow_meanwhile_and_not_stuck_with_the_last_swing() -> None:
    watch, estimator = OscillationWatch(OscillationSettings()), StateEstimator(VEHICLE, EstimatorSettings())
    free = estimator._filter.process.copy()
    for k, t in enumerate(times(2.0)):
        estimator._filter.disturbances[4] = 10.0 * (-1) ** k  # what a dead-beat estimate does in a limit cycle
        estimator._hand_out()
        watch.see(t, np.array([0.0, 0.5 * (-1) ** k, 0.0]), estimator)
        if watch.slowed:
            break
    assert watch.slowed and abs(estimator.wrench[4]) < 3.0
    assert estimator._filter.process[16] < free[16] / 10
    for k in range(200):
        watch.see(2.0 + k * PERIOD_S, np.zeros(3), estimator)
    assert not watch.slowed and np.array_equal(estimator._filter.process, free)


@lru_cache(maxsize=8)
def swum(condition: str, gazebo: bool, enabled: bool = True) -> tuple[float, float, bool]:
    """In 15 s: largest tilt in degrees, change of thrust a period in N after 5 s, and whether it was reported."""
    spec = RunSpec("circle", "fosso2023_two", condition, 1, "nmpc", 15.0)
    if gazebo:
        spec = varied(spec, {**GAZEBO, "runtime.agent.oscillation.enabled": enabled})
    run, reported = build_run(spec), False
    for _ in run.simulator.ticks():
        last = [runtime.last for runtime in run.simulator.runtimes.values()]
        reported |= any(command is not None and command.health.has(Code.OSCILLATION) for command in last)
    recording = run.recording()
    down = rotation_matrix(recording.states[:, :, 3:7].reshape(-1, 4))[:, :, 2]
    tilt_deg = float(np.degrees(np.arccos(np.clip(down[:, 2], -1, 1)).max()))
    thrust_N = np.concatenate([recording.thrust_N[name][100:] for name in recording.names], axis=1)
    return tilt_deg, float(np.sqrt(np.mean(np.diff(thrust_N, axis=0) ** 2))), reported


def test_the_gazebo_case_is_calmed() -> None:
    tilt_deg, change_N, reported = swum("default", True)
    _, unwatched_N, unreported = swum("default", True, False)
    assert reported and not unreported
    assert tilt_deg < 30 and change_N < 0.6 * unwatched_N


@pytest.mark.parametrize("condition", ["default", "current_05_waves", "worst_case"])
def test_nothing_is_reported_where_nothing_is_wrong(condition: str) -> None:
    assert not swum(condition, False)[2]
