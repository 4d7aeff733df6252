"""One vehicle with the autopilot in its runtime, and its plant; noise is seeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.autopilot.autopilot import AutopilotController, AutopilotSettings
from shoal.control.base import ControllerContext
from shoal.fleet.agent import Timing
from shoal.fleet.runtime import Role, RuntimeSettings, VehicleRuntime
from shoal.frames import multiply
from shoal.messages.command import Command
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.pilot import PilotInput
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY, State
from shoal.simulation.plant import Plant
from shoal.vehicles.description import Vehicle
from vehicles_for_tests import shipped

PERIOD_S = 0.05
ROV = shipped("ng2024")
PLACE_M = np.array([0.0, 0.0, 20.0])
Pilot = Callable[[float], PilotInput | None]


class Piloted:
    """`run` with a pilot; each step is kept."""

    def __init__(self, settings: AutopilotSettings, vehicle: Vehicle = ROV, noise: float = 0.0, seed: int = 0) -> None:
        """`noise` 1: 5 mm, 0.25°, 5 mm/s and 0.25 °/s."""
        role = Role("rov", (), frozenset(), Limits())
        self.controller = AutopilotController(ControllerContext("rov", vehicle, settings, role.limits, PERIOD_S))
        self.runtime = VehicleRuntime(role, vehicle, self.controller, RuntimeSettings(), Timing(PERIOD_S), lambda: 0.0)
        self.plant = Plant([vehicle], State.at_rest(tuple(PLACE_M)).array[None])
        self._rng, self._noise = np.random.default_rng([seed, 41]), noise
        self.k, self.thrust_N = 0, np.zeros(vehicle.input_count)
        self.commands: list[Command] = []
        self.states: list[np.ndarray] = []
        self.wanted_N: list[np.ndarray] = []

    @property
    def t_s(self) -> float:
        return self.k * PERIOD_S

    @property
    def state(self) -> np.ndarray:
        return self.plant.states[0]

    def measured(self) -> Odometry:
        x, draws = self.state.copy(), self._noise * self._rng.standard_normal(12)
        x[POSITION] += 0.005 * draws[:3]
        x[VELOCITY] += 0.005 * draws[3:6]
        x[RATE] += np.radians(0.25) * draws[6:9]
        turn = np.concatenate([[1.0], np.radians(0.125) * draws[9:]])
        x[ATTITUDE] = multiply(x[ATTITUDE], turn / np.linalg.norm(turn))
        return Odometry(self.t_s, x)

    def run(self, seconds: float, pilot: Pilot = lambda _: None, references: bool = False) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            if (message := pilot(self.t_s)) is not None:
                self.controller.on_pilot(message)
            if references and self.k % 4 == 0:
                times = self.t_s + np.arange(0.0, 4.05, 0.1)
                here = np.tile(PLACE_M, (len(times), 1))
                self.runtime.on_reference(Preview(times, here, np.zeros_like(here), np.zeros(len(times))))
            self.runtime.on_odometry(self.measured(), self.t_s)
            command = self.runtime.tick(self.t_s)
            assert command is not None
            self.thrust_N = command.thrust_N
            self.commands.append(command)
            self.plant.step(self.thrust_N[None], PERIOD_S)
            self.states.append(self.state.copy())
            self.k += 1
