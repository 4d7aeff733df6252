"""A vessel on its way into a cell, or out of it: geometry of the way, what is seen of it, where it is to go next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.platform.berth import Berth, Relative
from shoal.platform.blueprint import Cell, place
from shoal.platform.model import PlanarPose, rotation, wrapped
from shoal.platform.planner import Berthing, way_around
from shoal.platform.watch import Watch

Array = NDArray[np.float64]
WAYPOINT_M = 0.20  # nearer than this, the next one
FILTER = 0.25  # share of a new measurement in the relative pose
BESIDE_M = 0.10  # kept from a hull beside the way in, until a vessel lines up
STEP_M = 0.05
LEAVE_MPS = 0.05  # out of a cell


@dataclass(frozen=True)
class Track:
    """A reference: where, and how it moves from there."""

    pose: PlanarPose
    velocity_mps: Array = field(default_factory=lambda: np.zeros(2))  # (2,) world


@dataclass(frozen=True)
class Grid:
    """Cells as places in the platform's frame."""

    founder: Cell
    size_m: tuple[float, float]  # length and width of a cell

    def place(self, cell: Cell) -> PlanarPose:
        """In the platform's frame."""
        return place(cell, self.founder, self.size_m)

    def half_m(self, plan: Berthing) -> float:
        """Half of the side with which a vessel meets the platform."""
        ahead, _ = plan.side
        return self.size_m[1 if ahead else 0] / 2

    def box(self, frame: PlanarPose, cells: Iterable[Cell], margin_m: float) -> tuple[float, float, float, float]:
        """Around cells, with a margin, world."""
        half = np.array(self.size_m) / 2 + margin_m
        at = np.array([frame.then(self.place(cell)).position_m for cell in cells])
        low, high = at.min(axis=0) - half, at.max(axis=0) + half
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def axes(plan: Berthing) -> tuple[Array, Array]:
    """Unit vectors out of the berth and aside, platform frame; aside is away from a hull beside the way."""
    out = -np.array(plan.side, dtype=float)
    aside = np.array([-out[1], out[0]]) if plan.free is None else np.array(plan.free, dtype=float)
    return out, aside


def in_world(grid: Grid, frame: PlanarPose, plan: Berthing, out_m: float, aside_m: float = 0.0) -> PlanarPose:
    """A place on the way into a cell."""
    out, aside = axes(plan)
    cell = grid.place(plan.cell)
    x, y = cell.position_m + out_m * out + aside_m * aside
    return frame.then(PlanarPose(float(x), float(y), cell.heading_rad))


def staging(grid: Grid, frame: PlanarPose, plan: Berthing, out_m: float) -> PlanarPose:
    """Where berthing begins; off a hull beside the way in."""
    return in_world(grid, frame, plan, out_m, 0.0 if plan.free is None else BESIDE_M)


def outside_m(grid: Grid, frame: PlanarPose, plan: Berthing, out_m: float, box: tuple[float, ...]) -> float:
    """How far out the way in leaves a box around the platform: up to there it must be straight."""
    x0, y0, x1, y1 = box
    while True:
        x, y = staging(grid, frame, plan, out_m).position_m
        if not (x0 < x < x1 and y0 < y < y1):
            return out_m
        out_m += STEP_M


def short_of(grid: Grid, site: PlanarPose, platform: PlanarPose, plan: Berthing) -> float:
    """How far a berth lies short of its place along its way out, while the platform is not on the site."""
    out, _ = axes(plan)
    here, there = (in_world(grid, frame, plan, 0.0).position_m for frame in (platform, site))
    return float((there - here) @ (rotation(platform.heading_rad) @ out))


def next_on(way: list[Array], pose: PlanarPose | None) -> Array:
    """The point of a way that comes next; those that have been reached are taken off."""
    while pose is not None and len(way) > 1 and float(np.linalg.norm(way[0] - pose.position_m)) < WAYPOINT_M:
        way.pop(0)
    return way[0]


