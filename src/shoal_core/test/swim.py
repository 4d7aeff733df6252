"""One runtime and its plant, for tests; every message can be kept back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.control.registry import load_controller_file
from shoal.fleet.agent_settings import Timing
from shoal.fleet.file import load_fleet
from shoal.fleet.placement import assign
from shoal.fleet.runtime import VehicleRuntime
from shoal.fleet.setup import load_role, make_runtime, runtime_settings, settings_of
from shoal.fleet.stop import StopLatch
from shoal.messages.command import Command
from shoal.messages.health import Code, Health
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import State
from shoal.simulation.plant import Plant
from shoal.vehicles.description import Vehicle

PERIOD_S = 0.05
FLEET = load_fleet("two")
NAME, OTHER = FLEET.names
CENTER_M = np.array([0.0, 0.0, 5.0])
STARTS_M = {m.name: np.array(m.start_m) for m in FLEET.vehicles}
PLACEMENT = assign(FLEET, FLEET.formation, STARTS_M, CENTER_M)
VEHICLE = FLEET.vehicles[0].vehicle()


def reference(t_s: float, velocity_mps: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Preview:
    """Four seconds, as guidance sends them; at `CENTER_M` at t = 0."""
    times = t_s + np.arange(0.0, 4.05, 0.1)
    velocities = np.tile(velocity_mps, (len(times), 1))
    return Preview(times, CENTER_M + times[:, None] * velocities, velocities, np.zeros(len(times)))


def standing(t_s: float) -> Plan:
    """Of the neighbour."""
    return Plan(OTHER, 1, t_s, np.array([t_s]), STARTS_M[OTHER][None], np.zeros((1, 3)))


class Swim:
    """A runtime and its plant; every message can be kept back."""

    def __init__(
        self,
        stopwatch: Callable[[], float] = lambda: 0.0,
        stop: StopLatch | None = None,
        coarse_clock: bool = False,
        **settings: float,
    ) -> None:
        file = load_controller_file("nmpc")
        self.runtime: VehicleRuntime = make_runtime(
            load_role(FLEET, NAME),
            VEHICLE,
            file,
            settings_of(file, FLEET),
            runtime_settings(file, settings),
            Timing(PERIOD_S),
            stopwatch,
            stop,
            coarse_clock,
        )
        self.start_with(VEHICLE, FLEET.vehicles[0].start_state())
        self.runtime.on_formation(PLACEMENT)
        self.t_s, self.k = 0.0, 0
        self.referred_s = -np.inf
        self.thrust_N = np.zeros(len(VEHICLE.thrusters))

    def start_with(self, vehicle: Vehicle, state: State) -> None:
        self.plant = Plant([vehicle], state.array[None])

    @property
    def state(self) -> State:
        return State(self.plant.states[0].copy())

    def odometry(self) -> Odometry:
        return Odometry(self.t_s, self.plant.states[0].copy())

    def run(
        self,
        seconds: float,
        measured: Callable[[Swim], Odometry | None] = odometry,
        velocity_mps: tuple[float, float, float] | None = (0.0, 0.0, 0.0),
        plans: bool = True,
    ) -> list[Health]:
        """`velocity_mps` of the reference; None: no references."""
        found = []
        for _ in range(round(seconds / PERIOD_S)):
            if velocity_mps is not None and self.t_s - self.referred_s > 0.2 - 1e-9:
                self.runtime.on_reference(reference(self.t_s, velocity_mps))
                self.referred_s = self.t_s
            if plans:
                self.runtime.on_plan(standing(self.t_s), self.t_s)
            if (odometry := measured(self)) is not None:
                self.runtime.on_odometry(odometry, self.t_s)
            command = self.runtime.tick(self.t_s)
            if command is not None:
                self.apply(command)
                found.append(command.health)
            self.plant.step(self.thrust_N[None], PERIOD_S)
            self.k += 1
            self.t_s = round(self.k * PERIOD_S, 9)
        return found

    def apply(self, command: Command) -> None:
        assert np.isfinite(command.thrust_N).all()
        self.thrust_N = command.thrust_N

    def off_m(self, place_m: np.ndarray | None = None) -> float:
        place = STARTS_M[NAME] if place_m is None else place_m
        return float(np.linalg.norm(self.state.position_m - place))


def codes(health: Health) -> set[Code]:
    return {issue.code for issue in health.issues}
