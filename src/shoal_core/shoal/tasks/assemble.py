"""Vessels join into a platform by a blueprint, without an operator: the fleet manager in the simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.errors import ShoalError
from shoal.frames import yaw_of
from shoal.messages.joining import DrawnJoint, Joining
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.platform.blueprint import load_blueprint
from shoal.platform.manager import FleetManager, ManagerSettings, Track
from shoal.platform.model import PlanarPose
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.connectors import Connectors
from shoal.simulation.simulator import Directing
from shoal.simulation.world import World
from shoal.tasks.base import Task, TaskContext, TaskSettings

Array = NDArray[np.float64]
GOAL = "platform complete"
SENT_EVERY_S = 0.1
AHEAD_S: Array = np.arange(0.0, 5.05, 0.25)  # of each preview
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


class AssembleSettings(TaskSettings):
    """What is built, and by whom."""

    blueprint: str = Field(default="row3", description="name or file in config/blueprints")
    duration_s: float = Field(default=180.0, gt=0)
    spacing_m: float = Field(default=0.9, gt=0, description="between vessels where they wait")
    manager: ManagerSettings = ManagerSettings()


class AssembleDirector:
    """The fleet manager's references and joints as orders."""

    def __init__(self, manager: FleetManager, names: tuple[str, ...]) -> None:
        self.manager, self._names = manager, names
        self._sent_s, self._counter, self._begun = -math.inf, -1, False
        self.done_s: float | None = None

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        if t_s - self._sent_s < SENT_EVERY_S - 1e-9:
            return Orders()
        poses = {name: None if o is None else planar(o.state) for name, o in odometry.items()}
        tracks = self.manager.step(t_s, poses)
        if not tracks:
            return Orders()
        self._sent_s = t_s
        if self.done_s is None and self.manager.complete:
            self.done_s = t_s
        joining = None
        if self.manager.counter != self._counter:
            self._counter = self.manager.counter
            joining = Joining(self._counter, self._joints(), self.manager.partners)
        setpoints = {name: _preview(t_s, track) for name, track in tracks.items()}
        placement = None if self._begun else _placement(self._names)
        self._begun = True
        return Orders(_preview(t_s, Track(self.manager.site)), placement, joining=joining, setpoints=setpoints)

    def _joints(self) -> tuple[DrawnJoint, ...]:
        """As drawn: a point halfway between the centres of two cells."""
        found = []
        for a, b in self.manager.joints:
            place_a, place_b = (self.manager.place(self.manager.members[n]).position_m for n in (a, b))
            half = np.append((place_b - place_a) / 2, 0.0)
            found.append(DrawnJoint(a, b, half, -half, LEVEL))
        return tuple(found)