@dataclass
class Approach:
    """Into a cell."""

    vessel: str
    plan: Berthing
    began_s: float
    berth: Berth | None = None  # None: still in transit
    seen: Relative | None = None  # filtered
    way: list[Array] | None = None
    watch: Watch = field(default_factory=Watch)
    stuck_s: float = 0.0  # for so long it has not moved though it is asked to

    def staged(self, grid: Grid, site: PlanarPose, staging_m: float, pose: PlanarPose) -> bool:
        """Whether it is where berthing begins."""
        goal = staging(grid, site, self.plan, staging_m)
        return float(np.linalg.norm(goal.position_m - pose.position_m)) < WAYPOINT_M

    def transit(
        self,
        grid: Grid,
        site: PlanarPose,
        staging_m: float,
        pose: PlanarPose | None,
        box: tuple[float, ...],
        others: Sequence[tuple[float, ...]] = (),
    ) -> Track:
        """The next point of the way around the platform, and `others` that lie about."""
        goal = staging(grid, site, self.plan, staging_m)
        if pose is None:
            return Track(goal)
        if self.way is None:
            gate = staging(grid, site, self.plan, outside_m(grid, site, self.plan, staging_m, box))
            self.way = [*way_around(pose.position_m, gate.position_m, box, others), goal.position_m]
        x, y = next_on(self.way, pose)
        return Track(PlanarPose(float(x), float(y), goal.heading_rad))

    def look(self, t_s: float, pose: PlanarPose | None, track: Track) -> None:
        """For how long it has not moved though it is asked to; under way the end of the way counts."""
        x, y = track.pose.position_m if self.way is None or self.berth is not None else self.way[-1]
        self.stuck_s = self.watch.stuck_s(t_s, pose, PlanarPose(float(x), float(y)))

    def berthing(self, t_s: float, grid: Grid, site: PlanarPose, platform: PlanarPose, own: PlanarPose | None) -> Track:
        """Where its berth wants it now; `own`: as seen from the platform as measured, None: not tracked."""
        assert self.berth is not None
        short_m = short_of(grid, site, platform, self.plan)
        wanted = self.berth.step(t_s, None if own is None else self._relative(grid, own, short_m))
        out, aside = axes(self.plan)
        velocity = rotation(platform.heading_rad) @ (wanted.out_mps * out + wanted.aside_mps * aside)
        return Track(in_world(grid, platform, self.plan, wanted.out_m, wanted.aside_m), velocity)

    def _relative(self, grid: Grid, own: PlanarPose, short_m: float) -> Relative:
        out, aside = axes(self.plan)
        cell = grid.place(self.plan.cell)
        off = own.position_m - cell.position_m
        now = Relative(float(off @ out), float(off @ aside), wrapped(own.heading_rad - cell.heading_rad), short_m)
        if (last := self.seen) is not None:
            pairs = ((last.out_m, now.out_m), (last.aside_m, now.aside_m), (last.turn_rad, now.turn_rad))
            out_m, aside_m, turn_rad = ((1 - FILTER) * a + FILTER * b for a, b in pairs)
            now = Relative(out_m, aside_m, turn_rad, short_m)
        self.seen = now
        return now


@dataclass
class Departure:
    """Out of a cell, by the way it would come in; then to another one, or away."""

    vessel: str
    plan: Berthing
    began_s: float
    into: Berthing | None = None
    _out_m: float | None = None  # of the reference; None: not begun, or begun by a manager that died
    _last_s: float | None = None

    def clear(self, grid: Grid, platform: PlanarPose, staging_m: float, pose: PlanarPose) -> bool:
        """Whether it has left."""
        return self._seen_m(grid, platform, pose) > 0.8 * staging_m

    def _seen_m(self, grid: Grid, platform: PlanarPose, pose: PlanarPose) -> float:
        """How far out it is."""
        out, _ = axes(self.plan)
        return float((pose.seen_from(platform).position_m - grid.place(self.plan.cell).position_m) @ out)

    def leaving(self, t_s: float, grid: Grid, platform: PlanarPose, staging_m: float, pose: PlanarPose | None) -> Track:
        """Straight out from where it is; away from a hull beside the way as soon as it has come off."""
        if self._out_m is None:
            self._out_m = 0.0 if pose is None else max(0.0, self._seen_m(grid, platform, pose))
        dt_s = 0.0 if self._last_s is None else max(0.0, t_s - self._last_s)
        self._last_s, self._out_m = t_s, min(staging_m, self._out_m + LEAVE_MPS * dt_s)
        aside_m = 0.0 if self.plan.free is None else min(BESIDE_M, 0.3 * self._out_m)
        out, _ = axes(self.plan)
        moving = LEAVE_MPS if self._out_m < staging_m else 0.0
        velocity = rotation(platform.heading_rad) @ (moving * out)
        return Track(in_world(grid, platform, self.plan, self._out_m, aside_m), velocity)
