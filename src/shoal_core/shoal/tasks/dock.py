"""Dock in the water: a follower comes to a leader's port, latches, and the two swim on as one.

Judged on the true states: bearings of both cameras, speed and angle at contact, touches beside the port, traffic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.docking.phases import DockingSettings, Phase
from shoal.docking.pilot import bearing_deg, level_heading_rad
from shoal.docking.ports_by_name import port_of
from shoal.errors import ShoalError
from shoal.frames import from_yaw, matrix
from shoal.messages.docking import DockingFeedback
from shoal.messages.state import POSITION, State
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.conditions import Condition
from shoal.simulation.currents import ConstantCurrent
from shoal.simulation.simulator import Directing, FleetSimulator
from shoal.simulation.water import Field as Water
from shoal.simulation.water import build_current
from shoal.tasks.base import Task, TaskContext, TaskSettings
from shoal.tasks.dock_director import DockDirector, Plan
from shoal.vehicles.description import Vehicle
from shoal.vehicles.ports import Port, fits

Array = NDArray[np.float64]
GOAL = "docked"
LONGEST_S = 600.0


class DockTaskSettings(TaskSettings):
    """Who docks with whom, from where, and what then."""

    leader_port: str = "stern"
    follower_port: str = "bow"
    range_m: tuple[float, float] = Field(default=(3.0, 6.0), description="between the ports at the start")
    bearing_deg: float = Field(default=16.0, ge=0, le=180, description="of the start off either camera's axis, at most")
    current_mps: float = Field(default=0.2, ge=0, le=2, description="beside the condition's, from a direction drawn")
    leader_mps: float = Field(default=0.0, ge=0, le=1, description="of the leader, in a direction drawn")
    leader_dps: float = Field(default=0.0, ge=-45, le=45, description="how fast the leader turns")
    camera: bool = Field(default=True, description="false: by both navigations alone")
    swim_on_s: float = Field(default=3.0, ge=0, le=LONGEST_S, description="as one, after the latch has closed")
    path: str = Field(default="", description="that the two follow as one then; empty: they hold")
    undock: bool = Field(default=False, description="part again after that")
    duration_s: float = Field(default=90.0, gt=0, le=LONGEST_S, description="at most")

    @model_validator(mode="after")
    def _ordered(self) -> DockTaskSettings:
        if not 0 < self.range_m[0] <= self.range_m[1]:
            raise ValueError(f"range_m = {list(self.range_m)}; expected 0 < least <= largest")
        if self.path and self.swim_on_s == 0:
            raise ValueError(f"path = '{self.path}' with swim_on_s = 0 does nothing; expected swim_on_s > 0 with it")
        return self


class DockTask(Task):
    """Of the first two vehicles of the fleet: the first one leads."""

    Settings = DockTaskSettings
    # Two that dock come nearer than any fleet's limits; the task's own metrics judge that.
    bounds: ClassVar[Mapping[str, float]] = {"distance_min_m": 0.0, "path_error_max_m": 1e3}

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        names = self.fleet.names
        if len(names) < 2:
            raise ShoalError(f"task dock: fleet '{self.fleet.name}' has {len(names)} vehicle; expected two at least")
        self.fleet = self.fleet.model_copy(update={"sight": self.fleet.sight.model_copy(update={"topology": "none"})})
        s, (leader, follower) = self._settings, self.fleet.vehicles[:2]
        self._vehicles = {m.name: m.vehicle() for m in (leader, follower)}
        self._ports = port_pair("dock", self._vehicles, (leader.name, s.leader_port), (follower.name, s.follower_port))
        self._turn_rad = level_heading_rad(*self._ports)
        self._director: DockDirector | None = None
        self._measured: dict[str, float] = {}
        rng = self.rng(11)
        self._heading_rad = float(rng.uniform(-math.pi, math.pi))
        self._start = self._draw(rng)
        self._water = drawn_current(s.current_mps, self.condition, rng, self.rng(2), s.duration_s)
        course = float(rng.uniform(-math.pi, math.pi))
        self._leader_mps = s.leader_mps * np.array([math.cos(course), math.sin(course), 0.0])

    @property
    def _settings(self) -> DockTaskSettings:
        settings: DockTaskSettings = self.context.settings
        return settings

    @property
    def duration_s(self) -> float:
        return self._settings.duration_s

    def _draw(self, rng: np.random.Generator) -> dict[str, State]:
        """The leader anywhere, the follower off its port within the bearings."""
        s, (leader, follower) = self._settings, self.fleet.names[:2]
        lead = State.at_rest(np.array([0.0, 0.0, 5.0]), self._heading_rad)
        for _ in range(10_000):
            apart_m = rng.uniform(*s.range_m)
            aside, up, turned = rng.uniform(-1.0, 1.0, 3) * math.radians(s.bearing_deg)
            up = max(-0.3, min(0.3, up))
            port = self._ports[0]
            axis = math.atan2(port.direction[1], port.direction[0]) + self._heading_rad + aside
            way = np.array([math.cos(up) * math.cos(axis), math.cos(up) * math.sin(axis), math.sin(up)])
            place = lead.array[POSITION] + matrix(from_yaw(self._heading_rad)) @ port.place_m + apart_m * way
            heading = self._heading_rad + self._turn_rad + aside + turned
            place = place - matrix(from_yaw(heading)) @ self._ports[1].place_m
            follow = State.at_rest(place, heading)
            if max(self._bearings(lead.array, follow.array)) <= s.bearing_deg or s.bearing_deg > 90:
                others = {
                    name: State.at_rest(np.array([0.0, 8.0 * (k + 1), 5.0]), 0.0)
                    for k, name in enumerate(self.fleet.names[2:])
                }
                return {leader: lead, follower: follow, **others}
        raise ShoalError(f"task dock: no start found with bearing_deg = {s.bearing_deg:g}; expected a wider one")

    def _bearings(self, leader: Array, follower: Array) -> tuple[float, float]:
        a, b = self._ports
        return bearing_deg(a, leader, b, follower), bearing_deg(b, follower, a, leader)

    def start(self) -> dict[str, State]:
        return self._start

    def current(self) -> Water | None:
        return self._water

    def director(self) -> Directing:
        s, names = self._settings, self.fleet.names
        plan = Plan(
            names[0], s.leader_port, names[1], s.follower_port, self._leader_mps, math.radians(s.leader_dps),
            not s.camera, s.swim_on_s, s.path, s.undock,
        )  # fmt: skip
        self._director = DockDirector(plan, self._vehicles, names, DockingSettings())
        return self._director

    def finished(self, t_s: float, states: Array) -> bool:
        return self._director is not None and self._director.over(t_s)

    def observe(self, simulator: FleetSimulator) -> None:
        d, dock = self._director, next(iter(simulator.world.docks.all.values()), None)
        if d is None or dock is None:
            return
        elapsed_s = max(simulator.world.t_s, 1e-9)
        self._measured = {
            "dock_kbps": simulator.sent_bits / elapsed_s / 1e3,
            "dock_beside": float(dock.contacts.beside_port),
            "dock_tries": float(d.feedback.tries if d.feedback is not None else 0),
        }
        if d.latch is not None:
            now = d.latch.mating
            self._measured |= {
                "dock_speed_mps": max([now.speed_mps, *dock.contacts.impacts_mps]),
                "dock_angle_deg": now.angle_deg,
                "dock_gap_m": float(np.linalg.norm(now.gap_m)),
            }

    def outcome(self, recording: Recording) -> Outcome:
        """When the latch closed; and that they parted again, if they were to."""
        d = self._director
        reached_s = None if d is None or d.latch is None else d.latch.t_s
        found = [] if d is None else [t for t, phase in d.phases if phase == Phase.APPROACH.value]
        if found:  # until then it is a search, and nobody need be in view
            inside = (recording.times_s >= found[0]) & (recording.times_s < (reached_s or math.inf))
            bearings = [max(self._bearings(x[0], x[1])) for x in recording.states[inside][::2]]
            self._measured["dock_bearing_deg"] = max(bearings, default=0.0)
        gaps = np.linalg.norm(recording.states[:, 0, POSITION] - recording.states[:, 1, POSITION], axis=1)
        self._measured["dock_distance_m"] = float(gaps.min())
        if d is not None and self._settings.undock and d.parted_s is None:
            reached_s = None
        why = "" if reached_s is not None else why_not(None if d is None else d.feedback)
        return Outcome(GOAL, reached_s, dict(self._measured), why)


def why_not(told: DockingFeedback | None) -> str:
    """How far the last docking came, by the word of whoever moved."""
    if told is None:
        return "nothing was heard of it"
    if told.refused:
        return f"refused: {told.refused}"
    reason = f": {told.reason}" if told.reason else ""
    return f"{told.phase}{reason}, try {told.tries}"


def port_pair(
    task: str, vehicles: Mapping[str, Vehicle], leader: tuple[str, str], follower: tuple[str, str]
) -> tuple[Port, Port]:
    """Of vehicle and port, both by name; a ShoalError where these cannot find each other, or cannot latch."""
    found = tuple(_seeing(task, name, vehicles[name].ports, port) for name, port in (leader, follower))
    if not fits(*found):
        raise ShoalError(
            f"task {task}: port '{leader[1]}' of {leader[0]} is {found[0].kind}, '{follower[1]}' of {follower[0]} "
            f"{found[1].kind}; expected two androgynous ones, or a plug and a socket"
        )
    return found[0], found[1]


def drawn_current(
    speed_mps: float, condition: Condition, direction: np.random.Generator, rng: np.random.Generator, duration_s: float
) -> Water | None:
    """The condition's, and a steady one from a direction that is drawn; None: the condition's alone."""
    away = direction.standard_normal(3)
    if speed_mps == 0:
        return None
    x, y, z = (speed_mps * away / np.linalg.norm(away)).tolist()
    drawn = ConstantCurrent(kind="constant", velocity_mps=(x, y, z))
    now = condition.environment
    water = now.model_copy(update={"currents": (*now.currents, drawn)})
    return build_current(water, rng, duration_s + 10.0)


def _seeing(task: str, vehicle: str, ports: tuple[Port, ...], name: str) -> Port:
    port = port_of(vehicle, ports, name)
    if port.camera is None or port.marker is None:
        seeing = ", ".join(p.name for p in ports if p.camera is not None and p.marker is not None) or "none"
        raise ShoalError(
            f"task {task}: port '{name}' of '{vehicle}' has no camera or no marker; "
            f"expected one that has both: {seeing}"
        )
    return port
