"""Antipodal exchange: vehicles on a circle, each bound for the opposite point, nobody to see. A test of give-way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.messages.placement import Placement
from shoal.messages.state import POSITION, State
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.simulator import Directing
from shoal.tasks.base import Task, TaskContext, TaskSettings
from shoal.tasks.directing import ScriptedDirector, formation_of

Array = NDArray[np.float64]
GOAL = "everyone at the opposite point"
ARRIVED_M, STAY_S = 0.5, 2.0


class ExchangeSettings(TaskSettings):
    """The circle, and how exactly the vehicles start on it."""

    depth_m: float = 8.0
    smallest_radius_m: float = Field(default=5.0, gt=0)
    room_m: float = Field(default=2.6, gt=0, description="between neighbours on the circle")
    jitter_m: float = Field(default=0.3, ge=0, description="of the start points; seed 0 is exactly symmetric")
    duration_s: float = Field(default=90.0, gt=0)


class Exchange(Task):
    """All on a circle at one depth, headings inward; over when everyone has stood at the opposite point for a while."""

    Settings = ExchangeSettings

    def __init__(self, context: TaskContext) -> None:
        blind = context.fleet.sight.model_copy(update={"topology": "none"})
        super().__init__(context)
        self.fleet = context.fleet.model_copy(update={"sight": blind})
        s, count = self._settings, len(self.fleet.names)
        room = s.room_m / (2 * np.sin(np.pi / count)) if count > 1 else 0.0
        self._radius_m = max(s.smallest_radius_m, room)
        self._angles = 2 * np.pi * np.arange(count) / count
        self._center_m = np.array([0.0, 0.0, s.depth_m])
        self._arms_m = self._radius_m * np.stack(
            [np.cos(self._angles), np.sin(self._angles), np.zeros(count)], axis=1
        )  # (V,3) from the centre
        self._arrived_since_s: float | None = None

    @property
    def _settings(self) -> ExchangeSettings:
        settings: ExchangeSettings = self.context.settings
        return settings

    @property
    def duration_s(self) -> float:
        return self._settings.duration_s

    def start(self) -> dict[str, State]:
        count, seed = len(self.fleet.names), self.context.seed
        off = self._settings.jitter_m * self.rng(9).uniform(-1, 1, (count, 3)) if seed > 0 else np.zeros((count, 3))
        points = self._center_m + self._arms_m + off
        return {
            name: State.at_rest(points[i], float(self._angles[i] + np.pi)) for i, name in enumerate(self.fleet.names)
        }

    def director(self) -> Directing:
        names = self.fleet.names
        placement = Placement(
            offsets={name: -self._arms_m[i] for i, name in enumerate(names)},
            radius_m=1.0,
            headings_rad={name: float(self._angles[i] + np.pi) for i, name in enumerate(names)},
            yaw_rad=0.0,
            order=names,
        )
        formation = formation_of(self.fleet, self.condition.formation)
        return ScriptedDirector(self.fleet, formation, self._center_m, None, self._settings.script, placement)

    def finished(self, t_s: float, states: Array) -> bool:
        gaps = np.linalg.norm(states[:, POSITION] - (self._center_m - self._arms_m), axis=1)
        if gaps.max() >= ARRIVED_M:
            self._arrived_since_s = None
            return False
        self._arrived_since_s = t_s if self._arrived_since_s is None else self._arrived_since_s
        return t_s - self._arrived_since_s > STAY_S

    def outcome(self, recording: Recording) -> Outcome:
        gaps = np.linalg.norm(recording.states[:, :, POSITION] - (self._center_m - self._arms_m), axis=2)  # (T,V)
        return Outcome(GOAL, held_since_s(recording.times_s, gaps.max(axis=1) < ARRIVED_M))


def held_since_s(times_s: Array, good: NDArray[np.bool_]) -> float | None:
    """From when on it held for good; None: not at the end."""
    if not good[-1]:
        return None
    bad = np.flatnonzero(~good)
    return float(times_s[bad[-1] + 1]) if len(bad) else float(times_s[0])
