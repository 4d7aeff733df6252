"""The task's side of guidance: the same Director as in the guidance node, with an operator's script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.file import Fleet
from shoal.fleet.placement import assign, lag_of, swimmers
from shoal.frames import yaw_of
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
COMPARED, WRONG_M = 3, 1.0  # first measurements; further from their median, the first was an outlier
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
        rounds: int = 1,
    ) -> None:
        """`center_m`: of the formation; None: the fleet's own middle. `placement`: instead of an assignment."""
        self._fleet, self._formation, self._center_m, self._path = fleet, formation, center_m, path
        self._placement, self._rounds = placement, rounds
        self._script = sorted(script, key=lambda entry: entry.at_s)
        self._director: Director | None = None
        self._given = placement is not None
        self._first: dict[str, list[Odometry]] = {name: [] for name in fleet.names}  # each vehicle's
        self._schedule = ReferenceSchedule()

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        placement = None
        if self._director is None:
            positions = {n: o.state[POSITION] for n, o in odometry.items() if o is not None}
            if len(positions) < len(odometry):
                return Orders()  # odometry of somebody is still missing
            placement = self._begin(t_s, positions, _yaws_rad(odometry))
        if self._first and self._first_was_wrong(odometry):
            positions = {n: np.median([o.position_m for o in first], axis=0) for n, first in self._first.items()}
            placement = self._begin(t_s, positions, _yaws_rad(odometry))
        if all(len(first) >= COMPARED for first in self._first.values()):
            self._first = {}
        director = self._director
        assert director is not None
        stop = self._act(t_s, director)
        where = {n: o.position_m for n, o in odometry.items() if o is not None}
        director.advance(t_s, (), lag_of(director, self._placement, where, t_s))
        issues = director.issues
        if not self._schedule.due(t_s, director.mode):
            return Orders(None, placement, stop, issues)
        return Orders(director.preview(t_s, self._schedule.horizon_s), placement, stop, issues)

    def replace_placement(self, placement: Placement) -> None:
        """Other places from now on; who sends them is the caller's business."""
        self._placement, self._given = placement, True

    def _first_was_wrong(self, odometry: Mapping[str, Odometry | None]) -> bool:
        """Whether somebody's first position turns out to have been an outlier: then the places are wrong, too."""
        for name, first in self._first.items():
            newest = odometry[name]
            if newest is not None and not (first and newest.stamp_s <= first[-1].stamp_s):
                first.append(newest)
        if any(len(first) < COMPARED for first in self._first.values()):
            return False
        off = [first[0].position_m - np.median([o.position_m for o in first], axis=0) for first in self._first.values()]
        return not self._given and bool(np.linalg.norm(off, axis=1).max() > WRONG_M)

    def _begin(self, t_s: float, positions: dict[str, Array], yaws_rad: dict[str, float]) -> Placement:
        center = np.mean(list(positions.values()), axis=0) if self._center_m is None else self._center_m
        self._director = Director(t_s, center, SETTINGS)
        if not self._given:
            self._placement = assign(self._fleet, self._formation, positions, center, 0.0, t_s)
        assert self._placement is not None
        if self._path is not None:
            self._director.swimmers = swimmers(self._fleet, self._placement, yaws_rad)
            self._director.start_tests(t_s, [Trial("path", self._path, self._path.duration_s)], self._rounds)
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


def _yaws_rad(odometry: Mapping[str, Odometry | None]) -> dict[str, float]:
    return {name: yaw_of(o.attitude) for name, o in odometry.items() if o is not None}
