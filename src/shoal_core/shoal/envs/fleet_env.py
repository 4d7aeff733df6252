"""A fleet as a PettingZoo parallel environment: one agent per vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from shoal.envs.episode import REACH, EnvSettings, Episode

Observation = NDArray[np.float32]


class FleetEnv(ParallelEnv[str, Observation, Observation]):
    """Agents are the vehicles' names. Observations are VehicleEnv's and, for every other vehicle in the fleet's order,
    its position and velocity relative to the water in the own body frame (6 entries each, zero until measured).
    """

    metadata: dict[str, Any] = {"name": "shoal_fleet_v0", "render_modes": []}  # noqa: RUF012

    def __init__(self, fleet: str = "two", settings: EnvSettings | None = None, **changes: Any) -> None:
        """`changes` are fields of EnvSettings: path, condition, task, duration_s, …"""
        self._episode = Episode(fleet, settings or EnvSettings(**changes))
        self.possible_agents = list(self._episode.names)
        self.agents: list[str] = []
        self._observation = {
            name: spaces.Box(-REACH, REACH, (self._episode.size(name),), np.float32) for name in self.possible_agents
        }
        self._action = {
            name: spaces.Box(-1.0, 1.0, (self._episode.inputs(name),), np.float32) for name in self.possible_agents
        }
        self._rng = np.random.default_rng()
        self.render_mode = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self._observation[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self._action[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """A new episode with all vehicles."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        found = self._episode.reset(int(self._rng.integers(2**31)) if seed is None else seed)
        return _as_float32(found), {name: {} for name in self.agents}

    def step(
        self, actions: Mapping[str, Observation]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One control period of everybody; it is over for all at once."""
        found, rewards = self._episode.step({name: np.asarray(a, dtype=float) for name, a in actions.items()})
        over, late, names = bool(self._episode.failure), self._episode.truncated, list(self.agents)
        if over or late:
            self.agents = []
        infos = {name: {"t_s": self._episode.world.t_s, "failure": self._episode.failure} for name in names}
        return _as_float32(found), rewards, dict.fromkeys(names, over), dict.fromkeys(names, late), infos


def _as_float32(found: Mapping[str, NDArray[np.float64]]) -> dict[str, Observation]:
    return {name: values.astype(np.float32) for name, values in found.items()}
