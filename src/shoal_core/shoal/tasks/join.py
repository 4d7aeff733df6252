"""Join and part in the water: a formation of singles closes up, is joined, follows on as one, is parted, opens again.

No docking: everybody follows its own place, contact is not modelled, and what is left of gap and angle is joined as it
lies. The formation is the assembly drawn apart: its modules' places, stretched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.assembly.file import load_assembly
from shoal.errors import ShoalError
from shoal.fleet.placement import sight_pairs
from shoal.frames import matrix, tilt_rad, yaw_of
from shoal.guidance.path_file import load_path
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement, Schedule
from shoal.messages.state import POSITION, State
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.simulator import Directing
from shoal.tasks.base import Task, TaskContext, TaskSettings
from shoal.tasks.directing import ScriptedDirector, formation_of

Array = NDArray[np.float64]
GOAL = "joined, parted, and nobody jumped"
JUMP_M, AFTER_S = 0.05, 3.0  # how far anybody may be thrown off its place, and how long after a change
LONGEST_M = 20.0
APART_M = 0.3  # off the drawing while joined: a joint has broken
KNOTS = 21  # of closing and opening


class JoinSettings(TaskSettings):
    """Which assembly, and when."""

    assembly: str = Field(default="facing", description="whose modules the vehicles are, in the order of both files")
    join_from_s: float = Field(default=15.0, ge=0, description="when the formation begins to close")
    part_at_s: float = Field(default=45.0, gt=0)
    duration_s: float = Field(default=75.0, gt=0)
    spacing_m: float = Field(default=2.2, gt=0, le=LONGEST_M, description="between the nearest two while apart")
    closing_mps: float = Field(default=0.15, gt=0, le=1, description="at most, of the widest-spread vehicle")
    within_m: float = Field(default=0.03, gt=0, description="off the drawing, mean of a second, to be joined")
    within_deg: float = Field(default=3.0, gt=0)

    @model_validator(mode="after")
    def _in_order(self) -> JoinSettings:
        if not self.join_from_s < self.part_at_s < self.duration_s:
            raise ValueError(
                f"join_from_s = {self.join_from_s:g}, part_at_s = {self.part_at_s:g}, duration_s = "
                f"{self.duration_s:g}; expected them in this order"
            )
        return self


class Phase(Enum):
    """What the fleet is doing."""

    APART = 0
    CLOSING = 1
    JOINED = 2
    OPENING = 3
    APART_AGAIN = 4


class Drawing:
    """The assembly with the fleet's names: places, headings and joints."""

    def __init__(self, assembly: str, names: tuple[str, ...]) -> None:
        file = load_assembly(assembly)
        if len(file.modules) != len(names):
            raise ShoalError(
                f"task join: assembly '{file.name}' has {len(file.modules)} modules and the fleet {len(names)} "
                "vehicles; expected as many"
            )
        renamed = dict(zip(file.modules, names, strict=True))
        self.joints = tuple(
            DrawnJoint(renamed[j.a], renamed[j.b], j.at_a_m, j.at_b_m, j.attitude) for j in file.assembly().joints
        )
        drawn = file.assembly()
        poses = drawn.poses(tuple(drawn.modules))
        first = file.composite().poses[next(iter(file.modules))]
        if tilt_rad(first.attitude) > 1e-6 or any(tilt_rad(p.attitude) > 1e-6 for p in poses.values()):
            raise ShoalError(f"task join: assembly '{file.name}' has tilted modules; expected all of them level")
        self.poses = {renamed[name]: first.then(pose) for name, pose in poses.items()}
        self.nearest_m = min(
            float(np.linalg.norm(a.position_m - b.position_m)) for a, b in combinations(self.poses.values(), 2)
        )

    def placement(
        self, names: tuple[str, ...], stretch: float | Schedule, sight: tuple[tuple[str, str], ...]
    ) -> Placement:
        """Everybody apart, `stretch` times as far as drawn."""
        offsets = {name: pose.position_m for name, pose in self.poses.items()}
        headings = {name: yaw_of(pose.attitude) for name, pose in self.poses.items()}
        return Placement(offsets, stretch, headings, 0.0, names, sight)

    def gap(self, odometry: Mapping[str, Odometry | None]) -> Array | None:
        """(4,) largest offset (3) and turn off the drawing over all joints, by what the vehicles measure."""
        found = []
        for joint in self.joints:
            a, b = odometry.get(joint.a), odometry.get(joint.b)
            if a is None or b is None:
                return None
            turn_a, turn_b = matrix(a.attitude), matrix(b.attitude)
            apart = a.position_m + turn_a @ joint.at_a_m - b.position_m - turn_b @ joint.at_b_m
            off = turn_a @ matrix(joint.attitude) @ turn_b.T
            found.append(np.array([*apart, np.arccos(np.clip((np.trace(off) - 1) / 2, -1, 1))]))
        return max(found, key=lambda g: float(np.linalg.norm(g[:3])))


