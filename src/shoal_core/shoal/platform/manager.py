"""The fleet manager: from a blueprint and measured poses to references and joints; no operator in between.

Every vessel waits, is under way to its berth, berths, is a member of the platform, or leaves it. Rounds of the plan
berth at the same time; a vessel that fails is replaced by a spare one, and a cell that nobody fills is left out with
all that would hang on it alone. Nothing new begins before the vessels themselves say that one controller has them all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.messages.joining import Ownership
from shoal.platform.berth import Berth, Phase
from shoal.platform.blueprint import Cell
from shoal.platform.jobs import Approach, Departure, Grid, Track, next_on, outside_m
from shoal.platform.model import PlanarPose
from shoal.platform.planner import (
    Berthing,
    Move,
    assignment,
    berthing,
    building_order,
    leaving,
    reshaping,
    tree,
    typed,
    way_around,
)
from shoal.platform.settings import Event, ManagerSettings
from shoal.platform.sight import Sight
from shoal.platform.watch import BERTHING, Watch
from shoal.platform.wrecks import boxes, free_site, unblocked

Array = NDArray[np.float64]
NEARLY_M, NEARLY_RAD = 0.15, 0.15  # off the site while vessels line up: they go by the platform as it is seen
TRANSFER_S = 2.0  # ownership that is disputed for longer is reported


class FleetManager:
    """`hear` what the vessels say, then `step`, a few times a second with everybody's measured pose."""

    def __init__(
        self,
        names: tuple[str, ...],
        cells: Collection[Cell] | Mapping[Cell, str],
        size_m: tuple[float, float],
        site: PlanarPose,
        settings: ManagerSettings | None = None,
        founder: Cell | None = None,
        types: Mapping[str, str] | None = None,
    ) -> None:
        """`site`: where the founder is to be; `size_m`: length and width of a cell; `types` of vessels, by name.

        Cells that come with types take vessels of that type only.
        """
        self.settings, self.site = settings or ManagerSettings(), site
        self._names, self.cells, self.types = names, frozenset(cells), dict(types or {})
        self.wanted = {cell: kind for cell, kind in typed(cells).items() if kind}
        first, self.rounds = building_order(self.cells, founder)
        self.grid = Grid(first, size_m)
        self.members: dict[str, Cell] = {}
        self.approaches: list[Approach] = []
        self.departures: list[Departure] = []
        self.failed, self.wrecks = set[str](), set[str]()  # wrecks: of the failed those that do not swim any more
        self.left_out: set[Cell] = set()
        self.events: list[Event] = []
        self.counter = 0  # of changes of joints and partners
        self.stopped_s: float | None = None  # since when STOP holds
        self.rounds_begun = 0
        self.parking: dict[str, PlanarPose] = {}
        self.assigned: dict[Cell, str] = {}
        self.moves = deque[Move]()
        self.homeward: dict[str, list[Array]] = {}  # ways of those that have left
        self.parting = False
        self._sight = Sight()
        self._owners: Mapping[str, Ownership] = {}
        self._disputed_s: float | None = None
        self._magnets: tuple[tuple[str, ...], ...] = ()  # as they were ordered

    # -- what others ask ------------------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether every cell is filled or given up, or the platform is apart."""
        if self.moves or self.departures or self.approaches:
            return False
        if self.parting:
            return len(self.members) <= 1
        return set(self.members.values()) | self.left_out == self.cells

    @property
    def complete(self) -> bool:
        """Whether every cell is filled, and one controller has all of it."""
        return set(self.members.values()) == self.cells and self.owned

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        """Pairs that hang together, each member once: a tree over neighbouring cells."""
        at = {cell: name for name, cell in self.members.items()}
        start = self.grid.founder if self.grid.founder in at else min(at, default=None)
        return () if start is None else tuple((at[a], at[b]) for a, b in tree(at, start))

    @property
    def partners(self) -> tuple[tuple[str, ...], ...]:
        """Groups that may come close."""
        near = [a.vessel for a in self.approaches if a.berth is not None] + [d.vessel for d in self.departures]
        return ((*near, *self.members),) if near else ()

    @property
    def magnets(self) -> tuple[tuple[str, ...], ...]:
        """Groups whose magnets are on: whoever has felt the hull, each with the platform."""
        held = [a.vessel for a in self.approaches if a.berth is not None and a.berth.magnets]
        return tuple((vessel, *self.members) for vessel in held)

    @property
    def owned(self) -> bool:
        """Whether all members that can be heard say that they obey one and the same of them, the others themselves."""
        told = {name: self._owners[name].owner for name in self._names if name in self._owners}
        members = {owner for name, owner in told.items() if name in self.members}
        alone = all(owner == name for name, owner in told.items() if name not in self.members)
        return len(members) == 1 and members <= set(self.members) and alone

    def place(self, cell: Cell) -> PlanarPose:
        """Of a cell in the platform's frame."""
        return self.grid.place(cell)

    def phase_of(self, name: str) -> str:
        """In words."""
        if name in self.members:
            return "member"
        if any(d.vessel == name for d in self.departures):
            return "leaves"
        found = next((a for a in self.approaches if a.vessel == name), None)
        if found is None:
            return "failed" if name in self.failed else "waiting"
        return "transit" if found.berth is None else found.berth.phase.value

    # -- orders ---------------------------------------------------------------------------------------------------

    def hear(self, t_s: float, stopped: bool, owners: Mapping[str, Ownership]) -> None:
        """STOP, and whom every vessel says it obeys. After a STOP whoever berthed starts over from the stand-off."""
        self._owners = owners
        if stopped and self.stopped_s is None:
            self.stopped_s = t_s
            self.note(t_s, "all", "stopped")
        elif not stopped and self.stopped_s is not None:
            for approach in self.approaches:
                approach.began_s += t_s - self.stopped_s
                approach.watch.begin_again()
                if approach.berth is not None:
                    approach.berth.stopped(t_s)
            self.stopped_s = None
            self.note(t_s, "all", "released")

    def reshape(self, cells: Collection[Cell] | Mapping[Cell, str]) -> None:
        """Into another blueprint of as many cells, with the fewest moves."""
        into = typed(cells)
        now = {cell: self.types.get(name, "") if any(into.values()) else "" for name, cell in self.members.items()}
        shift, moves = reshaping(now, into)
        wanted = {(r + shift[0], c + shift[1]): kind for (r, c), kind in into.items()}
        self.cells, self.wanted = frozenset(wanted), wanted if any(wanted.values()) else {}
        self.moves, self.left_out = deque(moves), set()
        _, self.rounds = building_order(self.cells)  # by which it is taken apart

    def part(self) -> None:
        """Take the platform apart, down to one vessel."""
        self.parting = True

    # -- a tick ---------------------------------------------------------------------------------------------------

    def step(self, t_s: float, poses: Mapping[str, PlanarPose | None]) -> dict[str, Track]:
        """References of all vessels; of members, their cells where the platform is to be."""
        known = {name: pose for name, pose in poses.items() if pose is not None}
        if not self.members:
            if len(known) < len(self._names):
                return {}
            self._begin(t_s, known)
        for name, pose in known.items():
            self.parking.setdefault(name, pose)
        self._sight.see(known, {name: self.place(cell) for name, cell in self.members.items()})
        if self.stopped_s is None:
            self._advance(t_s, known)
        tracks = {name: Track(self.parking[name]) for name in self._names if name in self.parking}
        for name, way in self.homeward.items():
            x, y = next_on(way, known.get(name))
            tracks[name] = Track(PlanarPose(float(x), float(y), self.parking[name].heading_rad))
        tracks |= {name: Track(self.site.then(self.place(cell))) for name, cell in self.members.items()}
        if self.stopped_s is not None:  # nobody moves: where each of them is
            return {name: Track(known.get(name, track.pose)) for name, track in tracks.items()}
        platform, s = self._sight.smooth or self.site, self.settings
        for departure in self.departures:
            tracks[departure.vessel] = departure.leaving(
                t_s, self.grid, platform, self._away_m(departure), known.get(departure.vessel)
            )
        for approach in self.approaches:
            here = known.get(approach.vessel)
            measured = self._sight.measured
            seen = None if here is None or measured is None else here.seen_from(measured)
            if approach.berth is None:
                box = self.grid.box(self.site, self.members.values(), s.margin_m)
                around = boxes(self._lying(known))
                track = approach.transit(self.grid, self.site, s.staging_m, here, box, around)
            else:
                track = approach.berthing(t_s, self.grid, self.site, platform, seen)
            approach.look(t_s, here, track)
            tracks[approach.vessel] = track
        if self.magnets != self._magnets:
            self._magnets = self.magnets
            self.counter += 1
        return tracks

    def _begin(self, t_s: float, known: Mapping[str, PlanarPose]) -> None:
        """Cells are shared out, the founder's vessel founds the platform where the site is."""
        self.parking = dict(known)
        places = {cell: self.site.then(self.place(cell)).position_m for cell in self.cells}
        at_m = {name: pose.position_m for name, pose in known.items()}
        self.assigned = assignment(at_m, places, self.types if self.wanted else None, self.wanted)
        founder = self.assigned[self.grid.founder]
        self.members[founder] = self.grid.founder
        self.note(t_s, founder, "founds the platform")

    def _advance(self, t_s: float, known: Mapping[str, PlanarPose]) -> None:
        for approach in list(self.approaches):
            self._watch(t_s, approach, known.get(approach.vessel))
        for departure in list(self.departures):
            self._watch_leaving(t_s, departure, known.get(departure.vessel))
        if self.approaches or self.departures or not self._transferred(t_s):
            return
        if self.moves:
            move = self.moves.popleft()
            self._leave(t_s, [(move.out, move.into)])
        elif self.parting:
            self._part_round(t_s)
        elif not self.finished and (not self.wrecks or self.there(NEARLY_M, NEARLY_RAD)):
            self._next_round(t_s, known)

    def _transferred(self, t_s: float) -> bool:
        """Ownership is where it belongs."""
        if self.owned:
            self._disputed_s = None
            return True
        if self._disputed_s is None:
            self._disputed_s = t_s
        elif t_s - self._disputed_s > TRANSFER_S:
            told = ", ".join(f"{name} obeys {o.owner}" for name, o in self._owners.items())
            self.note(t_s, "all", f"no single owner: {told or 'nobody says whom it obeys'}")
            self._disputed_s = t_s
        return False

    def there(self, within_m: float = 0.03, within_rad: float = 0.05) -> bool:
        """Whether the platform is where it is to be."""
        return self._sight.near(self.site, within_m, within_rad)

    # -- building -------------------------------------------------------------------------------------------------

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
            rest = sorted(left, key=lambda c: (planned.index(c) if c in planned else len(planned), c))
            begun = [f for c in rest if (f := berthing(c, filled)) is not None][:1]
        if not begun:
            self.left_out |= left
            return
        if self.wrecks and (begun := self._not_blocked(t_s, begun, known)) == []:
            return
        self.rounds_begun += 1
        for plan in begun:
            vessel = self._vessel_for(plan.cell, known)
            if vessel is None:
                self.left_out.add(plan.cell)
                continue
            self.approaches.append(Approach(vessel, plan, t_s))
            self.note(t_s, vessel, f"sets out for cell {plan.cell}")

    def _vessel_for(self, cell: Cell, known: Mapping[str, PlanarPose]) -> str | None:
        taken = set(self.members) | self.failed | {a.vessel for a in self.approaches}
        own = self.assigned.get(cell)
        if own is not None and own not in taken and own in known:
            return own
        reserved = {v for c, v in self.assigned.items() if c not in self.members.values() and c != cell}
        free = [n for n in known if n not in taken and self.types.get(n) == self.wanted.get(cell, self.types.get(n))]
        spare = [n for n in free if n not in reserved] or free
        goal = self.site.then(self.place(cell)).position_m
        return min(spare, key=lambda n: float(np.linalg.norm(known[n].position_m - goal)), default=None)

    def _watch(self, t_s: float, approach: Approach, pose: PlanarPose | None) -> None:
        s = self.settings
        if approach.berth is None:
            if (
                pose is not None
                and self.there(NEARLY_M, NEARLY_RAD)
                and approach.staged(self.grid, self.site, s.staging_m, pose)
            ):
                approach.berth = Berth(s.berth, approach.plan.free is not None, self.grid.half_m(approach.plan))
                self.counter += 1
                approach.watch = Watch(*BERTHING)
                self.note(t_s, approach.vessel, "lines up")
            elif t_s - approach.began_s > s.transit_s or approach.stuck_s > s.stuck_s:
                self._give_up(t_s, approach, pose)
        elif approach.berth.phase is Phase.LATCHED:
            self._take_in(t_s, approach)
        elif approach.berth.phase is Phase.FAILED or approach.stuck_s > s.stuck_s:
            self._give_up(t_s, approach, pose)

    def _take_in(self, t_s: float, approach: Approach) -> None:
        """With the next joining the platform's controller owns it too, and its model is made anew."""
        self.approaches.remove(approach)
        self.members[approach.vessel] = approach.plan.cell
        self.counter += 1
        self.note(t_s, approach.vessel, "joined")

    def _give_up(self, t_s: float, approach: Approach, pose: PlanarPose | None) -> None:
        """If it swims at all it goes back to where it waited; whoever does not lies where it is from now on."""
        self.approaches.remove(approach)
        self.failed.add(approach.vessel)
        self.homeward[approach.vessel] = self._way_home(approach.vessel, pose)
        self.counter += 1
        stuck = approach.stuck_s > self.settings.stuck_s or (approach.berth is not None and approach.berth.never)
        self.wrecks |= {approach.vessel} if stuck else set()
        self.note(t_s, approach.vessel, "does not move: given up" if stuck else "given up")

    def _lying(self, known: Mapping[str, PlanarPose]) -> list[PlanarPose]:
        return [known[name] for name in self.wrecks if name in known]

    def _not_blocked(self, t_s: float, plans: list[Berthing], known: Mapping[str, PlanarPose]) -> list[Berthing]:
        """Those whose way in no wreck blocks; none: another cell, else the platform moves aside, if it can."""
        filled, s, lying = set(self.members.values()), self.settings, self._lying(known)
        any_other = [f for c in sorted(self.cells - filled - self.left_out) if (f := berthing(c, filled)) is not None]
        for some in (plans, any_other):
            if free := unblocked(self.grid, self.site, some, s.staging_m, lying):
                return free if some is plans else free[:1]
        box = self.grid.box(self.site, self.cells - self.left_out, s.margin_m)
        others = [pose for name, pose in known.items() if name not in self.members]
        site = free_site(self.grid, self.site, plans, box, s.staging_m, lying, others)
        if site is None:
            return plans
        self.site = site
        self.note(t_s, "all", f"moves aside to ({site.x_m:.2f}, {site.y_m:.2f}): a wreck lies in the way")
        return []

    # -- leaving --------------------------------------------------------------------------------------------------

    def _part_round(self, t_s: float) -> None:
        """Whoever came last leaves first, by the way it came; if the plan does not tell, whoever can."""
        if len(self.members) > 1:
            self._leave(t_s, [(plan, None) for plan in leaving(self.rounds, set(self.members.values()))])

    def _leave(self, t_s: float, plans: Iterable[tuple[Berthing, Berthing | None]]) -> None:
        at = {cell: name for name, cell in self.members.items()}
        for out, into in plans:
            vessel = at[out.cell]
            del self.members[vessel]
            self.departures.append(Departure(vessel, out, t_s, into))
            self.note(t_s, vessel, f"leaves cell {out.cell}")
        self.counter += 1

    def _watch_leaving(self, t_s: float, departure: Departure, pose: PlanarPose | None) -> None:
        s, platform = self.settings, self._sight.smooth or self.site
        gone = pose is not None and departure.clear(self.grid, platform, self._away_m(departure), pose)
        if not gone and t_s - departure.began_s <= s.transit_s:
            return
        self.departures.remove(departure)
        self.counter += 1
        if not gone:
            self.failed.add(departure.vessel)
            self.note(t_s, departure.vessel, "given up")
        elif departure.into is not None:
            self.approaches.append(Approach(departure.vessel, departure.into, t_s))
            self.note(t_s, departure.vessel, f"sets out for cell {departure.into.cell}")
        else:
            self.homeward[departure.vessel] = self._way_home(departure.vessel, pose)
            self.note(t_s, departure.vessel, "swims alone")

    def _away_m(self, departure: Departure) -> float:
        """How far it goes straight out: until it is clear of what stays."""
        box = self.grid.box(self.site, self.members.values(), self.settings.margin_m)
        return outside_m(self.grid, self.site, departure.plan, self.settings.staging_m, box)

    def _way_home(self, vessel: str, pose: PlanarPose | None) -> list[Array]:
        """Around what is left of the platform, to where it waited at first."""
        home = self.parking[vessel].position_m
        box = self.grid.box(self.site, self.members.values(), self.settings.margin_m)
        return [home] if pose is None else way_around(pose.position_m, home, box)

    def note(self, t_s: float, vessel: str, what: str) -> None:
        """For logs and tables."""
        self.events.append(Event(t_s, vessel, what))
