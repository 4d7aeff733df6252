"""The fleet manager: from a blueprint and measured poses to references, joints and owners; no operator in between.

Every vessel waits, is under way to its berth, berths, or is a member of the platform. Rounds of the plan berth at the
same time; a vessel that fails is replaced by a spare one, and a cell that nobody fills is left out with all that would
hang on it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.platform.berth import Berth, BerthSettings, Phase, Relative
from shoal.platform.blueprint import Cell, place
from shoal.platform.model import PlanarPose, platform_pose, rotation, wrapped
from shoal.platform.ownership import Ledger
from shoal.platform.planner import Berthing, assignment, berthing, building_order, way_around

Array = NDArray[np.float64]
WAYPOINT_M = 0.20  # nearer than this, the next one
FILTER = 0.25  # share of a new measurement in the relative pose


class ManagerSettings(FileModel):
    """Of the manager."""

    berth: BerthSettings = BerthSettings()
    staging_m: float = Field(default=0.45, gt=0, description="gap at which a vessel begins to berth")
    margin_m: float = Field(default=0.35, gt=0, description="kept from the platform on the way")
    transit_s: float = Field(default=90.0, gt=0, description="then a vessel under way is given up")


@dataclass(frozen=True)
class Track:
    """A reference: where, and how it moves from there."""

    pose: PlanarPose
    velocity_mps: Array = field(default_factory=lambda: np.zeros(2))  # (2,) world


@dataclass
class Approach:
    """A vessel on its way into a cell."""

    vessel: str
    plan: Berthing
    began_s: float
    berth: Berth | None = None  # None: still in transit
    seen: Relative | None = None  # filtered
    way: list[Array] | None = None


@dataclass(frozen=True)
class Event:
    """What happened, for logs and tables."""

    t_s: float
    vessel: str
    what: str


class FleetManager:
    """`step` a few times a second with everybody's measured pose."""

    def __init__(
        self,
        names: tuple[str, ...],
        cells: frozenset[Cell],
        size_m: tuple[float, float],
        site: PlanarPose,
        settings: ManagerSettings | None = None,
        founder: Cell | None = None,
    ) -> None:
        """`site`: where the founder is to be; `size_m`: length and width of a cell."""
        self.settings, self.size_m, self.site = settings or ManagerSettings(), size_m, site
        self._names, self.cells = names, cells
        self.founder_cell, self.rounds = building_order(cells, founder)
        self.ledger = Ledger(names)
        self.members: dict[str, Cell] = {}
        self.joints: list[tuple[str, str]] = []  # who berthed at whom
        self.approaches: list[Approach] = []
        self.failed: set[str] = set()
        self.left_out: set[Cell] = set()
        self.events: list[Event] = []
        self.counter = 0  # of changes of joints and partners
        self.stopped = False
        self.rounds_begun = 0
        self._parking: dict[str, PlanarPose] = {}
        self._assigned: dict[Cell, str] = {}
        self._platform: PlanarPose | None = None

    # -- what others ask ------------------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether every cell is filled or given up."""
        return set(self.members.values()) | self.left_out == self.cells

    @property
    def complete(self) -> bool:
        """Whether every cell is filled."""
        return set(self.members.values()) == self.cells

    @property
    def founder(self) -> str | None:
        """Whose frame the platform has, and whose controller steers it."""
        return next((name for name, cell in self.members.items() if cell == self.founder_cell), None)

    @property
    def partners(self) -> tuple[tuple[str, ...], ...]:
        """Groups that may come close, and whose magnets are on."""
        berthing_now = [a.vessel for a in self.approaches if a.berth is not None]
        return ((*berthing_now, *self.members),) if berthing_now else ()

    def place(self, cell: Cell) -> PlanarPose:
        """Of a cell in the platform's frame."""
        return place(cell, self.founder_cell, self.size_m)

    def phase_of(self, name: str) -> str:
        """In words."""
        if name in self.members:
            return "member"
        found = next((a for a in self.approaches if a.vessel == name), None)
        if found is None:
            return "failed" if name in self.failed else "waiting"
        return "transit" if found.berth is None else found.berth.phase.value

    def stop(self, t_s: float) -> None:
        """Emergency stop: whoever berths starts over when released."""
        self.stopped = True
        for approach in self.approaches:
            if approach.berth is not None:
                approach.berth.stopped(t_s)

    def release(self) -> None:
        """Go on."""
        self.stopped = False

    # -- a tick ---------------------------------------------------------------------------------------------------

    def step(self, t_s: float, poses: Mapping[str, PlanarPose | None]) -> dict[str, Track]:
        """References of all vessels; of members, their cells where the platform is to be."""
        known = {name: pose for name, pose in poses.items() if pose is not None}
        if not self.members:
            if len(known) < len(self._names):
                return {}
            self._begin(t_s, known)
        self._watch_platform(known)
        if not self.stopped:
            self._advance(t_s, known)
        tracks = {name: Track(self._parking[name]) for name in self._names}
        tracks |= {name: Track(self.site.then(self.place(cell))) for name, cell in self.members.items()}
        for approach in self.approaches:
            tracks[approach.vessel] = self._track(t_s, approach, known.get(approach.vessel))
        return tracks

    def _begin(self, t_s: float, known: Mapping[str, PlanarPose]) -> None:
        """Cells are shared out, the founder's vessel founds the platform where the site is."""
        self._parking = dict(known)
        places = {cell: self.site.then(self.place(cell)).position_m for cell in self.cells}
        self._assigned = assignment({n: p.position_m for n, p in known.items()}, places)
        founder = self._assigned[self.founder_cell]
        self.members[founder] = self.founder_cell
        self._parking[founder] = self.site
        self._note(t_s, founder, "founds the platform")

    def _watch_platform(self, known: Mapping[str, PlanarPose]) -> None:
        """The platform's frame from all members that are tracked."""
        seen = {name: known[name] for name in self.members if name in known}
        if not seen:
            return
        now = platform_pose(seen, {name: self.place(cell) for name, cell in self.members.items()})
        last = self._platform
        if last is not None:
            x, y = (1 - FILTER) * last.position_m + FILTER * now.position_m
            turn = last.heading_rad + FILTER * wrapped(now.heading_rad - last.heading_rad)
            now = PlanarPose(float(x), float(y), turn)
        self._platform = now

    def _advance(self, t_s: float, known: Mapping[str, PlanarPose]) -> None:
        for approach in list(self.approaches):
            self._watch(t_s, approach, known.get(approach.vessel))
        if not self.approaches and not self.finished:
            self._next_round(t_s, known)

    def _platform_there(self) -> bool:
        if self._platform is None:
            return False
        off = self._platform.seen_from(self.site)
        return float(np.hypot(off.x_m, off.y_m)) < 0.03 and abs(off.heading_rad) < 0.05

    def _next_round(self, t_s: float, known: Mapping[str, PlanarPose]) -> None:
        filled = set(self.members.values())
        left = self.cells - filled - self.left_out
        planned = [b.cell for r in self.rounds for b in r]
        begun: list[Berthing] = []
        for group in self.rounds:
            open_cells = [b.cell for b in group if b.cell in left]
            if open_cells:
                begun = [found for c in open_cells if (found := berthing(c, filled)) is not None]
                break
        if not begun:  # after a failure the plan's order may not work: whatever does
            begun = [f for c in sorted(left, key=planned.index) if (f := berthing(c, filled)) is not None][:1]
        if not begun:
            self.left_out |= left
            return
        self.rounds_begun += 1
        for plan in begun:
            vessel = self._vessel_for(plan.cell, known)
            if vessel is None:
                self.left_out.add(plan.cell)
                continue
            self.approaches.append(Approach(vessel, plan, t_s))
            self._note(t_s, vessel, f"sets out for cell {plan.cell}")

    def _vessel_for(self, cell: Cell, known: Mapping[str, PlanarPose]) -> str | None:
        taken = set(self.members) | self.failed | {a.vessel for a in self.approaches}
        own = self._assigned.get(cell)
        if own is not None and own not in taken and own in known:
            return own
        reserved = {v for c, v in self._assigned.items() if c not in self.members.values() and c != cell}
        spare = [n for n in known if n not in taken and n not in reserved] or [n for n in known if n not in taken]
        goal = self.site.then(self.place(cell)).position_m
        return min(spare, key=lambda n: float(np.linalg.norm(known[n].position_m - goal)), default=None)

    def _watch(self, t_s: float, approach: Approach, pose: PlanarPose | None) -> None:
        if approach.berth is None:
            late = t_s - approach.began_s > self.settings.transit_s
            there = pose is not None and self._platform_there() and self._staged(approach, pose)
            if there:
                approach.berth = Berth(self.settings.berth, approach.plan.free is not None)
                self.counter += 1
                self._note(t_s, approach.vessel, "lines up")
            elif late:
                self._give_up(t_s, approach)
            return
        phase = approach.berth.phase
        if phase is Phase.LATCHED:
            self._take_in(t_s, approach)
        elif phase is Phase.FAILED:
            self._give_up(t_s, approach)

    def _take_in(self, t_s: float, approach: Approach) -> None:
        """Ownership goes to the platform's controller; its model is made anew with the next joining."""
        at = next(name for name, cell in self.members.items() if cell == approach.plan.neighbour)
        self.approaches.remove(approach)
        self.members[approach.vessel] = approach.plan.cell
        self.joints.append((at, approach.vessel))
        founder = self.founder
        assert founder is not None
        self.ledger.transfer([approach.vessel], founder)
        self.counter += 1
        self._note(t_s, approach.vessel, "joined")

    def _give_up(self, t_s: float, approach: Approach) -> None:
        self.approaches.remove(approach)
        self.failed.add(approach.vessel)
        self.counter += 1
        self._note(t_s, approach.vessel, "given up")

    def _staged(self, approach: Approach, pose: PlanarPose) -> bool:
        goal = self._in_world(approach.plan, self.settings.staging_m, 0.0, self.site)
        return float(np.linalg.norm(goal.position_m - pose.position_m)) < WAYPOINT_M

    def _note(self, t_s: float, vessel: str, what: str) -> None:
        self.events.append(Event(t_s, vessel, what))

    # -- geometry -------------------------------------------------------------------------------------------------

    def _axes(self, plan: Berthing) -> tuple[Array, Array]:
        """Unit vectors out of the berth and aside, platform frame; aside is away from a hull beside the way."""
        out = -np.array(plan.side, dtype=float)
        aside = np.array([-out[1], out[0]]) if plan.free is None else np.array(plan.free, dtype=float)
        return out, aside

    def _in_world(self, plan: Berthing, out_m: float, aside_m: float, frame: PlanarPose | None = None) -> PlanarPose:
        """By where the platform is, or by `frame`."""
        out, aside = self._axes(plan)
        cell = self.place(plan.cell)
        x, y = cell.position_m + out_m * out + aside_m * aside
        return (frame or self._platform or self.site).then(PlanarPose(float(x), float(y), cell.heading_rad))

    def _relative(self, approach: Approach, pose: PlanarPose) -> Relative:
        out, aside = self._axes(approach.plan)
        cell = self.place(approach.plan.cell)
        own = pose.seen_from(self._platform or self.site)
        off = own.position_m - cell.position_m
        now = Relative(float(off @ out), float(off @ aside), wrapped(own.heading_rad - cell.heading_rad))
        last = approach.seen
        if last is not None:
            pairs = ((last.out_m, now.out_m), (last.aside_m, now.aside_m), (last.turn_rad, now.turn_rad))
            now = Relative(*((1 - FILTER) * a + FILTER * b for a, b in pairs))
        approach.seen = now
        return now

    def _track(self, t_s: float, approach: Approach, pose: PlanarPose | None) -> Track:
        plan = approach.plan
        if approach.berth is None:
            return Track(self._transit(approach, pose))
        wanted = approach.berth.step(t_s, None if pose is None or self.stopped else self._relative(approach, pose))
        out, aside = self._axes(plan)
        heading = (self._platform or self.site).heading_rad
        velocity = rotation(heading) @ (wanted.out_mps * out + wanted.aside_mps * aside)
        return Track(self._in_world(plan, wanted.out_m, wanted.aside_m), velocity)

    def _transit(self, approach: Approach, pose: PlanarPose | None) -> PlanarPose:
        goal = self._in_world(approach.plan, self.settings.staging_m, 0.0, self.site)
        if pose is None:
            return goal
        if approach.way is None:
            approach.way = way_around(pose.position_m, goal.position_m, self._box())
        while len(approach.way) > 1 and float(np.linalg.norm(approach.way[0] - pose.position_m)) < WAYPOINT_M:
            approach.way.pop(0)
        x, y = approach.way[0]
        return PlanarPose(float(x), float(y), goal.heading_rad)

    def _box(self) -> tuple[float, float, float, float]:
        """Around the platform as it is, with a margin, world."""
        half = np.array(self.size_m) / 2 + self.settings.margin_m
        at = np.array([self.site.then(self.place(cell)).position_m for cell in self.members.values()])
        low, high = at.min(axis=0) - half, at.max(axis=0) + half
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])
