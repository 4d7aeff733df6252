"""Recovery: vehicles released at any attitude must regain sight and distance without help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.errors import ShoalError
from shoal.guidance.formation import Formation
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION, VELOCITY, State
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.simulator import Directing
from shoal.simulation.water import Constant
from shoal.simulation.water import Field as Water
from shoal.tasks.base import Task, TaskContext, TaskSettings
from shoal.tasks.directing import ScriptedDirector
from shoal.tasks.exchange import held_since_s

Array = NDArray[np.float64]
GOAL = "back within the soft limits"
CLOSE_ENOUGH_M = 0.05  # below the soft distance still counts as back: odometry noise of 2 cm on either side


class RecoverSettings(TaskSettings):
    """How they are thrown in."""

    depth_m: float = 8.0
    current_mps: float = Field(default=0.5, ge=0, description="from any side; half as much vertically")
    fastest_mps: float = Field(default=0.5, ge=0, description="of the vehicles at the start")
    nearest_m: float = Field(default=0.8, gt=0)
    farthest_m: float = Field(default=6.0, gt=0)
    duration_s: float = Field(default=30.0, gt=0)


class Recover(Task):
    """Two vehicles at any attitude, moving, in a current from anywhere; the fleet gathers around their middle."""

    Settings = RecoverSettings
    acquainted = False
    bounds: ClassVar[Mapping[str, float]] = {"tilt_max_deg": 180.0}  # they start at any attitude

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        if len(self.fleet.names) != 2:
            raise ShoalError(
                f"task recover: fleet '{self.fleet.name}' has {len(self.fleet.names)} vehicles; expected 2"
            )
        s, rng = self._settings, self.rng(77)
        self._middle_m = np.array([0.0, 0.0, s.depth_m]) + rng.uniform(-1, 1, 3)
        half = _direction(rng) * rng.uniform(s.nearest_m, s.farthest_m) / 2
        self._states = {}
        for name, side in zip(self.fleet.names, (1.0, -1.0), strict=True):
            state, q = np.zeros(13), rng.standard_normal(4)
            state[POSITION] = self._middle_m + side * half
            state[ATTITUDE] = q / np.linalg.norm(q)
            state[VELOCITY] = _direction(rng) * rng.uniform(0, s.fastest_mps)
            self._states[name] = State(state)
        current = _direction(rng)
        current[2] *= 0.5
        self._current_mps = s.current_mps * current / np.linalg.norm(current)

    @property
    def _settings(self) -> RecoverSettings:
        settings: RecoverSettings = self.context.settings
        return settings

    @property
    def duration_s(self) -> float:
        return self._settings.duration_s

    def start(self) -> dict[str, State]:
        return self._states

    def current(self) -> Water:
        return Constant(self._current_mps.tolist())

    def director(self) -> Directing:
        formation = Formation(kind="point", spacing_m=self.fleet.formation.spacing_m)
        return ScriptedDirector(self.fleet, formation, self._middle_m, None, self._settings.script)

    def outcome(self, recording: Recording) -> Outcome:
        """Reached when the soft limits hold for good."""
        angle = fov_angles_deg(recording.states, recording.must_see).max(axis=1)
        distance = recording.distances_m.min(axis=1)
        limits = recording.limits
        good = (angle <= limits.sight_soft_deg) & (distance >= limits.distance_soft_m - CLOSE_ENOUGH_M)
        return Outcome(GOAL, held_since_s(recording.times_s, good))


def _direction(rng: np.random.Generator) -> Array:
    v = rng.standard_normal(3)
    return np.asarray(v / np.linalg.norm(v))
