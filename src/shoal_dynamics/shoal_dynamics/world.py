"""The simulated sea: the same plant, sensors and water as `shoal simulate`, stepped from outside. No ROS."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal.messages.odometry import Odometry
from shoal.simulation.scenario import RunSpec, Scenario, build_scenario
from shoal.simulation.water import Constant

Array = NDArray[np.float64]
LONGEST_S = 3600.0  # for which random currents are drawn; afterwards they hold


@dataclass(frozen=True)
class WorldSettings:
    """What decides a run."""

    fleet: str
    path: str = ""  # where its test will be; empty: vehicles start where the fleet file has them, in formation or not
    condition: str = "default"
    seed: int = 0
    control_period_s: float = 0.05


class World:
    """States of all vehicles and what they measure; `reset` begins the same run again."""

    def __init__(self, settings: WorldSettings) -> None:
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """As it was, noise included."""
        s = self.settings
        spec = RunSpec(
            path=s.path or "circle",
            fleet=s.fleet,
            condition=s.condition,
            seed=s.seed,
            duration_s=LONGEST_S,
            control_period_s=s.control_period_s,
        )
        self.scenario: Scenario = build_scenario(spec)
        self.fleet, self.condition = self.scenario.fleet, self.scenario.condition
        self.plant, self.sensors = self.scenario.plant, self.scenario.sensors
        if not s.path:
            self.plant.states[:] = [member.start_state() for member in self.fleet.vehicles]
        self._close: set[tuple[str, str]] = set()

    @property
    def t_s(self) -> float:
        return self.plant.t_s

    @property
    def names(self) -> tuple[str, ...]:
        return self.fleet.names

    @property
    def command_delay_s(self) -> float:
        """From odometry to the thrust that answers it."""
        return self.condition.control_delay_periods * self.settings.control_period_s

    def set_current(self, velocity_mps: Array) -> None:
        """The same everywhere from now on (NED), instead of the condition's."""
        self.plant.current = Constant(velocity_mps.tolist())

    def step(self, thrust_N: list[Array], duration_s: float) -> None:
        """Move everybody on; vehicles that the condition stops do not obey."""
        t_s, held = self.t_s, {}
        for stop in self.condition.stopped:
            if stop.vehicle < len(self.names) and stop.from_s <= t_s and (stop.to_s is None or t_s < stop.to_s):
                thrust_N[stop.vehicle] = np.zeros_like(thrust_N[stop.vehicle])
                if stop.mode == "hold":
                    held[stop.vehicle] = self.plant.states[stop.vehicle, :7].copy()
        self.plant.step(thrust_N, duration_s)
        for index, pose in held.items():
            self.plant.states[index, :7], self.plant.states[index, 7:] = pose, 0.0

    def measure(self) -> list[Odometry | None]:
        """Everybody's newest odometry; None: none has arrived yet. Once for each instant, or the noise differs."""
        t_s = self.t_s
        for sensor, state in zip(self.sensors, self.plant.states, strict=True):
            sensor.push(t_s, state)
        return [sensor.latest(t_s) for sensor in self.sensors]

    def collisions(self) -> list[str]:
        """Sentences about pairs that have come closer than the hard distance, or parted again, since the last call."""
        hard_m, news = self.fleet.distance.hard_m, []
        for (i, a), (j, b) in combinations(enumerate(self.names), 2):
            distance_m = float(np.linalg.norm(self.plant.states[i, :3] - self.plant.states[j, :3]))
            if distance_m < hard_m and (a, b) not in self._close:
                self._close.add((a, b))
                news.append(f"{a} and {b} are {distance_m:.2f} m apart at {self.t_s:.2f} s, closer than {hard_m:g} m")
            elif distance_m > 1.1 * hard_m and (a, b) in self._close:
                self._close.remove((a, b))
                news.append(f"{a} and {b} are clear of each other again at {self.t_s:.2f} s")
        return news
