"""The assembly of Boogmans 2021, section 6.1, as it was done: three vessels, two references, and an operator who looks.

Phase 1: in line, 0.75 m apart. Phase 2: the outer two are sent 0.10 m from the middle one, into its hull, so that they
press against it and slide along it until the magnets catch. There is no search, no time-out and no second try.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.errors import ShoalError
from shoal.messages.joining import Joining
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.state import State
from shoal.platform.jobs import Track
from shoal.platform.model import PlanarPose
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.connectors import Connectors
from shoal.simulation.simulator import Directing
from shoal.simulation.world import World
from shoal.tasks.assemble import SENT_EVERY_S, placement_of, reference_of
from shoal.tasks.base import Task, TaskContext, TaskSettings

Array = NDArray[np.float64]
GOAL = "both outer vessels latched"
LINE_M, INTO_M = 0.75, 0.10


class ThesisAssemblySettings(TaskSettings):
    """How long each phase may last."""

    line_up_s: float = Field(default=60.0, gt=0, description="phase 1; 100 s in the tank")
    approach_s: float = Field(default=240.0, gt=0, description="phase 2, at most")
    start_m: float = Field(default=0.1, ge=0, description="off the line-up places, at most, on each axis")


class ThesisDirector:
    """Its two phases, by time."""

    def __init__(self, names: tuple[str, ...], line_up_s: float) -> None:
        self._names, self._line_up_s, self._sent_s, self._counter = names, line_up_s, -math.inf, 0

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        if t_s - self._sent_s < SENT_EVERY_S - 1e-9:
            return Orders()
        self._sent_s = t_s
        aside_m = LINE_M if t_s < self._line_up_s else INTO_M
        tracks = {
            name: Track(PlanarPose(0.0, side * aside_m))
            for name, side in zip(self._names, (-1.0, 0.0, 1.0), strict=True)
        }
        joining = placement = None
        if self._counter == 0:  # magnets are on all the time
            self._counter, joining, placement = 1, Joining(1, (), (self._names,)), placement_of(self._names)
        return Orders(reference_of(t_s, PlanarPose(), tracks), placement, joining=joining)


class AssembleThesis(Task):
    """Ends when both outer vessels hang on the middle one, as an operator would see it."""

    Settings = ThesisAssemblySettings
    metrics: ClassVar[tuple[str, ...]] = ()
    bounds: ClassVar[Mapping[str, float]] = {
        "distance_min_m": 0.0,
        **dict.fromkeys(("path_error_max_m", "setpoint_error_max_m", "thrust_saturated_share"), math.inf),
    }

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        self._s: ThesisAssemblySettings = context.settings
        if len(self.fleet.names) != 3:
            raise ShoalError(
                f"task assemble_thesis: fleet '{self.fleet.name}' has {len(self.fleet.names)} vehicles; expected 3"
            )
        self._world: World | None = None
        self.latched_s: dict[str, float] = {}  # of each outer vessel, after the approach was ordered

    @property
    def duration_s(self) -> float:
        return self._s.line_up_s + self._s.approach_s

    def start(self) -> dict[str, State]:
        rng, off_m = self.rng(0), self._s.start_m
        places = zip(self.fleet.names, (-LINE_M, 0.0, LINE_M), strict=True)
        return {
            name: State.at_rest((rng.uniform(-off_m, off_m), y + rng.uniform(-off_m, off_m), 0.0), 0.0)
            for name, y in places
        }

    def director(self) -> Directing:
        return ThesisDirector(self.fleet.names, self._s.line_up_s)

    def prepare(self, world: World) -> None:
        self._world = world
        world.connectors = Connectors(world.plant, world.names)

    def finished(self, t_s: float, states: Array) -> bool:
        assert self._world is not None
        first, middle, last = self.fleet.names
        for outer in (first, last):
            if outer not in self.latched_s and any(outer in g and middle in g for g in self._world.groups):
                self.latched_s[outer] = t_s - self._s.line_up_s
        return len(self.latched_s) == 2

    def contact_s(self, outer: str) -> float | None:
        """When its hull first touched the middle one's, after the approach was ordered."""
        assert self._world is not None and self._world.connectors is not None
        touched = [t for t, a, b, _ in self._world.connectors.impacts if {a, b} == {outer, self.fleet.names[1]}]
        return touched[0] - self._s.line_up_s if touched else None

    def lasting_s(self, outer: str, recording: Recording) -> float | None:
        """From when on their sides stay within a centimetre, after the approach was ordered: the plateau of S13."""
        first, middle = (recording.names.index(name) for name in (outer, self.fleet.names[1]))
        width_m = float(self.fleet.vehicles[0].vehicle().size_m[1])
        aside_m = np.abs(recording.states[:, first, 1] - recording.states[:, middle, 1])
        far = np.flatnonzero(aside_m > width_m + 0.01)
        return float(recording.times_s[far[-1]]) - self._s.line_up_s if len(far) else None

    def outcome(self, recording: Recording) -> Outcome:
        done = len(self.latched_s) == 2
        return Outcome(GOAL, self._s.line_up_s + max(self.latched_s.values()) if done else None)
