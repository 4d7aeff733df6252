"""Follow a path in formation; and hold station where the fleet file has everybody."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.fleet.placement import assign, places_m
from shoal.guidance.path_file import load_path
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import State
from shoal.simulation.simulator import Directing
from shoal.tasks.base import Task, TaskContext, TaskSettings
from shoal.tasks.directing import ScriptedDirector, formation_of
from shoal.tasks.start import draw_start

Array = NDArray[np.float64]


class FollowSettings(TaskSettings):
    """Of following a path."""

    repeat: int = Field(default=1, ge=1, le=1000, description="how often it is followed, back to its start in between")


class FollowPath(Task):
    """The run's path, from poses drawn near its start by the condition's rule."""

    Settings = FollowSettings
    follows_path = True

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        self._path = load_path(context.path)
        self._center_m = np.asarray(self._path.position(0.0))
        self._formation = formation_of(self.fleet, self.condition.formation)

    @property
    def duration_s(self) -> float:
        return float(self._path.duration_s) * int(self.context.settings.repeat)

    def start(self) -> dict[str, State]:
        """Around the places that suit the fleet file's own start poses, moved to the path's start."""
        fleet, names = self.fleet, self.fleet.names
        starts = np.array([m.start_m for m in fleet.vehicles])
        moved = dict(zip(names, starts - starts.mean(axis=0) + self._center_m, strict=True))
        wanted = assign(fleet, self._formation, moved, self._center_m)
        places = places_m(wanted, self._center_m, 0.0, 0.0)
        index = {name: i for i, name in enumerate(names)}
        must_see = tuple((index[a], index[b]) for a, b in wanted.sight)
        states = draw_start(
            np.array([places[n] for n in names]),
            np.array([_heading(wanted, n, self._center_m) for n in names]),
            self._center_m,
            must_see,
            self.condition.start,
            self.rng(0),
        )
        return {name: State(state) for name, state in zip(names, states, strict=True)}

    def director(self) -> Directing:
        s = self.context.settings
        return ScriptedDirector(self.fleet, self._formation, self._center_m, self._path, s.script, rounds=s.repeat)


class HoldSettings(TaskSettings):
    """Of holding station."""

    duration_s: float = Field(default=60.0, gt=0)


class HoldStation(Task):
    """Everybody starts where the fleet file says, heading as it says, and the fleet holds its formation there."""

    Settings = HoldSettings

    @property
    def duration_s(self) -> float:
        return float(self.context.settings.duration_s)

    def start(self) -> dict[str, State]:
        return {member.name: member.start_state() for member in self.fleet.vehicles}

    def director(self) -> Directing:
        formation = formation_of(self.fleet, self.condition.formation)
        return ScriptedDirector(self.fleet, formation, None, None, self.context.settings.script)


def _heading(placement: Placement, name: str, center_m: Array) -> float:
    point = Preview(np.zeros(1), center_m[None], np.zeros((1, 3)))
    headings = placement.setpoint(name, point).headings_rad
    return 0.0 if headings is None else float(headings[0])
