"""The task's side of guidance: the same Director as in the guidance node, with an operator's script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.file import Fleet
from shoal.fleet.placement import assign
from shoal.guidance.director import Director, DirectorSettings, Mode, ReferenceSchedule
from shoal.guidance.formation import Formation
from shoal.guidance.paths import Path
from shoal.guidance.sequence import Trial
from shoal.guidance.splines import MotionLimits
from shoal.guidance.velocity_setpoint import TurnLimits
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.state import POSITION
from shoal.simulation.conditions import FormationChange
from shoal.tasks.base import ScriptEntry

Array = NDArray[np.float64]
SETTINGS = DirectorSettings(
    speed_mps=0.3,
    limits=MotionLimits(0.5, 0.1),
    turn=TurnLimits(rate_radps=float(np.radians(10.0))),
    ready_s=0.0,
    stick_timeout_s=0.5,
)


def formation_of(fleet: Fleet, change: FormationChange) -> Formation:
    """The fleet file's, with what the condition changes."""
    return fleet.formation.changed(**change.model_dump(exclude_none=True))


class ScriptedDirector:
    """Places by what the vehicles measure at the start; then holds, or runs a path; then what the script says."""

    def __init__(
        self,
        fleet: Fleet,
        formation: Formation,
        center_m: Array | None,
        path: Path | None = None,
        script: Sequence[ScriptEntry] = (),
        placement: Placement | None = None,
    ) -> None:
        """`center_m`: of the formation; None: the fleet's own middle. `placement`: instead of an assignment."""
        self._fleet, self._formation, self._center_m, self._path = fleet, formation, center_m, path
        self._placement = placement
        self._script = sorted(script, key=lambda entry: entry.at_s)
        self._director: Director | None = None
        self._schedule = ReferenceSchedule()

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        placement = None
        if self._director is None:
            positions = {n: o.state[POSITION] for n, o in odometry.items() if o is not None}
            if len(positions) < len(odometry):
                return Orders()  # odometry of somebody is still missing
            placement = self._begin(t_s, positions)
        director = self._director
        assert director is not None
        stop = self._act(t_s, director)
        director.advance(t_s, ())
        if not self._schedule.due(t_s, director.mode):
            return Orders(None, placement, stop)
        return Orders(director.preview(t_s, self._schedule.horizon_s), placement, stop)

    def _begin(self, t_s: float, positions: dict[str, Array]) -> Placement:
        center = np.mean(list(positions.values()), axis=0) if self._center_m is None else self._center_m
        self._director = Director(t_s, center, SETTINGS)
        if self._path is not None:
            self._director.start_tests(t_s, [Trial("path", self._path, self._path.duration_s)])
        if self._placement is None:
            self._placement = assign(self._fleet, self._formation, positions, center, 0.0, t_s)
        return self._placement

    def _act(self, t_s: float, director: Director) -> Literal["stop", "release"] | None:
        """What the script has for now."""
        stop: Literal["stop", "release"] | None = None
        while self._script and self._script[0].at_s <= t_s + 1e-9:
            entry = self._script.pop(0)
            if entry.do == "hold":
                director.set_mode(t_s, Mode.HOLD)
            else:
                stop = entry.do
        return stop
