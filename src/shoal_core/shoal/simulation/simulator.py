"""The fleet simulator: plant, sensors, links and one agent per vehicle in lock step, deterministic for a seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal import __version__
from shoal.fleet.agent import Agent, Command
from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.recordings.recording import Limits, RunRecord
from shoal.simulation.scenario import RunSpec, Scenario, build_scenario
from shoal.simulation.water import still_water

Array = NDArray[np.float64]
PLAN_POINTS_S = np.linspace(0.0, 2.0, 11)  # offsets at which plans are recorded

__all__ = ["RunSpec", "simulate"]


class Controller(Protocol):
    """What the simulator drives; the Agent, or the baseline in its place."""

    def step(
        self,
        t_s: float,
        odometry: Odometry | None,
        neighbour_plans: Mapping[str, Plan],
        reference: Preview,
        places: Mapping[str, Preview] | None = None,
    ) -> Command:
        """One control period."""
        ...


def simulate(spec: RunSpec, progress: Callable[[float], None] | None = None) -> RunRecord:
    """One run; `progress` is told the share done."""
    scenario = build_scenario(spec)
    return FleetSimulator(scenario, make_controllers(scenario)).run(progress)


def make_controllers(scenario: Scenario) -> list[Controller]:
    """One per vehicle."""
    names = scenario.fleet.names
    sees = {n: frozenset(b for a, b in scenario.sight if a == n) for n in names}
    if scenario.spec.controller.startswith("dompc"):
        from shoal.baselines.dompc import make_baseline  # do-mpc is slow to import and seldom asked for

        return [make_baseline(scenario, i, sees[n]) for i, n in enumerate(names)]
    return [
        Agent(n, model, scenario.agent_settings, sees[n], clock=_stopped_clock)
        for n, model in zip(names, scenario.models, strict=True)
    ]


def _stopped_clock() -> float:
    """In lock step time stands still while a controller thinks: a busy machine must not change a run's result."""
    return 0.0


class FleetSimulator:
    """Steps everything by one control period at a time and writes down what happened."""

    def __init__(self, scenario: Scenario, controllers: list[Controller]) -> None:
        self.scenario, self.controllers = scenario, controllers
        self.names = scenario.fleet.names
        count = len(self.names)
        thrusters = len(scenario.models[0].thrusters)
        self._queue = [np.zeros((count, thrusters))] * scenario.condition.control_delay_periods
        self._events: list[tuple[float, str, str]] = []
        self._said = [Mode.NMPC.name.lower()] * count
        self._warned: dict[str, int] = {}
        steps = round(scenario.duration_s / scenario.spec.control_period_s)
        self._log = _Log(steps + 1, count, thrusters, scenario)
        self._wall_s = 0.0

    def run(self, progress: Callable[[float], None] | None = None) -> RunRecord:
        """To the end."""
        for k, share in enumerate(self.ticks()):
            if progress is not None and k % 20 == 0:
                progress(share)
        return self.record()

    def ticks(self) -> Iterator[float]:
        """One control period at a time, for those who run several loops side by side; yields the share done."""
        steps = len(self._log.times) - 1
        for k in range(steps + 1):
            started = time.perf_counter()
            self._tick(k, k * self.scenario.spec.control_period_s, self._log)
            self._wall_s += time.perf_counter() - started
            yield k / max(steps, 1)

    def record(self) -> RunRecord:
        """What happened so far."""
        return self._log.finish(tuple(self._events), self._wall_s, self._meta())

    def _tick(self, k: int, t_s: float, log: _Log) -> None:
        s = self.scenario
        states = s.plant.states
        commands = []
        for i, name in enumerate(self.names):
            s.sensors[i].push(t_s, states[i])
            odometry = s.sensors[i].latest(t_s)
            if k == 0:
                self._introduce(name, states)
            plans = s.link.receive(t_s, name)
            started = time.perf_counter()
            commands.append(self.controllers[i].step(t_s, odometry, plans, s.slots[name], s.slots))
            log.solve_ms[k, i] = (time.perf_counter() - started) * 1e3
            self._note(t_s, i, commands[i])
            log.vehicle(k, i, odometry, commands[i], t_s)
        log.world(k, t_s, states, s)
        for i, sender in enumerate(self.names):
            if not self._silent(i, t_s):
                for j, receiver in enumerate(self.names):
                    if i != j:
                        s.link.send(t_s, sender, receiver, commands[i].plan, states[i], states[j])
        self._move(t_s, np.array([c.thrust_N for c in commands]))

    def _introduce(self, receiver: str, states: Array) -> None:
        """The ready rule means they have been talking: everyone's start is known before the first step."""
        for i, name in enumerate(self.names):
            if name != receiver:
                plan = Plan(name, 0, 0.0, np.zeros(1), states[i : i + 1, POSITION].copy(), np.zeros((1, 3)))
                self.scenario.link.deliver(receiver, plan)

    def _move(self, t_s: float, thrust_N: Array) -> None:
        """Thrust acts after the control delay; vehicles that the condition stops do not obey."""
        plant = self.scenario.plant
        self._queue.append(thrust_N)
        acting = self._queue.pop(0).copy()
        held = {}
        for stop in self.scenario.condition.stopped:
            if stop.vehicle < len(self.names) and stop.from_s <= t_s and (stop.to_s is None or t_s < stop.to_s):
                acting[stop.vehicle] = 0.0
                if stop.mode == "hold":
                    held[stop.vehicle] = plant.states[stop.vehicle].copy()
        plant.step(acting, self.scenario.spec.control_period_s)
        for i, state in held.items():
            plant.states[i, :7], plant.states[i, 7:] = state[:7], 0.0

    def _silent(self, index: int, t_s: float) -> bool:
        return any(
            stop.silent and stop.vehicle == index and stop.from_s <= t_s and (stop.to_s is None or t_s < stop.to_s)
            for stop in self.scenario.condition.stopped
        )

    def _note(self, t_s: float, index: int, command: Command) -> None:
        """An event whenever the mode or what the controller says changes."""
        health = command.health
        mode = health.mode.name.lower()
        text = "; ".join([f"{mode}: {health.reason}" if health.reason else mode, *health.warnings])
        for warning in health.warnings:
            self._warned[warning] = self._warned.get(warning, 0) + 1
        if text != self._said[index]:
            self._said[index] = text
            self._events.append((t_s, self.names[index], text))

    def _meta(self) -> dict[str, Any]:
        spec, s = self.scenario.spec, self.scenario
        return {
            "path": spec.path,
            "fleet": s.fleet.name,
            "condition": s.condition.name,
            "seed": spec.seed,
            "controller": spec.controller,
            "control_period_s": spec.control_period_s,
            "version": __version__,
            "warnings": {text: count / (self._log.rows * len(self.names)) for text, count in self._warned.items()},
        }


