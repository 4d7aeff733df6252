"""Vessels join into a platform by a blueprint, without an operator: the fleet manager in the simulator."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.errors import ShoalError
from shoal.frames import yaw_of
from shoal.messages.joining import DrawnJoint, Joining, Ownership
from shoal.messages.odometry import Odometry
from shoal.messages.orders import Orders
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview, track_preview
from shoal.messages.state import ATTITUDE, POSITION, State
from shoal.messages.track import SurfaceTrack
from shoal.platform.blueprint import Blueprint, load_blueprint
from shoal.platform.jobs import Track
from shoal.platform.manager import FleetManager
from shoal.platform.memory import ManagerMemory, remembered, restore
from shoal.platform.model import PlanarPose, platform_pose
from shoal.platform.orders import PART, check_reshaping, ordered_blueprint
from shoal.platform.settings import ManagerSettings
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.connectors import Connectors
from shoal.simulation.simulator import Directing
from shoal.simulation.world import World
from shoal.tasks.base import Task, TaskContext, TaskSettings

Array = NDArray[np.float64]
GOAL = "platform complete"
SENT_EVERY_S = 0.1
STEER_S = 0.5  # a stick that says nothing for so long has been let go of
STEER_MOST = np.array([0.10, 0.10, 0.20])  # m/s, m/s, rad/s
# Section 6.2 and its fleet manager: hold, 1 m ahead, a quarter turn, 0.5 m sideways, and back.
PHASES = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, math.pi / 2), (1.5, 0.0, math.pi / 2), (0.0, 0.0, 0.0))
LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


class AssembleSettings(TaskSettings):
    """What is built, and by whom."""

    blueprint: str = Field(default="row3", description="name or file in config/blueprints")
    into: str | None = Field(default=None, description="blueprint that it is reshaped into, once built")
    follow_s: float | None = Field(
        default=None, gt=0, description="then the platform follows the reference of the thesis's phases 5 to 9, each "
        "for so long; None: not"
    )  # fmt: skip
    part: bool = Field(default=False, description="at last everybody leaves again")
    duration_s: float = Field(default=180.0, gt=0)
    spacing_m: float = Field(default=0.9, gt=0, description="between vessels where they wait")
    manager: ManagerSettings = ManagerSettings()


class AssembleDirector:
    """The fleet manager's references and joints as orders; after building what else the settings want."""

    def __init__(self, manager: FleetManager, names: tuple[str, ...], settings: AssembleSettings) -> None:
        self.manager, self._names = manager, names
        self._sent_s, self._counter, self._begun = -math.inf, -1, False
        self._script = deque(settings.script)
        self._stages = deque(_stages(settings))
        self.done_s: float | None = None  # when the blueprint was complete
        self.over_s: float | None = None  # when all stages were
        self.stages_s: dict[str, float] = {}  # when each began
        self._stage_s = 0.0
        self._steered: tuple[float, Array] | None = None  # by a stick: when, and how fast ahead, aside and round

    def hear(self, t_s: float, stopped: bool, owners: Mapping[str, Ownership]) -> None:
        self.manager.hear(t_s, stopped, owners)

    def orders(self, t_s: float, odometry: Mapping[str, Odometry | None]) -> Orders:
        stop = self._operator(t_s)
        if t_s - self._sent_s < SENT_EVERY_S - 1e-9 and stop is None:
            return Orders()
        poses = {name: None if o is None else planar(o.state) for name, o in odometry.items()}
        self._steer_on(t_s)
        tracks = self.manager.step(t_s, poses)
        if not tracks:
            return Orders(stop=stop)
        self._sent_s = t_s
        self._next_stage(t_s)
        joining = None
        if self.manager.counter != self._counter:
            self._counter = self.manager.counter
            joining = Joining(self._counter, self._joints(), self.manager.partners, self.manager.magnets)
        placement = None if self._begun else placement_of(self._names)
        self._begun = True
        return Orders(reference_of(t_s, self.manager.site, tracks), placement, stop, joining=joining)

    def order(self, text: str) -> str:
        """What an operator wants of a platform that is built: `part`, or another blueprint, by name or as JSON."""
        into = None if text == PART else ordered_blueprint(text)
        name = PART if into is None else into.name
        if self.manager.stopped_s is not None:  # what is ordered now would begin with the release, unasked
            raise ShoalError(f"platform '{name}': the fleet is stopped; expected the order after the release")
        if self.over_s is None or not self.manager.finished:
            raise ShoalError(f"platform '{name}': the last order is not done yet; expected a platform that is finished")
        if into is None:
            stage = Stage(name=PART, part=True)
        else:
            members = self.manager.members
            check_reshaping({cell: self.manager.types.get(n, "") for n, cell in members.items()}, into)
            stage = Stage(name=f"into {name}", into=into)
        self._stages.append(stage)
        self.over_s = None
        return stage.name

    def steer(self, t_s: float, velocity_mps: Array, rate_radps: float) -> None:
        """A stick moves the platform, world axes; what it said last counts for half a second."""
        self._steered = t_s, np.clip([*velocity_mps[:2], rate_radps], -STEER_MOST, STEER_MOST)

    def _steer_on(self, t_s: float) -> None:
        m = self.manager
        if self._steered is None or self.over_s is None or m.stopped_s is not None or not m.owned:
            return
        if not 0.0 <= t_s - self._steered[0] <= STEER_S:
            self._steered = None
            return
        x, y, turn = np.array([m.site.x_m, m.site.y_m, m.site.heading_rad]) + SENT_EVERY_S * self._steered[1]
        m.site = PlanarPose(float(x), float(y), float(turn))

    def remember(self) -> AssembleMemory:
        """What has to outlive a crash."""
        left = tuple(self._stages)
        return AssembleMemory(
            manager=remembered(self.manager), stages=left, stage_s=self._stage_s, done_s=self.done_s,
            over_s=self.over_s, stages_s=dict(self.stages_s),
        )  # fmt: skip

    def restore(self, memory: AssembleMemory, t_s: float) -> None:
        """Go on from there: with the next orders everybody's joints and references are told again."""
        restore(self.manager, memory.manager, t_s)
        self._stages, self._stage_s = deque(memory.stages), memory.stage_s
        self.done_s, self.over_s, self.stages_s = memory.done_s, memory.over_s, dict(memory.stages_s)

    def _operator(self, t_s: float) -> Literal["stop", "release"] | None:
        """What the run's script has for now."""
        if not self._script or self._script[0].at_s > t_s + 1e-9:
            return None
        do = self._script.popleft().do
        return None if do == "hold" else do

    def _next_stage(self, t_s: float) -> None:
        manager = self.manager
        if manager.stopped_s is not None:  # the time of a stage stands, too
            self._stage_s += SENT_EVERY_S
            return
        if self.done_s is None and manager.complete:
            self.done_s = t_s
        if not manager.finished or not manager.owned or self.over_s is not None:
            return
        if t_s < self._stage_s:  # a reference that is held for a while
            return
        if not self._stages:
            self.over_s = t_s
            return
        stage = self._stages.popleft()
        self.stages_s[stage.name] = t_s
        self._stage_s = t_s + stage.lasts_s
        if stage.site is not None:
            manager.site = PlanarPose(*stage.site)
        if stage.into is not None:
            into = load_blueprint(stage.into) if isinstance(stage.into, str) else stage.into
            manager.reshape(into.type_of)
        if stage.part:
            manager.part()

    def _joints(self) -> tuple[DrawnJoint, ...]:
        """As drawn: a point halfway between the centres of two cells."""
        found = []
        for a, b in self.manager.joints:
            place_a, place_b = (self.manager.place(self.manager.members[n]).position_m for n in (a, b))
            half = np.append((place_b - place_a) / 2, 0.0)
            found.append(DrawnJoint(a, b, half, -half, LEVEL))
        return tuple(found)


