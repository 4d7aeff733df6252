"""What a task is: start poses, what the fleet is ordered, when it is over, and what judges it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.config.file_model import FileModel
from shoal.fleet.file import Fleet
from shoal.messages.state import State
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.conditions import Condition
from shoal.simulation.simulator import Directing, FleetSimulator
from shoal.simulation.water import Field
from shoal.simulation.world import World

Array = NDArray[np.float64]


class ScriptEntry(FileModel):
    """What an operator does during the run."""

    at_s: float
    do: Literal["stop", "release", "hold"]


class TaskSettings(FileModel):
    """What every task may be given."""

    script: tuple[ScriptEntry, ...] = ()


@dataclass(frozen=True)
class TaskContext:
    """What a task is made with."""

    fleet: Fleet
    condition: Condition
    settings: Any  # an instance of the task's `Settings`
    path: str  # of the run; tasks that follow none ignore it
    seed: int


class Task(ABC):
    """Derive from it, name it `package.module:Name`, and the simulator, campaigns and ROS run it."""

    Settings: ClassVar[type[FileModel]] = TaskSettings
    metrics: ClassVar[tuple[str, ...]] = ()  # beyond those of every run, by name
    # Bounds instead of the usual ones, by metric; the condition's own come before these.
    bounds: ClassVar[Mapping[str, float]] = {}
    follows_path: ClassVar[bool] = False  # whether `TaskContext.path` matters
    # Whether the vehicles have been there for a while, at rest, exchanging plans, before the run begins.
    acquainted: ClassVar[bool] = True

    def __init__(self, context: TaskContext) -> None:
        self.context, self.fleet, self.condition = context, context.fleet, context.condition

    @property
    @abstractmethod
    def duration_s(self) -> float:
        """At most."""

    @abstractmethod
    def start(self) -> dict[str, State]:
        """Everybody's state at the beginning."""

    @abstractmethod
    def director(self) -> Directing:
        """What the fleet is ordered, over time."""

    def prepare(self, world: World) -> None:  # noqa: B027 - most tasks need nothing
        """Before the run: what the task adds to the water, such as hulls that touch."""

    def current(self) -> Field | None:
        """The water, if it belongs to the task; None: the condition's."""
        return None

    def finished(self, t_s: float, states: Array) -> bool:
        """Whether it is over before its time; states (V,13) are the truth."""
        return False

    def outcome(self, recording: Recording) -> Outcome | None:
        """Of a task with a goal."""
        return None

    def observe(self, simulator: FleetSimulator) -> None:  # noqa: B027 - most tasks are judged by the recording alone
        """Before `outcome`: what the recording does not hold, such as contact and traffic."""

    def rng(self, stream: int) -> np.random.Generator:
        """Random numbers of the run's seed."""
        return np.random.default_rng([self.context.seed, stream])
