"""What a fleet manager has to find again after a crash: enough to go on building, nothing that is measured."""

from __future__ import annotations

from collections import deque

import numpy as np
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.platform.berth import Berth
from shoal.platform.blueprint import Cell
from shoal.platform.jobs import Approach, Departure, Grid
from shoal.platform.manager import FleetManager
from shoal.platform.model import PlanarPose
from shoal.platform.planner import Berthing, Move, building_order

Pose = tuple[float, float, float]


class Plan(FileModel):
    """A `Berthing`."""

    cell: Cell
    side: Cell
    free: Cell | None

    @staticmethod
    def of(plan: Berthing) -> Plan:
        return Plan(cell=plan.cell, side=plan.side, free=plan.free)

    def berthing(self) -> Berthing:
        return Berthing(self.cell, self.side, self.free)


class Under(FileModel):
    """A vessel on its way into a cell or out of it."""

    vessel: str
    plan: Plan
    into: Plan | None = None  # of one that leaves, the cell it goes to next
    berths: bool = False  # its magnets are on


class ManagerMemory(FileModel):
    """Of a `FleetManager`."""

    cells: tuple[Cell, ...] = Field(min_length=1)
    founder: Cell
    site: Pose
    members: dict[str, Cell]
    failed: tuple[str, ...]
    wrecks: tuple[str, ...] = ()
    wanted: tuple[tuple[Cell, str], ...] = ()  # types, by cell
    left_out: tuple[Cell, ...]
    parking: dict[str, Pose]
    assigned: tuple[tuple[Cell, str], ...]
    moves: tuple[tuple[Plan, Plan], ...]
    approaches: tuple[Under, ...]
    departures: tuple[Under, ...]
    homeward: dict[str, tuple[tuple[float, float], ...]]
    parting: bool
    rounds_begun: int
    counter: int


def remembered(manager: FleetManager) -> ManagerMemory:
    """As it is now."""
    m = manager
    return ManagerMemory(
        cells=tuple(sorted(m.cells)),
        founder=m.grid.founder,
        site=_pose(m.site),
        members=dict(m.members),
        failed=tuple(sorted(m.failed)),
        wrecks=tuple(sorted(m.wrecks)),
        wanted=tuple(sorted(m.wanted.items())),
        left_out=tuple(sorted(m.left_out)),
        parking={name: _pose(pose) for name, pose in m.parking.items()},
        assigned=tuple(sorted(m.assigned.items())),
        moves=tuple((Plan.of(move.out), Plan.of(move.into)) for move in m.moves),
        approaches=tuple(
            Under(vessel=a.vessel, plan=Plan.of(a.plan), berths=a.berth is not None) for a in m.approaches
        ),
        departures=tuple(
            Under(vessel=d.vessel, plan=Plan.of(d.plan), into=None if d.into is None else Plan.of(d.into))
            for d in m.departures
        ),
        homeward={name: tuple((float(x), float(y)) for x, y in way) for name, way in m.homeward.items()},
        parting=m.parting,
        rounds_begun=m.rounds_begun,
        counter=m.counter,
    )


def restore(manager: FleetManager, memory: ManagerMemory, t_s: float) -> None:
    """Go on from there. Whoever berthed comes away and starts over; one that stays though it is pulled has latched."""
    m, s = manager, manager.settings
    m.cells, m.grid = frozenset(memory.cells), Grid(memory.founder, m.grid.size_m)
    _, m.rounds = building_order(m.cells, memory.founder if memory.founder in m.cells else None)
    m.site, m.members = PlanarPose(*memory.site), dict(memory.members)
    m.failed, m.left_out = set(memory.failed), set(memory.left_out)
    m.wrecks, m.wanted = set(memory.wrecks), dict(memory.wanted)
    m.parking = {name: PlanarPose(*pose) for name, pose in memory.parking.items()}
    m.assigned = dict(memory.assigned)
    m.moves = deque(Move(out.berthing(), into.berthing()) for out, into in memory.moves)
    m.approaches = []
    for under in memory.approaches:
        approach = Approach(under.vessel, under.plan.berthing(), t_s)
        if under.berths:
            approach.berth = Berth(s.berth, approach.plan.free is not None, manager.grid.half_m(approach.plan))
            approach.berth.stopped(t_s)
            approach.berth.magnets = True  # it may have latched
        m.approaches.append(approach)
    m.departures = [
        Departure(u.vessel, u.plan.berthing(), t_s, None if u.into is None else u.into.berthing())
        for u in memory.departures
    ]
    m.homeward = {name: [np.array(point) for point in way] for name, way in memory.homeward.items()}
    m.parting, m.rounds_begun, m.counter = memory.parting, memory.rounds_begun, memory.counter
    m.note(t_s, "all", "goes on after a restart")


def _pose(pose: PlanarPose) -> Pose:
    return pose.x_m, pose.y_m, pose.heading_rad