class Stage(FileModel):
    """Something to do with a platform that is complete."""

    name: str
    site: tuple[float, float, float] | None = None
    lasts_s: float = 0.0
    into: str | Blueprint | None = None  # by name, or as it was when it was ordered
    part: bool = False


class AssembleMemory(FileModel):
    """Of an `AssembleDirector`."""

    version: int = Field(default=1, ge=1, le=1)
    manager: ManagerMemory
    stages: tuple[Stage, ...]  # still to come
    stage_s: float  # until when the present one lasts
    done_s: float | None
    over_s: float | None
    stages_s: dict[str, float]


def _stages(s: AssembleSettings) -> list[Stage]:
    found = [] if s.into is None else [Stage(name=f"into {s.into}", into=s.into)]
    if s.follow_s is not None:
        found += [Stage(name=f"phase {5 + k}", site=pose, lasts_s=s.follow_s) for k, pose in enumerate(PHASES)]
    return [*found, Stage(name="part", part=True)] if s.part else found


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
        types = {member.name: member.type for member in self.fleet.vehicles}
        wanted = self._blueprint.counts
        for name, kind in types.items():
            if kind not in wanted:
                raise ShoalError(
                    f"task assemble: {name} is a {kind}; expected {' or '.join(sorted(wanted))}, "
                    f"as blueprint '{self._blueprint.name}' has it"
                )
        for kind, need in wanted.items():
            if (have := list(types.values()).count(kind)) < need:
                raise ShoalError(
                    f"task assemble: blueprint '{self._blueprint.name}' has {need} cells for a {kind} and fleet "
                    f"'{self.fleet.name}' {have} of them; expected at least as many"
                )
        if s.into is not None:
            _check_into(s.into, self._blueprint)
        self.manager = FleetManager(
            self.fleet.names, self._blueprint.type_of, self._blueprint.size_m, PlanarPose(), s.manager, types=types
        )
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
        return self.build_director()

    @property
    def director_made(self) -> AssembleDirector | None:
        """The one of this run; None: not begun."""
        return self._director

    def build_director(self) -> AssembleDirector:
        """The one that `outcome` asks."""
        self._director = AssembleDirector(self.manager, self.fleet.names, self._s)
        return self._director

    def prepare(self, world: World) -> None:
        """Hulls and magnets act in this task."""
        self._world = world
        world.connectors = Connectors(world.plant, world.names)

    def finished(self, t_s: float, states: Array) -> bool:
        """Some seconds after the last stage."""
        over_s = None if self._director is None else self._director.over_s
        return over_s is not None and t_s > over_s + 5.0

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
        places = {name: self.manager.place(cell) for name, cell in self.manager.members.items()}
        platform = platform_pose({name: planar(states[name]) for name in places}, places)
        for name, place in places.items():
            own = planar(states[name]).seen_from(platform)
            if float(np.linalg.norm(own.position_m - place.position_m)) > 0.03:
                return Outcome(GOAL, None)
        return Outcome(GOAL, d.done_s)