class JoinDirector:
    """Follows the path with the formation of the phase; joins when the vehicles measure that they lie as drawn."""

    def __init__(self, inner: ScriptedDirector, drawing: Drawing, settings: JoinSettings, names: tuple[str, ...],
                 sight: tuple[tuple[str, str], ...]) -> None:  # fmt: skip
        self._inner, self._drawing, self._s, self._names, self._sight = inner, drawing, settings, names, sight
        self.apart = max(1.0, settings.spacing_m / drawing.nearest_m)
        self.phase, self._counter, self.moved_s = Phase.APART, 0, 0.0
        self._gaps: list[Array] = []
        self.joined_s: float | None = None
        self.parted_s: float | None = None
        self.lost_s: float | None = None  # when a joint was found broken

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        placement, joining = self._advance(t_s, odometry)
        if placement is not None:
            self._inner.replace_placement(placement)
        orders = self._inner.orders(t_s, odometry)
        if placement is None:
            return orders
        return replace(orders, placement=placement, joining=joining)

    def _advance(
        self, t_s: float, odometry: Mapping[str, Odometry | None]
    ) -> tuple[Placement, Joining] | tuple[None, None]:
        s, drawing, names = self._s, self._drawing, self._names
        if self.phase is Phase.APART and t_s >= s.join_from_s - 1e-9:
            return self._stretched(t_s, Phase.CLOSING, self.apart, 1.0), self._joining((), partners=True)
        if self.phase is Phase.CLOSING and t_s < s.part_at_s - 1e-9 and self._lies_as_drawn(t_s, odometry):
            self.phase, self.joined_s = Phase.JOINED, t_s
            return drawing.placement(names, 1.0, ()), self._joining(drawing.joints)
        if self.phase is Phase.JOINED and self._came_apart(odometry):
            self.lost_s = t_s
            return self._stretched(t_s, Phase.OPENING, 1.0, self.apart), self._joining((), partners=True)
        if self.phase in (Phase.CLOSING, Phase.JOINED) and t_s >= s.part_at_s - 1e-9:
            self.parted_s = t_s if self.phase is Phase.JOINED else None
            return self._stretched(t_s, Phase.OPENING, 1.0, self.apart), self._joining((), partners=True)
        if self.phase is Phase.OPENING and t_s >= self.moved_s:
            self.phase = Phase.APART_AGAIN
            return drawing.placement(names, self.apart, self._sight), self._joining(())
        return None, None

    def _joining(self, joints: tuple[DrawnJoint, ...], partners: bool = False) -> Joining:
        self._counter += 1
        return Joining(self._counter, joints, (self._names,) if partners else ())

    def _stretched(self, t_s: float, phase: Phase, begin: float, end: float) -> Placement:
        """From one stretch to another, starting and stopping smoothly."""
        widest_m = max(float(np.linalg.norm(p.position_m)) for p in self._drawing.poses.values())
        lasts_s = max(1.0, np.pi / 2 * abs(end - begin) * widest_m / self._s.closing_mps)
        share = np.linspace(0.0, 1.0, KNOTS)
        smooth = (1 - np.cos(np.pi * share)) / 2
        schedule = tuple(
            (float(t_s + lasts_s * x), float(begin + (end - begin) * y)) for x, y in zip(share, smooth, strict=True)
        )
        self.phase, self.moved_s = phase, t_s + lasts_s
        self._gaps = []
        return self._drawing.placement(self._names, schedule, ())

    def _came_apart(self, odometry: Mapping[str, Odometry | None]) -> bool:
        """A joint has broken: as guidance sees it, mean of a second."""
        gap = self._drawing.gap(odometry)
        self._gaps = [*self._gaps[-19:], gap] if gap is not None else self._gaps
        return float(np.linalg.norm(np.mean(self._gaps, axis=0)[:3])) > APART_M

    def _lies_as_drawn(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> bool:
        if t_s < self.moved_s or (gap := self._drawing.gap(odometry)) is None:
            return False
        self._gaps = [*self._gaps[-19:], gap]
        mean = np.mean(self._gaps, axis=0)
        close = np.linalg.norm(mean[:3]) < self._s.within_m and np.degrees(mean[3]) < self._s.within_deg
        return len(self._gaps) >= 20 and bool(close)


class Join(Task):
    """The run's path, as singles, as one and as singles again."""

    Settings = JoinSettings
    follows_path = True
    bounds: ClassVar[Mapping[str, float]] = {"distance_min_m": 0.0}  # of joined ones; the outcome judges the free ones

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        self._path = load_path(context.path)
        self._center_m = np.asarray(self._path.position(0.0))
        self._drawing = Drawing(self._settings.assembly, self.fleet.names)
        self._sight = sight_pairs(self.fleet)
        if self._settings.spacing_m < self.fleet.distance.soft_m:
            raise ShoalError(
                f"task join: spacing_m = {self._settings.spacing_m:g} is below the fleet's soft distance of "
                f"{self.fleet.distance.soft_m:g} m; expected more"
            )
        self._director: JoinDirector | None = None

    @property
    def _settings(self) -> JoinSettings:
        settings: JoinSettings = self.context.settings
        return settings

    @property
    def duration_s(self) -> float:
        return self._settings.duration_s

    def start(self) -> dict[str, State]:
        apart = max(1.0, self._settings.spacing_m / self._drawing.nearest_m)
        return {
            name: State.at_rest(self._center_m + apart * pose.position_m, yaw_of(pose.attitude))
            for name, pose in self._drawing.poses.items()
        }

    def director(self) -> Directing:
        names, s = self.fleet.names, self._settings
        apart = max(1.0, s.spacing_m / self._drawing.nearest_m)
        placement = self._drawing.placement(names, apart, self._sight)
        formation = formation_of(self.fleet, self.condition.formation)
        inner = ScriptedDirector(self.fleet, formation, self._center_m, self._path, s.script, placement)
        self._director = JoinDirector(inner, self._drawing, s, names, self._sight)
        return self._director

    def outcome(self, recording: Recording) -> Outcome:
        """When they were parted, if all of it went well: limits of the free ones, and no jump at either change."""
        d = self._director
        if d is None or d.joined_s is None or d.parted_s is None:
            return Outcome(GOAL, None)
        free = (recording.times_s < self._settings.join_from_s) | (recording.times_s > d.moved_s)
        states, limits = recording.states[free], recording.limits
        for a, b in combinations(range(len(recording.names)), 2):
            gaps_m = np.linalg.norm(states[:, a, POSITION] - states[:, b, POSITION], axis=1)
            if gaps_m.min() < limits.distance_hard_m:
                return Outcome(GOAL, None)
        if self._sight:
            index = {name: i for i, name in enumerate(recording.names)}
            pairs = tuple((index[a], index[b]) for a, b in self._sight)
            if fov_angles_deg(states, pairs).max() > limits.sight_hard_deg:
                return Outcome(GOAL, None)
        jumped = max(jump_m(recording, t_s) for t_s in (d.joined_s, d.parted_s)) > JUMP_M
        return Outcome(GOAL, None if jumped else d.parted_s)


def jump_m(recording: Recording, t_s: float) -> float:
    """How far anybody's offset from its place changes within seconds of a change at `t_s`."""
    off = recording.states[:, :, POSITION] - recording.setpoints_m  # (T,V,3)
    k = int(np.searchsorted(recording.times_s, t_s - 1e-9))
    after = (recording.times_s >= t_s) & (recording.times_s <= t_s + AFTER_S)
    return float(np.linalg.norm(off[after] - off[k], axis=2).max())
