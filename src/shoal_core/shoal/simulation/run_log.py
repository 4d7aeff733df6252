"""What happens in a run, tick by tick, until it becomes a Recording."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.messages.command import Command
from shoal.messages.health import Health, Issue, Mode
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.messages.wording import sentence
from shoal.recordings.recording import HealthEvent, Recording
from shoal.simulation.water import still_water
from shoal.simulation.world import World
from shoal.vehicles.description import Vehicle
from shoal.vehicles.hull_points import hull_points_m

Array = NDArray[np.float64]
GUIDANCE = "guidance"  # whose events these are, among the vehicles'
PLAN_POINTS_S = np.linspace(0.0, 2.0, 11)  # offsets at which plans are recorded


class RunLog:
    """Arrays of a Recording, filled as the run goes."""

    def __init__(
        self,
        capacity: int,
        thrusters: Mapping[str, int],
        world: World,
        control_period_s: float,
        record_plans_every_s: float,
    ) -> None:
        count = len(world.names)
        self.capacity, self._world, self._rows = capacity, world, 0
        self._times = np.zeros(capacity)
        self._states, self._odometry = np.zeros((capacity, count, 13)), np.full((capacity, count, 13), np.nan)
        self._thrust = {name: np.zeros((capacity, n)) for name, n in thrusters.items()}
        self._current = np.zeros((capacity, count, 3))
        self._solve_ms, self._slack, self._age = (np.zeros((capacity, count)) for _ in range(3))
        self._timing_error = np.full((capacity, count), np.nan)
        self._true_s = _true_timing_s(world)
        self._mode = np.zeros((capacity, count), dtype=np.int8)
        self._every = max(1, round(record_plans_every_s / control_period_s))
        self._plan_times = np.zeros((capacity - 1) // self._every + 1)
        self._plans = np.zeros((len(self._plan_times), count, len(PLAN_POINTS_S), 3))
        self._reference, self._velocity = np.full((capacity, 3), np.nan), np.zeros((capacity, 3))
        self._setpoints = np.full((capacity, count, 3), np.nan)
        self._newest: tuple[Preview, Mapping[str, Preview]] | None = None  # reference, and everybody's setpoint
        self._sampled_rows = 0
        self._events: list[HealthEvent] = []
        self._last: dict[str, tuple[Mode, tuple[object, ...]]] = dict.fromkeys(world.names, (Mode.CONTROLLER, ()))
        self._issue_steps: dict[str, int] = {}

    def begin(self, k: int, t_s: float) -> None:
        """The world as it is at that instant."""
        self._rows = k + 1
        states = self._world.states
        self._times[k], self._states[k] = t_s, states
        if self._world.plant.current is not still_water:
            for i, state in enumerate(states):
                self._current[k, i] = self._world.current_at(t_s, state[POSITION])

    def vehicle(
        self,
        k: int,
        i: int,
        name: str,
        t_s: float,
        odometry: Odometry | None,
        command: Command | None,
        elapsed_ms: float,
    ) -> None:
        """What one vehicle measured and answered."""
        if odometry is not None:
            self._odometry[k, i] = odometry.state
        self._solve_ms[k, i] = elapsed_ms
        if command is None:
            return
        health = command.health
        self._thrust[name][k] = command.thrust_N
        self._slack[k, i], self._mode[k, i] = health.slack_soft, int(health.mode)
        if health.thruster_lag_s is not None and health.actuation_delay_s is not None:
            true_s = self._true_s[i] + self._world.faults.late_s(name, t_s)
            self._timing_error[k, i] = health.thruster_lag_s + health.actuation_delay_s - true_s
        self._age[k, i] = max(health.neighbour_age_s.values(), default=0.0)
        if k % self._every == 0:
            self._plan_times[k // self._every] = t_s
            self._plans[k // self._every, i] = command.plan.at(t_s + PLAN_POINTS_S)
        self._note(t_s, name, health)

    def _note(self, t_s: float, name: str, health: Health) -> None:
        """An event whenever the mode or the issues change."""
        state = (health.mode, tuple(issue.key for issue in health.issues))
        for issue in health.issues:
            text = sentence(issue)
            self._issue_steps[text] = self._issue_steps.get(text, 0) + 1
        if state != self._last[name]:
            self._last[name] = state
            self._events.append(HealthEvent(t_s, name, health.mode, health.issues))

    def guidance(self, t_s: float, issues: tuple[Issue, ...]) -> None:
        """What guidance has to say of its reference; an event whenever that changes."""
        state = (Mode.CONTROLLER, tuple(issue.key for issue in issues))
        if state != self._last.setdefault(GUIDANCE, (Mode.CONTROLLER, ())):
            self._last[GUIDANCE] = state
            self._events.append(HealthEvent(t_s, GUIDANCE, Mode.CONTROLLER, issues))

    def reference(self, t_s: float, reference: Preview, setpoints: Mapping[str, Preview]) -> None:
        """What guidance sent; it holds from the first instant not before it."""
        if self._newest is not None:  # the first one stands for what was before it as well
            self._sample(int(np.searchsorted(self._times[: self._rows], t_s - 1e-9)))
        self._newest = reference, setpoints

    def _sample(self, end: int) -> None:
        """Reference, its velocity and everybody's setpoint of the rows up to `end`, by the newest so far."""
        rows = slice(self._sampled_rows, end)
        self._sampled_rows = max(self._sampled_rows, end)
        if self._newest is None or rows.start >= end:
            return
        reference, setpoints = self._newest
        times = self._times[rows]
        at = reference.at(times)
        self._reference[rows], self._velocity[rows] = at.positions_m, at.velocities_mps
        for i, name in enumerate(self._world.names):
            self._setpoints[rows, i] = setpoints[name].at(times).positions_m

    def recording(self, placement: Placement | None) -> Recording:
        """Everything so far."""
        world, n = self._world, self._rows
        names, times = world.names, self._times[:n]
        self._finish_setpoints()
        plans = (n - 1) // self._every + 1
        index = {name: i for i, name in enumerate(names)}
        steps = max(1, n * len(names))
        return Recording(
            names=names,
            times_s=times,
            states=self._states[:n],
            odometry=self._odometry[:n],
            thrust_N={name: thrust[:n] for name, thrust in self._thrust.items()},
            reference_m=self._reference[:n],
            reference_velocity_mps=self._velocity[:n],
            setpoints_m=self._setpoints[:n],
            solve_ms=self._solve_ms[:n],
            mode=self._mode[:n],
            slack_max=self._slack[:n],
            neighbour_age_s=self._age[:n],
            current_mps=self._current[:n],
            timing_error_s=self._timing_error[:n],
            plan_times_s=self._plan_times[:plans],
            plans_m=self._plans[:plans],
            plan_dt_s=PLAN_POINTS_S.copy(),
            must_see=tuple((index[a], index[b]) for a, b in (placement.sight if placement else ())),
            limits=world.fleet.limits,
            thrust_bounds_N={m.name: _thrust_bounds_N(m.vehicle()) for m in world.fleet.vehicles},
            input_names={m.name: tuple(m.vehicle().input_names) for m in world.fleet.vehicles},
            hulls_m=_hulls_m(world),
            events=tuple(self._events),
            true_faults=world.faults.of_thrusters,
            issue_shares={text: count / steps for text, count in self._issue_steps.items()},
        )

    def _finish_setpoints(self) -> None:
        """Those of the last rows, of runs without any orders, and of vehicles that cannot choose their depth."""
        n = self._rows
        self._sample(n)
        if self._newest is None:  # no orders at all: everybody belongs where it began
            self._reference[:n] = self._states[0, :, POSITION].mean(axis=0)
            self._setpoints[:n] = self._states[0, :, POSITION]
        for i, member in enumerate(self._world.fleet.vehicles):
            if "heave" not in member.vehicle().controlled_axes:  # no depth is its own choice, nor its error
                self._setpoints[:n, i, 2] = self._states[:n, i, 2]


def _thrust_bounds_N(vehicle: Vehicle) -> Array:
    return np.stack([vehicle.thrust_min_N, vehicle.thrust_max_N])


def _hulls_m(world: World) -> dict[str, Array]:
    """Of those whose centre is not all there is to them; members of a group have a state, and so a centre, each."""
    points = {m.name: hull_points_m(m.vehicle()) for m in world.fleet.vehicles}
    return {name: hull for name, hull in points.items() if hull.any()}


def _true_timing_s(world: World) -> Array:
    """(V,) lag and delay of thrust; not-a-number where wrong stamps are part of the delay that is seen."""
    if world.condition.sensors.stamp_offset_s != 0:
        return np.full(len(world.names), np.nan)
    lags_s = [[t.time_constant_s for t in plant.vehicle.thrusters] or [np.nan] for plant in world.plant.vehicles]
    return np.array([np.mean(lag_s) for lag_s in lags_s]) + world.command_delay_s
