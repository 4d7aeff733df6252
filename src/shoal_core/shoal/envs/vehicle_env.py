"""One vehicle as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from shoal.envs.episode import REACH, EnvSettings, Episode
from shoal.errors import ShoalError
from shoal.messages.state import POSITION

Observation = NDArray[np.float32]


class VehicleEnv(gymnasium.Env[Observation, Observation]):
    """Follow the task's setpoint with one vehicle; the action is the thrust of each thruster, −1 to 1.

    Observation (17 + n,) in the body frame: setpoint's position and velocity (m, m/s), down, sine and cosine of the
    heading error, linear and angular velocity (m/s, rad/s), and the last action (n,).
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)

    def __init__(self, fleet: str = "one", settings: EnvSettings | None = None, **changes: Any) -> None:
        """`changes` are fields of EnvSettings: path, condition, task, duration_s, …"""
        self._episode = Episode(fleet, settings or EnvSettings(**changes))
        if len(self._episode.names) != 1:
            raise ShoalError(f"fleet '{fleet}' has {len(self._episode.names)} vehicles; expected one, or FleetEnv")
        (self._name,) = self._episode.names
        size, inputs = self._episode.size(self._name), self._episode.inputs(self._name)
        self.observation_space = gymnasium.spaces.Box(-REACH, REACH, (size,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (inputs,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start, water, plant and noise are drawn anew; the same seed gives the same episode."""
        super().reset(seed=seed)
        found = self._episode.reset(int(self.np_random.integers(2**31)) if seed is None else seed)
        return found[self._name].astype(np.float32), self._info()

    def step(self, action: Observation) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One control period."""
        found, rewards = self._episode.step({self._name: np.asarray(action, dtype=float)})
        over = bool(self._episode.failure)
        return found[self._name].astype(np.float32), rewards[self._name], over, self._episode.truncated, self._info()

    def _info(self) -> dict[str, Any]:
        world, (position, _, _) = self._episode.world, self._episode.setpoint(self._name)
        error_m = float(np.linalg.norm(world.states[0, POSITION] - position))
        return {"t_s": world.t_s, "error_m": error_m, "failure": self._episode.failure}
