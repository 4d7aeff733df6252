"""Lag and delay of the thrusters are found out while swimming, soon enough that nobody tumbles by a wrong belief."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from closed_loop import changed, figures
from shoal.codegen import load_library
from shoal.control.registry import ControllerFile, load_controller_file
from shoal.estimation import timing_bank
from shoal.estimation.timing_bank import TimingBank, TimingBankSettings, TimingEstimate
from shoal.estimation.timing_scores import SOURCE, CompiledScores, NumpyScores, TimingScores, make_scores
from shoal.fleet.actuation import Actuation
from shoal.frames import rotation_matrix
from shoal.messages.health import Code, Health
from shoal.messages.odometry import Odometry
from shoal.messages.state import ATTITUDE, RATE, State
from shoal.simulation.conditions import Condition
from shoal.simulation.plant import Plant
from shoal.tasks.run import Run, RunSpec, build_run
from shoal.vehicles.description import load_vehicle

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6)
PERIOD_S = 0.05
GYRO = np.radians(0.5)


# -- whole runs -----------------------------------------------------------------------------------------------------


def controller(enabled: bool) -> ControllerFile:
    return load_controller_file("nmpc").model_copy(update={"runtime": {"agent": {"timing": {"enabled": enabled}}}})


def timing(
    lag_s: float, believed_lag_s: float, delay: int, believed_delay: int, name: str = "default", **more: Any
) -> Condition:
    """True and believed; delays in control periods."""
    plant = {"thrusters": {"lag": {"replace": lag_s}}}
    model = {"thruster_lag": {"replace": believed_lag_s}, "control_delay_periods": believed_delay}
    return changed(name, plant=plant, controller_model=model, control_delay_periods=delay, **more)


def tilt_deg(states: np.ndarray) -> np.ndarray:
    """(T,V) of states (T,V,13)."""
    down = rotation_matrix(states[:, :, ATTITUDE].reshape(-1, 4))[:, :, 2]
    return np.degrees(np.arctan2(np.hypot(down[:, 0], down[:, 1]), down[:, 2])).reshape(states.shape[:2])


class Trial:
    """One run, with what its agents believed."""

    def __init__(self, condition: Condition, seed: int, duration_s: float, enabled: bool = True, **more: Any) -> None:
        fleet = more.pop("fleet", "fosso2023_two")
        spec = RunSpec("circle", fleet, condition, seed, controller(enabled), duration_s=duration_s, **more)
        self.run: Run = build_run(spec)
        world, runtimes = self.run.simulator.world, self.run.simulator.runtimes.values()
        lags_s = [v.vehicle.thrusters[0].time_constant_s for v in world.plant.vehicles]
        self.true_s = np.array(lags_s) + world.command_delay_s  # (V,)
        believed, self.health = [], list[Health]()
        for _ in self.run.simulator.ticks():
            last = [runtime.last.health for runtime in runtimes if runtime.last is not None]
            believed.append([(h.thruster_lag_s or 0.0) + (h.actuation_delay_s or 0.0) for h in last])
            self.health = last
        self.believed_s = np.array(believed)  # (T,V)
        self.recording = self.run.recording()
        self.times_s = self.recording.times_s
        self.tilt_deg = tilt_deg(self.recording.states)


@pytest.mark.parametrize("delay", [0, 1])
def test_thrusters_without_lag_as_in_gazebo_oscillate_only_without_the_bank(delay: int) -> None:
    """Believed: 0.15 s of lag and one period of delay, as shipped."""
    condition = timing(0.0, 0.15, delay, 1)
    assert all(h.has(Code.OSCILLATION) for h in Trial(condition, 1, 6.0, enabled=False).health)
    trial = Trial(condition, 1, 15.0)
    assert not any(h.has(Code.OSCILLATION) for h in trial.health)
    assert trial.tilt_deg.max() < 30
    assert trial.tilt_deg[trial.times_s > 5].max() < 10
    assert figures(trial.recording).rmse_m < 0.02
    for health in trial.health:
        assert health.has(Code.TIMING_DIFFERS) and not health.has(Code.TIMING_AT_EDGE)
        assert health.thruster_lag_s == 0.0 and health.actuation_delay_s == pytest.approx(delay * 0.05)
        assert health.timing_certainty is not None and health.timing_certainty > 0.25  # 0.3 to 0.97 in 12 runs
    assert all(not h.has(Code.TIMING_DIFFERS) for h in Trial(condition, 1, 1.0, enabled=False).health)


CASES = [
    (0.4, 0.15, 5, 1, "default"),
    (0.3, 0.0, 3, 0, "default"),
    (0.05, 0.3, 6, 4, "default"),
    (0.0, 0.3, 0, 4, "default"),
    (0.3, 0.0, 6, 0, "current_025_waves"),
    (0.1, 0.3, 0, 4, "current_025_waves"),
]


@pytest.mark.parametrize(("lag_s", "believed_lag_s", "delay", "believed_delay", "name"), CASES)
def test_no_belief_tumbles_anybody(
    lag_s: float, believed_lag_s: float, delay: int, believed_delay: int, name: str
) -> None:
    trial = Trial(timing(lag_s, believed_lag_s, delay, believed_delay, name), 3, 12.0)
    result = figures(trial.recording)
    assert trial.tilt_deg.max() < 40 and not result.failed
    if name == "default":
        assert trial.tilt_deg[trial.times_s > 5].max() < 10


def test_thrust_that_acts_late_tilts_no_strong_vehicle_at_its_start() -> None:
    """The default fleet, whose thrusters give 40 N and more: 33° before their start was limited in newtons."""
    trial = Trial(timing(0.0, 0.0, 6, 1), 103, 2.0, fleet="two")
    assert trial.tilt_deg.max() < 30


def test_the_truth_is_found_within_a_second() -> None:
    """Total of lag and delay within 75 ms, for nine of ten vehicles with beliefs drawn at random, in waves as well."""
    rng = np.random.default_rng(5)
    close = []
    for seed in range(16):
        lag_s, believed_s = rng.choice([0.0, 0.05, 0.15, 0.3, 0.4]), rng.choice([0.0, 0.15, 0.3])
        name = ("default", "current_025_waves")[seed % 2]
        condition = timing(float(lag_s), float(believed_s), int(rng.integers(0, 7)), int(rng.integers(0, 5)), name)
        trial = Trial(condition, seed, 1.05)
        close += list(np.abs(trial.believed_s[round(1.0 / PERIOD_S)] - trial.true_s) < 0.0751)
    assert np.mean(close) >= 0.9


def test_quiet_water_does_not_make_it_drift() -> None:
    """A minute on station, timing as believed: the total stays within 75 ms of the truth, with hardly a switch."""
    condition = timing(0.15, 0.15, 1, 1)
    trial = Trial(condition, 2, 60.0, task="hold_station")
    late = trial.times_s > 5
    assert np.abs(trial.believed_s[late] - trial.true_s).max() < 0.0751
    assert np.count_nonzero(np.diff(trial.believed_s[late], axis=0)) <= 4
    assert not any(h.has(Code.TIMING_DIFFERS) for h in trial.health)


def test_late_odometry_under_a_fresh_stamp_is_a_delay_like_any_other() -> None:
    """0.2 s late: with the bank nobody tilts beyond 30 degrees after the first seconds, without it they tumble."""
    assert tilt_with_late_odometry(True) < 15
    assert tilt_with_late_odometry(False) > 40


def tilt_with_late_odometry(enabled: bool) -> float:
    """Largest after 3 s."""
    run = build_run(RunSpec("circle", "fosso2023_two", "default", 1, controller(enabled), duration_s=10.0))
    world, measured = run.simulator.world, list[Any]()
    honest = world.measure

    def late() -> Any:
        measured.append(honest())
        seen = measured[max(0, len(measured) - 5)]
        return {name: None if one is None else Odometry(world.t_s, one.state) for name, one in seen.items()}

    world.measure = late  # type: ignore[method-assign]
    run.simulator.run()
    recording = run.recording()
    return float(tilt_deg(recording.states)[recording.times_s > 3].max())


@pytest.mark.parametrize(("lag_s", "believed_s"), [(0.0, 0.3), (0.3, 0.0), (0.0, 0.15)])
@pytest.mark.parametrize("enabled", [True, False])
def test_ten_hertz_with_a_wrong_lag_raises_nothing(lag_s: float, believed_s: float, enabled: bool) -> None:
    """The estimate once ran away to not-a-number, and the mass adaptation with it out of the control step."""
    trial = Trial(timing(lag_s, believed_s, 1, 1), 1, 15.0, enabled, control_period_s=0.1)
    for thrust_N in trial.recording.thrust_N.values():
        assert np.isfinite(thrust_N).all()
    for runtime in trial.run.simulator.runtimes.values():
        assert runtime.agent.estimator.is_finite
    if enabled:
        assert trial.tilt_deg.max() < 45


# -- the bank alone -------------------------------------------------------------------------------------------------


def random_scores(kind: type[TimingScores], seed: int, *, alike: bool = True, count: int = 8) -> TimingScores:
    rng = np.random.default_rng(seed)
    lags, delays = np.meshgrid([0.0, 0.1, 0.3], [-0.1, 0.0, 0.05, 0.2], indexing="xy")
    lag_s, delay_s = lags.ravel(), delays.ravel()
    order = np.lexsort((lag_s, delay_s))
    prior = 0.1 * rng.uniform(size=len(order))
    found = kind(lag_s[order], delay_s[order], prior, count, GYRO, 8 * GYRO, (3.0, 0.6), 0.075)
    found.thrust_to_rate[:], found.wander[:] = rng.normal(size=(3, count)), rng.uniform(0.1, 1.0, 3)
    if not alike:
        found.ratio[:] = rng.uniform(0.0, 2.0, count)
    found.begin(rng.normal(size=3), rng.uniform(0.5, 2.0, 3))
    return found


@pytest.mark.parametrize(
    ("seed", "alike", "count"), [(0, True, 8), (1, True, 8), (2, True, 8), (3, False, 8), (4, False, 8), (5, True, 160)]
)
def test_machine_code_and_numpy_agree(seed: int, alike: bool, count: int) -> None:
    library = load_library(SOURCE)
    if library is None:
        pytest.skip("no C compiler")
    plain, fast = (random_scores(kind, seed, alike=alike, count=count) for kind in (NumpyScores, CompiledScores))
    assert isinstance(fast, CompiledScores)
    fast.load(library)
    rng, t_s, stamp_s, current = np.random.default_rng(100 + seed), 0.0, -0.03, 4
    for _ in range(60):  # odometry and commands at uneven times, several or none between two
        step_s, age_s = rng.uniform(0.02, 0.15), rng.uniform(0.0, 0.03)
        for _ in range(rng.integers(0, 4)):
            command, given_s = rng.uniform(-9, 9, count), t_s + rng.uniform(0, step_s)
            plain.command(given_s, command)
            fast.command(given_s, command)
        t_s += step_s
        span = stamp_s, t_s - age_s, -0.02
        measured, drift = plain.rate[current] + 0.1 * rng.normal(size=3), rng.normal(size=3)
        found = plain.step(current, span, measured, drift)
        np.testing.assert_allclose(fast.step(current, span, measured, drift), found, rtol=1e-9, atol=1e-9)
        stamp_s, current = span[1], int(found[0])
    for name in ("force", "rate", "accel", "slow", "fast", "covariance", "informative"):
        np.testing.assert_allclose(getattr(fast, name), getattr(plain, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_more_commands_than_there_is_room_for() -> None:
    scores = random_scores(NumpyScores, 0)
    for k in range(2000):
        scores.command(0.01 * k, np.full(8, float(k)))
    assert scores.given <= len(scores.command_s)
    np.testing.assert_allclose(np.diff(scores.command_s[: scores.given]), 0.01)
    assert scores.command_N[scores.given - 1, 0] == 1999.0
    scores.command(19.95, np.zeros(8))  # the clock was wrong: later ones are void
    assert scores.command_s[scores.given - 1] == 19.95


class Bench:
    """A bank beside the plant, thrusters driven at random: nothing is controlled."""

    def __init__(
        self, lag_s: float, delay: int, configured: TimingEstimate, age_s: float = 0.0, **settings: Any
    ) -> None:
        self.bank = TimingBank(VEHICLE, configured, 0.5, TimingBankSettings(**settings))
        self.true = TimingEstimate(lag_s, delay * PERIOD_S)
        thrusters = tuple(replace_lag(t, lag_s) for t in VEHICLE.thrusters)
        self.plant = Plant([type(VEHICLE)(**{**vars(VEHICLE), "thrusters": thrusters})], level()[None])
        self.waiting = [np.zeros(8)] * delay
        self.rng, self.age_s, self.t_s = np.random.default_rng(3), age_s, 0.0
        self.switches, self.held, self.probed = 0, False, False

    def run(self, seconds: float, thrust_N: float = 4.0) -> TimingEstimate:
        for _ in range(round(seconds / PERIOD_S)):
            measured = self.plant.states[0].copy()
            measured[RATE] += GYRO * self.rng.standard_normal(3)
            stamp_s = self.t_s - self.age_s  # wrong by as much: the state is of now
            self.switches += self.bank.measure(self.t_s, stamp_s, measured, self.plant.states[0], np.zeros(3))
            command = thrust_N * self.rng.uniform(-1, 1, 8)
            if self.probed:
                command += self.bank.probe_N(self.t_s)
            self.bank.command(self.t_s, command)
            self.waiting.append(0 * command if self.held else command)
            self.plant.step(self.waiting.pop(0)[None], PERIOD_S)
            self.t_s += PERIOD_S
        return self.bank.estimate


def level() -> np.ndarray:
    return State.at_rest((0.0, 0.0, 5.0)).array


def replace_lag(thruster: Any, lag_s: float) -> Any:
    return type(thruster)(**{**vars(thruster), "time_constant_s": lag_s})


SHIPPED = TimingEstimate(0.15, 0.05)


@pytest.mark.parametrize(("lag_s", "delay"), [(0.0, 0), (0.0, 1), (0.15, 1), (0.1, 4), (0.3, 2), (0.4, 6)])
def test_lag_and_delay_are_told_from_each_other_when_there_is_motion(lag_s: float, delay: int) -> None:
    found = Bench(lag_s, delay, SHIPPED).run(3.0)
    assert found.lag_s == pytest.approx(lag_s, abs=0.051)
    assert found.delay_s == pytest.approx(delay * PERIOD_S, abs=0.051)
    assert found.total_s == pytest.approx(lag_s + delay * PERIOD_S, abs=0.051)
    assert found.certainty > (0.8 if lag_s < 0.2 else -1.0)  # a long lag blurs what is 0.1 s apart
    assert found.at_edge == (lag_s == 0.4)


def test_the_configured_pair_is_a_hypothesis_and_stays_when_it_is_right() -> None:
    bench = Bench(0.13, 1, TimingEstimate(0.13, 0.05))
    found = bench.run(5.0)
    assert (found.lag_s, found.delay_s) == (0.13, 0.05) and bench.switches == 0


def test_a_stamp_that_is_too_old_is_a_negative_delay_and_a_fresh_one_allows_none() -> None:
    old = Bench(0.15, 1, SHIPPED, age_s=0.15).run(4.0)
    assert old.delay_s == pytest.approx(0.05 - 0.15, abs=0.051)
    assert Bench(0.0, 0, SHIPPED).run(4.0).delay_s >= 0


def test_without_motion_nothing_is_learnt() -> None:
    bench = Bench(0.0, 0, SHIPPED)
    found = bench.run(20.0, thrust_N=0.0)
    assert (found.lag_s, found.delay_s) == (SHIPPED.lag_s, SHIPPED.delay_s)
    assert found.certainty < 0.3


@pytest.mark.parametrize("before_s", [0.0, 10.0])
def test_thrust_that_does_nothing_says_nothing_about_time(before_s: float) -> None:
    """A vehicle that is held, or whose thrusters are dead, is not one with a long lag."""
    bench = Bench(0.15, 1, SHIPPED)
    bench.run(before_s)
    bench.held = True
    found = bench.run(8.0)
    assert (found.lag_s, found.delay_s) == (SHIPPED.lag_s, SHIPPED.delay_s)
    bench.held = False
    assert bench.run(6.0).total_s == pytest.approx(0.2, abs=0.051)


def test_a_change_in_flight_is_followed() -> None:
    bench = Bench(0.15, 1, SHIPPED)
    bench.run(10.0)
    bench.waiting = [np.zeros(8)] * 5
    assert bench.run(2.0).total_s == pytest.approx(0.4, abs=0.051)


def test_no_lag_is_not_believed_at_the_start() -> None:
    settings = TimingBankSettings()
    bank = TimingBank(VEHICLE, TimingEstimate(0.0, 0.05), 0.5, settings)
    assert bank.estimate.lag_s == settings.least_start_lag_s > 0


def test_thrust_is_held_back_until_the_timing_is_confirmed() -> None:
    bench = Bench(0.15, 1, SHIPPED)
    assert bench.bank.thrust_share == pytest.approx(TimingBankSettings().start_share)
    bench.run(1.0)
    assert bench.bank.thrust_share == 1.0
    idle = Bench(0.15, 1, SHIPPED)
    idle.run(TimingBankSettings().start_s + 2 * PERIOD_S, thrust_N=0.0)  # nothing to learn from: not for ever
    assert idle.bank.thrust_share == 1.0


@pytest.mark.parametrize("limit_N", [16.6, 50.0])
def test_strong_thrusters_begin_no_harder_than_weak_ones(limit_N: float) -> None:
    """Of a delay of 0.3 s nothing is seen for so long: 60 % of a T200's thrust would have tilted it by 30°."""
    vehicle, period_s, wanted_N = VEHICLE.with_thrust_limit(limit_N), PERIOD_S, np.full(8, 40.0)
    actuation = Actuation(vehicle, SHIPPED, period_s, 2.0, 0.5, TimingBankSettings(probe_Nm=0.0))
    limits_N = -np.full(8, limit_N), np.full(8, limit_N)
    given_N = actuation.limited(0.0, wanted_N, *limits_N, 1.0, probe=True)
    assert given_N == pytest.approx(np.full(8, min(10.0, 0.6 * limit_N)))
    for k in range(14):  # nothing is learnt from standing still; after half a second it is at the limits' disposal
        actuation.learn(k * period_s, Odometry(k * period_s, level()), level(), np.zeros(3))
        given_N = actuation.limited(k * period_s, wanted_N, *limits_N, 1.0, probe=True)
    assert given_N == pytest.approx(np.minimum(wanted_N, limit_N))