class Assemble(Task):
    """From waiting places around the site to the platform of the blueprint; connectors, friction and offsets act."""

    Settings = AssembleSettings
    metrics: ClassVar[tuple[str, ...]] = ()
    # Vessels touch on purpose; the outcome judges how hard.
    bounds: ClassVar[Mapping[str, float]] = {
        "distance_min_m": 0.0,
        **dict.fromkeys(("path_error_max_m", "setpoint_error_max_m", "thrust_saturated_share"), math.inf),
    }

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        s: AssembleSettings = context.settings
        self._s, self._blueprint = s, load_blueprint(s.blueprint)
        count = len(self._blueprint.cells)
        if len(self.fleet.vehicles) < count:
            raise ShoalError(
                f"task assemble: blueprint '{self._blueprint.name}' has {count} cells and fleet '{self.fleet.name}' "
                f"{len(self.fleet.vehicles)} vehicles; expected at least as many"
            )
        for member in self.fleet.vehicles:
            if member.type != self._blueprint.type:
                raise ShoalError(
                    f"task assemble: {member.name} is a {member.type}; expected {self._blueprint.type}, "
                    f"as blueprint '{self._blueprint.name}' has it"
                )
        length, width, _ = self.fleet.vehicles[0].vehicle().size_m
        site = PlanarPose()
        self.manager = FleetManager(self.fleet.names, self._blueprint.cells, (length, width), site, s.manager)
        self._world: World | None = None
        self._director: AssembleDirector | None = None

    @property
    def duration_s(self) -> float:
        return self._s.duration_s

    def start(self) -> dict[str, State]:
        """Around the site, on rings as wide as the platform needs; places and headings a little off, by the seed."""
        rng, found = self.rng(0), {}
        cells = np.array([self.manager.place(c).position_m for c in self._blueprint.cells])
        middle, radius_m = cells.mean(axis=0), float(np.linalg.norm(cells - cells.mean(axis=0), axis=1).max()) + 1.0
        places: list[Array] = []
        while len(places) < len(self.fleet.names):
            count = max(1, int(2 * math.pi * radius_m / self._s.spacing_m))
            turn = rng.uniform(0, 2 * math.pi)
            angles = turn + 2 * math.pi * np.arange(count) / count
            ring = [middle + radius_m * np.array([math.cos(a), math.sin(a)]) for a in angles]
            missing = len(self.fleet.names) - len(places)
            places += ring if missing >= count else [ring[i] for i in np.linspace(0, count, missing, False).astype(int)]
            radius_m += self._s.spacing_m
        for name, at in zip(self.fleet.names, places, strict=True):
            x, y = at + rng.uniform(-0.1, 0.1, 2)
            found[name] = State.at_rest((x, y, 0.0), rng.uniform(-0.3, 0.3))
        return found

    def director(self) -> Directing:
        self._director = AssembleDirector(self.manager, self.fleet.names)
        return self._director

    def prepare(self, world: World) -> None:
        """Hulls and magnets act in this task."""
        self._world = world
        world.connectors = Connectors(world.plant, world.names)

    def finished(self, t_s: float, states: Array) -> bool:
        """Some seconds after the last vessel was taken in."""
        done_s = None if self._director is None else self._director.done_s
        return self.manager.finished and done_s is not None and t_s > done_s + 5.0

    @property
    def hardest_contact_mps(self) -> float:
        """Closing speed of the hardest first touch of any two hulls."""
        touches: dict[tuple[str, str], float] = {}
        if self._world is not None and self._world.connectors is not None:
            for _, a, b, speed in self._world.connectors.impacts:
                touches.setdefault((a, b), speed)
        return max(touches.values(), default=0.0)

    def outcome(self, recording: Recording) -> Outcome:
        """When the last vessel was taken in, if the water agrees: one body, as drawn within 3 cm."""
        d, world = self._director, self._world
        if d is None or world is None or d.done_s is None:
            return Outcome(GOAL, None)
        members = set(self.manager.members)
        if len(members) > 1 and not any(members <= set(group) for group in world.groups):
            return Outcome(GOAL, None)
        states = dict(zip(world.names, world.states, strict=True))
        founder = self.manager.founder
        assert founder is not None
        for name, cell in self.manager.members.items():
            own = planar(states[name]).seen_from(planar(states[founder]))
            if float(np.linalg.norm(own.position_m - self.manager.place(cell).position_m)) > 0.03:
                return Outcome(GOAL, None)
        return Outcome(GOAL, d.done_s)


def planar(state: Array) -> PlanarPose:
    """The part of a state that matters to a vessel."""
    x, y, _ = state[POSITION]
    return PlanarPose(float(x), float(y), yaw_of(state[ATTITUDE]))


def _preview(t_s: float, track: Track) -> Preview:
    start = np.array([track.pose.x_m, track.pose.y_m, 0.0])
    velocity = np.array([*track.velocity_mps, 0.0])
    moving = np.minimum(AHEAD_S, 2.0)  # no further: berthing stops when it touches
    speeds = np.where(AHEAD_S[:, None] < 2.0, velocity, 0.0)
    return Preview(
        t_s + AHEAD_S, start + moving[:, None] * velocity, speeds, np.full(len(AHEAD_S), track.pose.heading_rad)
    )


def _placement(names: tuple[str, ...]) -> Placement:
    """Nobody has a place of a formation: setpoints are each vessel's own."""
    return Placement(dict.fromkeys(names, np.zeros(3)), 1.0, dict.fromkeys(names, 0.0), 0.0, names)
