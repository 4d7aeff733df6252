"""The agent never breaks down: faults in solver, odometry and plans are met as the gate says, and it comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from shoal.control.base import ControllerContext
from shoal.control.nmpc.controller import NmpcController
from shoal.control.settings import NmpcSettings, Ring
from shoal.fleet.agent import Agent
from shoal.fleet.agent_settings import AgentSettings, Timing
from shoal.fleet.overdrive import leads_of
from shoal.frames import yaw_of
from shoal.messages.directive import Directive
from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY, State
from shoal.messages.wording import log_line
from shoal.simulation.plant import Plant
from shoal.vehicles.description import load_vehicle

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6)
PERIOD_S = 0.05
HERE = Preview(np.zeros(1), np.array([[0.0, 0.0, 5.0]]), np.zeros((1, 3)), np.zeros(1))


def level(x: float = 0.0, y: float = 0.0, z: float = 5.0) -> np.ndarray:
    return State.at_rest((x, y, z)).array


def agent_of(timing: Timing, stopwatch: Callable[[], float] = lambda: 0.0) -> Agent:
    settings = NmpcSettings()
    controller = NmpcController(ControllerContext("a", VEHICLE, settings, settings.limits, timing.period_s, ("b",)))
    return Agent("a", VEHICLE, controller, AgentSettings(), timing, stopwatch, settings.limits.distance_hard_m)


class Loop:
    """One agent and the plant, with places to put faults."""

    def __init__(self, start: np.ndarray, clock: Callable[[], float] = lambda: 0.0, reference: Preview = HERE) -> None:
        self.agent = agent_of(Timing(PERIOD_S), clock)
        assert isinstance(self.agent.controller, NmpcController)
        self.controller = self.agent.controller
        self.plant = Plant([VEHICLE], start[None])
        self.directive, self.t_s = Directive("follow", reference), 0.0
        self.plans: dict[str, Plan] = {}
        self.modes: list[Mode] = []
        self.reasons: list[str] = []
        self.thrusts: list[np.ndarray] = []

    def run(self, seconds: float, odometry: Callable[[float, np.ndarray], Odometry | None] | None = None) -> Loop:
        for _ in range(round(seconds / PERIOD_S)):
            state = self.plant.states[0].copy()
            measured = odometry(self.t_s, state) if odometry else Odometry(self.t_s, state)
            command = self.agent.step(self.t_s, measured, self.directive, self.plans)
            assert np.isfinite(command.thrust_N).all()
            assert (np.abs(command.thrust_N) <= 16.6 + 1e-9).all()
            assert np.isfinite(command.plan.positions_m).all()
            self.modes.append(command.health.mode)
            self.reasons.append("; ".join(map(log_line, command.health.issues)))
            self.thrusts.append(command.thrust_N)
            self.plant.step(command.thrust_N[None], PERIOD_S)
            self.t_s += PERIOD_S
        return self

    def error_m(self) -> float:
        return float(np.linalg.norm(self.plant.states[0, POSITION] - self.directive.setpoint.positions_m[0]))


class Faulty:
    """Stands in front of the real back end and fails on demand."""

    def __init__(self, inner: object, fault: Callable[[], int | None]) -> None:
        self.inner, self.fault, self.name = inner, fault, "faulty"

    def iterate(self, max_iterations: int, tolerance: float) -> int:
        status = self.fault()
        return self.inner.iterate(max_iterations, tolerance) if status is None else status  # type: ignore[attr-defined]


def test_goes_to_its_place_and_stays() -> None:
    loop = Loop(level(1.0, -0.5, 4.5)).run(12.0)
    assert loop.error_m() < 0.01
    assert set(loop.modes) == {Mode.CONTROLLER}


@pytest.mark.parametrize("form", ["off", "root", "quartic"])
def test_stays_until_a_scattered_position_is_known(form: Literal["off", "root", "quartic"]) -> None:
    """±3 m: the mean takes seconds to be good to 0.3 m; until then neither place nor heading may change much."""
    rng = np.random.default_rng(5)
    loop = Loop(level(1.0))
    loop.controller.apply(loop.controller.settings.model_copy(update={"ring": Ring(form=form, radius_m=2.0)}))

    def scattered(t_s: float, state: np.ndarray) -> Odometry:
        return Odometry(t_s, state + np.r_[rng.uniform(-3, 3, 3), np.zeros(10)])

    loop.run(1.0, scattered)
    assert loop.agent.estimator.position_sigma_m > 0.3
    assert np.linalg.norm(loop.plant.states[0, POSITION] - [1.0, 0.0, 5.0]) < 0.3  # the first two steps knew no better
    assert abs(yaw_of(loop.plant.states[0, ATTITUDE])) < 0.2
    loop.run(14.0, scattered)
    assert loop.agent.estimator.position_sigma_m < 0.3
    distance = float(np.hypot(*loop.plant.states[0, :2]))  # of the middle, or the place itself
    assert abs(distance - (0.0 if form == "off" else 2.0)) < 0.4
    assert set(loop.modes) == {Mode.CONTROLLER}


@pytest.mark.parametrize("kind", ["raises", "nan", "status", "slow"])
def test_solver_faults_fall_back_and_recover(kind: str) -> None:
    clock = [0.0]
    loop = Loop(level(0.3), clock=lambda: clock[0])
    loop.run(3.0)
    failing = [False]

    def fault() -> int | None:
        if not failing[0]:
            return None
        if kind == "raises":
            raise RuntimeError("out of memory")
        if kind == "nan":
            loop.controller.nmpc.problem.x[:] = np.nan
            return 0
        if kind == "slow":
            clock[0] += 2.0
            return None
        return 2

    nmpc = loop.controller.nmpc
    nmpc.backend = Faulty(nmpc.backend, fault)
    failing[0] = True
    before = len(loop.modes)
    loop.run(3.0)
    faulty = loop.modes[before:]
    steps = round(1.0 / PERIOD_S)  # gate: the last plan for one second
    assert set(faulty[: steps - 1]) == {Mode.PREVIOUS_PLAN}
    assert set(faulty[steps + 1 :]) == {Mode.STATION_KEEPING}
    words = {"raises": "out of memory", "nan": "status", "status": "status 2", "slow": "2000 ms"}
    assert words[kind] in loop.reasons[before]
    assert loop.error_m() < 0.4  # station keeping holds it
    failing[0] = False
    before = len(loop.modes)
    loop.run(2.0)
    assert loop.modes[before] == Mode.CONTROLLER  # at once, from a cold solve
    loop.run(6.0)
    assert loop.error_m() < 0.02


def test_solver_killed_at_random_steps_stays_bounded() -> None:
    rng = np.random.default_rng(5)
    loop = Loop(level(0.5, 0.5))
    nmpc = loop.controller.nmpc

    def fault() -> int | None:
        draw = rng.uniform()
        if draw < 0.1:
            raise ValueError("killed")
        if draw < 0.2:
            nmpc.problem.u[:] = np.nan
            return 1
        return 3 if draw < 0.3 else None

    nmpc.backend = Faulty(nmpc.backend, fault)
    loop.run(20.0)
    assert Mode.PREVIOUS_PLAN in loop.modes
    assert loop.error_m() < 0.1


def test_odometry_that_cannot_be_is_refused() -> None:
    loop = Loop(level()).run(2.0)
    cases = {
        "not finite": lambda t, x: Odometry(t, np.where(np.arange(13) == 1, np.nan, x)),
        "length": lambda t, x: Odometry(t, np.where(np.arange(13) == 3, 0.5, x)),
        "5 m/s": lambda t, x: Odometry(t, np.where(np.arange(13) == 7, 50.0, x)),
        "old": lambda t, x: Odometry(t - 0.8, x),
        "future": lambda t, x: Odometry(t + 5.0, x),
        "no odometry": lambda t, x: None,
    }
    for word, source in cases.items():
        before = len(loop.modes)
        loop.run(0.2, source)
        assert word in loop.reasons[before], word
        assert loop.modes[before] == Mode.PREVIOUS_PLAN
        loop.run(1.0)
        assert loop.modes[-1] == Mode.CONTROLLER
    assert loop.error_m() < 0.05


def test_blind_ends_in_zero_thrust_and_recovers() -> None:
    loop = Loop(level(0.2)).run(2.0)
    loop.run(3.0, lambda t, x: None)
    assert loop.modes[-1] == Mode.ZERO_THRUST
    assert (loop.thrusts[-1] == 0).all()
    loop.run(10.0)
    assert loop.modes[-1] == Mode.CONTROLLER
    assert loop.error_m() < 0.02


def test_clock_jumping_back_starts_anew() -> None:
    loop = Loop(level(0.2)).run(5.0)
    loop.t_s = 1.0
    loop.run(5.0)
    assert set(loop.modes[-90:]) == {Mode.CONTROLLER}
    assert loop.error_m() < 0.02


def test_out_of_order_odometry_changes_nothing() -> None:
    loop = Loop(level(0.2)).run(3.0)
    state = loop.agent.estimator.state.copy()
    old = Odometry(loop.t_s - 0.3, level(9.0))
    loop.agent._sense(loop.t_s, old)
    np.testing.assert_array_equal(state, loop.agent.estimator.state)


def test_plans_of_nonsense_are_not_computed_with() -> None:
    loop = Loop(level(0.1))
    nan = np.full((3, 3), np.nan)
    loop.plans = {"b": Plan("b", 1, 0.0, np.array([0.0, 1.0, 2.0]), nan, nan)}
    loop.run(1.0)
    assert set(loop.modes) == {Mode.CONTROLLER}


def test_reference_of_nonsense_is_refused() -> None:
    bad = Preview(np.zeros(1), np.full((1, 3), np.nan), np.zeros((1, 3)))
    loop = Loop(level(), reference=bad).run(0.5)
    assert "reference" in loop.reasons[-1]
    assert loop.modes[-1] == Mode.STATION_KEEPING


def test_plan_is_what_happens() -> None:
    """The published plan is kept: two seconds later the vehicle is where the plan has it."""
    loop = Loop(level(1.5, 0.0, 5.0)).run(1.0)
    command = loop.agent.step(loop.t_s, Odometry(loop.t_s, loop.plant.states[0]), loop.directive, {})
    loop.plant.step(command.thrust_N[None], PERIOD_S)
    loop.t_s += PERIOD_S
    loop.run(1.0)
    planned = command.plan.at(np.array([loop.t_s]))[0]
    assert np.linalg.norm(planned - loop.plant.states[0, POSITION]) < 0.05


def test_settings_change_at_run_time() -> None:
    """A neighbour at 2.1 m is kept at 3 m as soon as the limit says so."""
    loop = Loop(level())
    loop.plans = {"b": Plan("b", 1, 1e9, np.array([0.0]), np.array([[2.1, 0.0, 5.0]]), np.zeros((1, 3)))}
    loop.run(4.0)
    assert abs(np.linalg.norm(loop.plant.states[0, POSITION] - [2.1, 0, 5]) - 2.1) < 0.05
    limits = loop.controller.settings.limits.model_copy(update={"distance_soft_m": 3.0})
    loop.controller.apply(loop.controller.settings.model_copy(update={"limits": limits}))
    loop.run(8.0)
    assert np.linalg.norm(loop.plant.states[0, POSITION] - [2.1, 0, 5]) > 2.9


@pytest.mark.parametrize("period_s", [0.02, 0.05, 0.1, 0.2])
def test_thrust_is_not_driven_past_what_was_wanted_before_it_is_seen(period_s: float) -> None:
    """The force that the lagging thrusters reach until the next command acts is at most the one that was asked for."""
    agent = agent_of(Timing(period_s, actuation_delay_s=period_s))
    lag_s = float(np.mean([t.time_constant_s for t in VEHICLE.thrusters]))
    asked = np.linalg.pinv(VEHICLE.input_matrix) @ np.array([10.0, 5.0, -8.0, 0.0, 0.0, 0.0])  # no moment
    leads = leads_of(agent.controller, agent._actuation, agent.settings.moment_lead, slow=False)
    command = agent._overdrive.command(np.zeros(8), asked, leads)
    factor = float(command @ asked / (asked @ asked))
    assert np.allclose(command, factor * asked)
    reached = factor * (1 - np.exp(-2 * period_s / lag_s))  # from rest, a period and the delay later
    assert factor >= 1.0 and reached <= 1.0 + 1e-9
    assert np.isclose(factor, 2.0) == (period_s <= 0.05)  # as wished, at a quick rate


def test_odometry_that_jumps_does_not_change_the_mass() -> None:
    """Nor does a positioning system that is off for a while."""
    loop = Loop(level(0.0, 0.0, 5.0)).run(3.0)

    def jumping(t_s: float, state: np.ndarray) -> Odometry:
        off = np.array([0.0, 2.0, 4.0]) * (4.0 <= t_s < 4.15 or 6.0 <= t_s < 8.0)
        return Odometry.of_parts(
            t_s, state[POSITION] + off, state[ATTITUDE].copy(), state[VELOCITY].copy(), state[RATE].copy()
        )

    loop.run(9.0, jumping)
    assert loop.agent.vehicle.mass_kg == VEHICLE.mass_kg
    assert loop.run(6.0).error_m() < 0.05