class _Log:
    """Arrays of a RunRecord, filled as the run goes."""

    def __init__(self, rows: int, count: int, thrusters: int, scenario: Scenario) -> None:
        self._scenario = scenario
        self.rows = 0  # filled so far
        self.times = np.zeros(rows)
        self.states, self.odometry = np.zeros((rows, count, 13)), np.full((rows, count, 13), np.nan)
        self.thrust = np.zeros((rows, count, thrusters))
        self.current = np.zeros((rows, count, 3))
        self.solve_ms, self.slack, self.age = (np.zeros((rows, count)) for _ in range(3))
        self.mode = np.zeros((rows, count), dtype=np.int8)
        self._every = max(1, round(scenario.spec.record_plans_every_s / scenario.spec.control_period_s))
        kept = (rows - 1) // self._every + 1
        self.plan_times = np.zeros(kept)
        self.plans = np.zeros((kept, count, len(PLAN_POINTS_S), 3))

    def vehicle(self, k: int, i: int, odometry: Odometry | None, command: Command, t_s: float) -> None:
        health = command.health
        if odometry is not None:
            self.odometry[k, i] = odometry.state
        self.thrust[k, i] = command.thrust_N
        self.slack[k, i], self.mode[k, i] = health.slack_max, int(health.mode)
        self.age[k, i] = max(health.neighbour_age_s.values(), default=0.0)
        if k % self._every == 0:
            self.plan_times[k // self._every] = t_s
            self.plans[k // self._every, i] = command.plan.at(t_s + PLAN_POINTS_S)

    def world(self, k: int, t_s: float, states: Array, scenario: Scenario) -> None:
        self.rows = k + 1
        self.times[k], self.states[k] = t_s, states
        if scenario.plant.current is not still_water:
            for i, state in enumerate(states):
                self.current[k, i] = scenario.plant.current(t_s, state[POSITION])

    def finish(self, events: tuple[tuple[float, str, str], ...], wall_s: float, meta: dict[str, Any]) -> RunRecord:
        s, n = self._scenario, self.rows
        times = self.times[:n]
        slots = np.stack([s.slots[name].at(times).positions_m for name in s.fleet.names], axis=1)
        plans = (n - 1) // self._every + 1
        index = {name: i for i, name in enumerate(s.fleet.names)}
        return RunRecord(
            names=s.fleet.names,
            times_s=times,
            states=self.states[:n],
            odometry=self.odometry[:n],
            thrust_N=self.thrust[:n],
            reference_m=np.asarray(s.path.position(times)),
            reference_velocity_mps=np.asarray(s.path.velocity(times)),
            slots_m=slots,
            solve_ms=self.solve_ms[:n],
            mode=self.mode[:n],
            slack_max=self.slack[:n],
            neighbour_age_s=self.age[:n],
            current_mps=self.current[:n],
            plan_times_s=self.plan_times[:plans],
            plans_m=self.plans[:plans],
            plan_dt_s=PLAN_POINTS_S.copy(),
            must_see=tuple((index[a], index[b]) for a, b in s.sight),
            limits=Limits(
                s.fleet.sight.hard_deg, s.fleet.distance.hard_m, s.fleet.sight.soft_deg, s.fleet.distance.soft_m
            ),
            events=events,
            meta=meta | {"wall_s": wall_s},
        )