def _check_into(name: str, before: Blueprint) -> None:
    """Refused at the start, not after a platform has been built."""
    after = load_blueprint(name)
    if after.size_m != before.size_m:
        raise ShoalError(f"task assemble: into '{name}' has other hulls than '{before.name}'; expected the same")
    try:
        check_reshaping(before.type_of, after)
    except ShoalError as error:
        raise ShoalError(f"task assemble: '{before.name}' into '{name}': {error}") from None


def planar(state: Array) -> PlanarPose:
    """The part of a state that matters to a vessel."""
    x, y, _ = state[POSITION]
    return PlanarPose(float(x), float(y), yaw_of(state[ATTITUDE]))


def reference_of(t_s: float, site: PlanarPose, tracks: Mapping[str, Track]) -> Preview:
    """The site, and everybody's own track."""
    own = {
        name: SurfaceTrack(t.pose.x_m, t.pose.y_m, t.pose.heading_rad, *t.velocity_mps.tolist())
        for name, t in tracks.items()
    }
    return replace(track_preview(t_s, SurfaceTrack(site.x_m, site.y_m, site.heading_rad)), tracks=own)


def placement_of(names: tuple[str, ...]) -> Placement:
    """Nobody has a place of a formation: setpoints are each vessel's own."""
    return Placement(dict.fromkeys(names, np.zeros(3)), 1.0, dict.fromkeys(names, 0.0), 0.0, names)
