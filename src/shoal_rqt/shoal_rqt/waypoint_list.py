"""The waypoints an operator is drafting: places, speeds, files. No Qt, no ROS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

from shoal.config.files import load_yaml
from shoal.errors import ShoalError
from shoal.guidance.path_file import PathFile
from shoal.guidance.splines import SAME_POINT_M

Vector = tuple[float, float, float]
DEFAULT_SPEED_MPS = 0.3


@dataclass(frozen=True)
class Mark:
    """One waypoint."""

    position_m: Vector  # NED
    speed_mps: float = DEFAULT_SPEED_MPS  # average on the way to it


class WaypointList:
    """A draft until it is sent. All of `watchers` are called after each change."""

    def __init__(self) -> None:
        self.marks: tuple[Mark, ...] = ()
        self.sent: tuple[Mark, ...] | None = None  # as they were when last sent
        self.watchers: list[Callable[[], None]] = []

    @property
    def unsent(self) -> bool:
        """Whether the fleet does not have what is drafted."""
        return self.marks != (self.sent or ())

    def add(self, position_m: Vector, speed_mps: float | None = None) -> None:
        """Behind the others, as fast as the one before."""
        last = self.marks[-1].speed_mps if self.marks else DEFAULT_SPEED_MPS
        self._set((*self.marks, Mark(_rounded(position_m), speed_mps or last)))

    def move(self, index: int, position_m: Vector) -> None:
        """Somewhere else."""
        self.change(index, replace(self.marks[index], position_m=_rounded(position_m)))

    def change(self, index: int, mark: Mark) -> None:
        """Replace one."""
        self._set((*self.marks[:index], mark, *self.marks[index + 1 :]))

    def remove(self, index: int) -> None:
        """Take one out."""
        self._set((*self.marks[:index], *self.marks[index + 1 :]))

    def swap(self, index: int, by: int) -> int:
        """Earlier (-1) or later (+1); where it is now."""
        other = min(max(index + by, 0), len(self.marks) - 1)
        marks = list(self.marks)
        marks[index], marks[other] = marks[other], marks[index]
        self._set(tuple(marks))
        return other

    def clear(self) -> None:
        """None left."""
        self._set(())

    def mark_sent(self) -> None:
        """The fleet has them now."""
        self.sent = self.marks
        self._notify()

    def problem(self) -> str:
        """Why they cannot be sent; empty: they can."""
        if not self.marks:
            return "no waypoints"
        places = np.array([m.position_m for m in self.marks])
        for i, leg_m in enumerate(np.linalg.norm(np.diff(places, axis=0), axis=1)):
            if leg_m < SAME_POINT_M:
                return f"waypoints {i + 1} and {i + 2} are the same place"
        return ""

    # -- files --------------------------------------------------------------------------------------------------

    def load(self, path: Path) -> None:
        """A waypoint file as in config/paths; ShoalError when it is none."""
        file = load_yaml(path, PathFile)
        self._set(tuple(Mark(w.position_m, w.speed_mps or file.speed_mps) for w in file.waypoints))

    def save(self, path: Path, description: str = "Saved from the operator's station") -> None:
        """So that `load`, `shoal simulate` and guidance read it; ShoalError when it would not be a path."""
        if len(self.marks) < 2 or self.problem():
            raise ShoalError(f"{path}: {self.problem() or 'one waypoint'}; expected two different ones or more to save")
        speeds = [m.speed_mps for m in self.marks]
        common = max(set(speeds), key=speeds.count)
        waypoints = [
            list(m.position_m)
            if m.speed_mps == common
            else {"position_m": list(m.position_m), "speed_mps": m.speed_mps}
            for m in self.marks
        ]
        data = {"version": 1, "description": description, "spline": "quintic", "speed_mps": common,
                "limits": {"speed_mps": max(0.5, 1.5 * max(speeds))}, "waypoints": waypoints}  # fmt: skip
        PathFile.model_validate(data)
        try:
            path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")
        except OSError as error:
            raise ShoalError(f"{path}: {error.strerror}; expected a place to write to") from None

    def _set(self, marks: tuple[Mark, ...]) -> None:
        self.marks = marks
        self._notify()

    def _notify(self) -> None:
        for watcher in self.watchers:
            watcher()


def _rounded(position_m: Vector) -> Vector:
    """To the centimetre: a click is no more precise."""
    x, y, z = (round(float(v), 2) for v in position_m)
    return x, y, z