def test_a_yaw_to_and_fro_shows_the_timing_and_nothing_else_moves() -> None:
    bench = Bench(0.15, 1, SHIPPED)
    bank, settings = bench.bank, TimingBankSettings()
    assert not bank.probe_N(0.0).any()  # before there is odometry
    bank.begin(0.0, np.zeros(3))
    times_s = settings.probe_s * (np.arange(40) + 0.5) / 40
    wrenches = np.array([VEHICLE.thrust_matrix @ bank.probe_N(float(t_s)) for t_s in times_s])
    np.testing.assert_allclose(wrenches[:, :5], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.abs(wrenches[:, 5]), settings.probe_Nm)
    rate = np.cumsum(wrenches[:, 5])
    assert rate[-1] == pytest.approx(0.0, abs=1e-9)  # and comes to rest
    assert np.sum(rate) == pytest.approx(0.0, abs=2.1 * settings.probe_Nm)  # where it began
    bench.run(1.0)
    assert bank.thrust_share == 1.0 and not bank.probe_N(bench.t_s).any()  # known: no more of it
    assert not TimingBank(VEHICLE, SHIPPED, 0.5, TimingBankSettings(probe_Nm=0.0)).probe_N(0.1).any()


@pytest.mark.parametrize(("lag_s", "delay"), [(0.0, 0), (0.1, 4), (0.3, 1)])
def test_the_probe_alone_shows_the_timing(lag_s: float, delay: int) -> None:
    """A vehicle that has nothing to do at its start would show nothing of it."""
    bench = Bench(lag_s, delay, SHIPPED)
    bench.probed = True
    assert bench.run(1.0, thrust_N=0.0).total_s == pytest.approx(lag_s + delay * PERIOD_S, abs=0.0751)


def test_the_clock_may_go_back() -> None:
    bench = Bench(0.0, 1, SHIPPED)
    found = bench.run(3.0)
    bench.bank.restart()
    bench.t_s = 0.0
    assert bench.bank.estimate.total_s == found.total_s  # what was found out stays
    assert bench.run(3.0).total_s == pytest.approx(0.05, abs=0.051)


def test_a_raft_of_twenty_has_machine_code_too() -> None:
    given = np.zeros(2), np.zeros(2), np.zeros(2), 160, GYRO, GYRO, (3.0, 0.6), 0.1
    assert isinstance(make_scores(*given), CompiledScores) or load_library(SOURCE) is None


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.estimation.timing_scores.load_library", lambda *_: None)
    given = np.zeros(2), np.zeros(2), np.zeros(2), 8, GYRO, GYRO, (3.0, 0.6), 0.1
    assert isinstance(make_scores(*given), NumpyScores)
    assert timing_bank.make_scores is make_scores
    assert Bench(0.0, 1, SHIPPED).run(1.5).total_s == pytest.approx(0.05, abs=0.051)
