"""A chain in the water: the vehicles of a fleet dock one after the other, and swim on as one. Judged as `dock` is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.docking.phases import DockingSettings, Phase
from shoal.docking.pilot import bearing_deg, level_heading_rad
from shoal.errors import ShoalError
from shoal.frames import from_yaw, matrix
from shoal.messages.state import POSITION, State
from shoal.recordings.recording import Outcome, Recording
from shoal.simulation.simulator import Directing, FleetSimulator
from shoal.simulation.water import Field as Water
from shoal.tasks.base import Task, TaskContext, TaskSettings
from shoal.tasks.chain_director import ChainDirector, ChainPlan
from shoal.tasks.dock import LONGEST_S, drawn_current, port_pair, why_not

Array = NDArray[np.float64]
GOAL = "docked"
APART_M = 2.0  # between two that wait


class DockChainSettings(TaskSettings):
    """From where, and what then."""

    leader_port: str = Field(default="stern", description="of everybody but the last")
    follower_port: str = "bow"
    first_m: float = Field(default=3.5, gt=0.5, description="from the first one's port to the second one's, about")
    bearing_deg: float = Field(default=12.0, ge=0, le=25, description="of the starts off the port's axis, at most")
    current_mps: float = Field(default=0.2, ge=0, le=2, description="beside the condition's, from a direction drawn")
    settle_s: float = Field(default=3.0, ge=0, le=60, description="from a latch to the next one's order")
    swim_on_s: float = Field(default=3.0, ge=0, le=LONGEST_S, description="as one, after the last latch has closed")
    path: str = Field(default="", description="that the chain follows then; empty: it holds")
    duration_s: float = Field(default=200.0, gt=0, le=LONGEST_S, description="at most")


class DockChainTask(Task):
    """Of all vehicles of the fleet, in its order."""

    Settings = DockChainSettings
    bounds: ClassVar[Mapping[str, float]] = {"distance_min_m": 0.0, "path_error_max_m": 1e3}

    def __init__(self, context: TaskContext) -> None:
        super().__init__(context)
        names, s = self.fleet.names, self._settings
        if len(names) < 2:
            raise ShoalError(f"task dock_chain: fleet '{self.fleet.name}' has one vehicle; expected two at least")
        self.fleet = self.fleet.model_copy(update={"sight": self.fleet.sight.model_copy(update={"topology": "none"})})
        self._vehicles = {m.name: m.vehicle() for m in self.fleet.vehicles}
        self._pairs = {
            (a, b): port_pair("dock_chain", self._vehicles, (a, s.leader_port), (b, s.follower_port))
            for a, b in pairwise(names)
        }
        self._director: ChainDirector | None = None
        self._measured: dict[str, float] = {}
        rng = self.rng(12)
        self._start = self._draw(rng)
        self._water = drawn_current(s.current_mps, self.condition, rng, self.rng(2), s.duration_s)

    @property
    def _settings(self) -> DockChainSettings:
        settings: DockChainSettings = self.context.settings
        return settings

    @property
    def duration_s(self) -> float:
        return self._settings.duration_s

    def _draw(self, rng: np.random.Generator) -> dict[str, State]:
        """One behind the other along the axis of the first one's port, each aside of it by what is drawn."""
        s, names = self._settings, self.fleet.names
        heading = float(rng.uniform(-math.pi, math.pi))
        lead = State.at_rest(np.array([0.0, 0.0, 5.0]), heading)
        found, turned = {names[0]: lead}, heading
        port = self._pairs[names[0], names[1]][0]
        axis = math.atan2(port.direction[1], port.direction[0]) + heading
        at_port = lead.array[POSITION] + matrix(from_yaw(heading)) @ port.place_m
        for k, name in enumerate(names[1:]):
            turned += level_heading_rad(*self._pairs[names[k], name])
            range_m = s.first_m + 1.5 * APART_M * k + float(rng.uniform(-0.4, 0.4))
            aside, up, off = rng.uniform(-1.0, 1.0, 3) * math.radians(s.bearing_deg)
            way = np.array([math.cos(axis + aside), math.sin(axis + aside), math.sin(0.5 * up)])
            found[name] = State.at_rest(at_port + range_m * way, turned + aside + 0.5 * off)
        return found

    def start(self) -> dict[str, State]:
        return self._start

    def current(self) -> Water | None:
        return self._water

    def director(self) -> Directing:
        s = self._settings
        plan = ChainPlan(s.leader_port, s.follower_port, s.settle_s, s.swim_on_s, s.path)
        self._director = ChainDirector(plan, self._vehicles, self.fleet.names, DockingSettings())
        return self._director

    def finished(self, t_s: float, states: Array) -> bool:
        return self._director is not None and self._director.over(t_s)

    def observe(self, simulator: FleetSimulator) -> None:
        d, docks = self._director, simulator.world.docks.all.values()
        if d is None:
            return
        latches = [link.latch for link in d.links if link.latch is not None]
        impacts = [v for dock in docks for v in dock.contacts.impacts_mps]
        self._measured = {
            "dock_kbps": simulator.sent_bits / max(simulator.world.t_s, 1e-9) / 1e3,
            "dock_beside": float(sum(dock.contacts.beside_port for dock in docks)),
            "dock_tries": float(d.feedback.tries if d.feedback is not None else 0),
        }
        if latches:
            self._measured |= {
                "dock_speed_mps": max([*(latch.mating.speed_mps for latch in latches), *impacts]),
                "dock_angle_deg": max(latch.mating.angle_deg for latch in latches),
                "dock_gap_m": max(float(np.linalg.norm(latch.mating.gap_m)) for latch in latches),
            }

    def outcome(self, recording: Recording) -> Outcome:
        """When the last latch closed; the worst of all dockings."""
        d, names, gaps = self._director, self.fleet.names, []
        for i in range(len(names)):
            for k in range(i):
                gaps.append(recording.states[:, i, POSITION] - recording.states[:, k, POSITION])
        self._measured["dock_distance_m"] = float(np.linalg.norm(np.array(gaps), axis=2).min())
        if d is None:
            return Outcome(GOAL, None, dict(self._measured))
        bearings, from_s = [], 0.0
        for link in d.links:
            began_s = next((t for t, phase in d.phases if t >= from_s and phase == Phase.APPROACH.value), None)
            if began_s is not None:
                inside = (recording.times_s >= began_s) & (recording.times_s < link.latched_s)
                i, k = names.index(link.leader), names.index(link.follower)
                a, b = self._pairs[link.leader, link.follower]
                for x in recording.states[inside][::2]:
                    bearings += [bearing_deg(a, x[i], b, x[k]), bearing_deg(b, x[k], a, x[i])]
            from_s = link.latched_s
        self._measured["dock_bearing_deg"] = max(bearings, default=0.0)
        complete = len(d.links) == len(names) - 1
        why = "" if complete else f"{len(d.links)} of {len(names) - 1} dockings; {why_not(d.feedback)}"
        return Outcome(GOAL, d.links[-1].latched_s if complete else None, dict(self._measured), why)
