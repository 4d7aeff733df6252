"""In which order a platform is built, taken apart or reshaped; which vessel goes where.

A cell may be filled when it touches a filled one, is no slot between two filled ones on opposite sides, and has a
straight free way in from the side opposite of the one it touches (after O'Hara 2014). Cells filled in one round neither
touch nor share a way, so that their vessels may dock at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.platform.blueprint import SIDES, Cell, beside, connected

Array = NDArray[np.float64]
REACH = 60  # cells: as far as a way in is looked at
TRIES, TRIES_A_SHIFT = 20_000, 2_000  # of the search for a reshaping: half a second, as it keeps the manager waiting
UNFIT = 1e9  # cost of a vessel in a cell of another type


@dataclass(frozen=True)
class Berthing:
    """One vessel into one cell, or out of it."""

    cell: Cell
    side: Cell  # towards the cell that it touches first; the way in comes from the opposite side
    free: Cell | None  # across the way, away from a filled cell beside it; None: nothing beside it

    @property
    def neighbour(self) -> Cell:
        """The filled cell that it is joined to."""
        return beside(self.cell, self.side)


Round = tuple[Berthing, ...]


@dataclass(frozen=True)
class Move:
    """Of a reshaping: a vessel leaves one cell for another."""

    out: Berthing
    into: Berthing


def berthing(cell: Cell, filled: Collection[Cell]) -> Berthing | None:
    """How a free cell can be filled; None: not now."""
    if cell in filled or any(_between(cell, side, filled) for side in SIDES[::2]):
        return None
    for side in SIDES:
        if beside(cell, side) not in filled:
            continue
        across = (side[1], side[0])
        walls = [s for s in (across, (-across[0], -across[1])) if _wall(cell, side, s, filled)]
        if len(walls) == 2 or any(beside(cell, side, -k) in filled for k in range(1, REACH)):
            continue
        free = (-walls[0][0], -walls[0][1]) if walls else None
        return Berthing(cell, side, free)
    return None


def _between(cell: Cell, side: Cell, filled: Collection[Cell]) -> bool:
    return beside(cell, side) in filled and beside(cell, side, -1) in filled


def _wall(cell: Cell, side: Cell, across: Cell, filled: Collection[Cell]) -> bool:
    """Whether anything lies along the way in, on this side of it."""
    return any(beside(beside(cell, side, -k), across) in filled for k in range(REACH))


def building_order(cells: Collection[Cell], founder: Cell | None = None) -> tuple[Cell, tuple[Round, ...]]:
    """The founder and rounds that fill all cells, as few as the search finds; without a founder all are tried."""
    wanted = frozenset(cells)
    if founder is not None and founder not in wanted:
        raise ShoalError(f"blueprint: founder {founder} is none of its cells; expected one of them")
    best: tuple[Cell, tuple[Round, ...]] | None = None
    for start in sorted(wanted) if founder is None else [founder]:
        rounds = _rounds(wanted, start)
        if rounds is not None and (best is None or len(rounds) < len(best[1])):
            best = start, rounds
    if best is None:
        raise ShoalError("blueprint: in no order found has every cell a free way in; expected fewer enclosed cells")
    return best


def _rounds(wanted: frozenset[Cell], start: Cell) -> tuple[Round, ...] | None:
    filled, rounds = {start}, []
    while len(filled) < len(wanted):
        chosen: list[Berthing] = []
        # Near cells first: a platform that grows evenly encloses nothing.
        for cell in sorted(wanted - filled, key=lambda c: (abs(c[0] - start[0]) + abs(c[1] - start[1]), c)):
            found = berthing(cell, filled)
            if found is None or not all(_apart(found, other) for other in chosen):
                continue
            after = filled | {b.cell for b in chosen} | {cell}
            if any(_between(c, side, after) for c in wanted - after for side in SIDES[::2]):
                continue  # would leave a slot that nobody can get into
            chosen.append(found)
        if not chosen:
            return None
        filled |= {b.cell for b in chosen}
        rounds.append(tuple(chosen))
    return tuple(rounds)


def _apart(a: Berthing, b: Berthing) -> bool:
    """Whether two may berth at the same time: no cell of one's way is in, or beside, the other's."""
    ways = [[beside(x.cell, x.side, -k) for k in range(4)] for x in (a, b)]
    return all(max(abs(p[0] - q[0]), abs(p[1] - q[1])) > 1 for p in ways[0] for q in ways[1])


def leaving(rounds: Sequence[Round], filled: set[Cell]) -> tuple[Berthing, ...]:
    """Who comes off next: whoever came last, by the way it came; if the rounds do not tell, whoever can."""
    for group in reversed(rounds):
        plans = [f for b in group if b.cell in filled and (f := berthing(b.cell, filled - {b.cell})) is not None]
        if plans and _holds(filled - {plan.cell for plan in plans}):
            return tuple(plans)
    loose = [f for c in sorted(filled) if (f := berthing(c, filled - {c})) is not None and _holds(filled - {c})]
    return tuple(loose[:1])


def _holds(cells: set[Cell]) -> bool:
    """Whether it is still one platform."""
    return len(connected(cells, min(cells))) == len(cells) if cells else False


def dismantling_order(cells: Collection[Cell], founder: Cell) -> tuple[Round, ...]:
    """Building backwards: whoever came last leaves first, by the way it came."""
    return tuple(reversed(building_order(cells, founder)[1]))


def reshaping(
    before: Collection[Cell] | Mapping[Cell, str], after: Collection[Cell] | Mapping[Cell, str]
) -> tuple[Cell, tuple[Move, ...]]:
    """Shift of the new blueprint against the old one, and as few moves as their overlap allows, one after the other.

    With types of vessels (by cell) everybody goes to a cell of its own type.
    """
    old, new = frozenset(typed(before).items()), frozenset(typed(after).items())
    if Counter(kind for _, kind in old) != Counter(kind for _, kind in new):
        raise ShoalError(f"reshaping: {_count(old)} into {_count(new)}; expected as many")
    shifts = {(a[0] - b[0], a[1] - b[1]) for a, _ in old for b, _ in new}
    left = TRIES
    for shift in sorted(shifts, key=lambda s: (-len(old & _shifted(new, s)), s)):
        moves, tries = _moves(old, _shifted(new, shift), min(left, TRIES_A_SHIFT))
        if moves is not None:
            return shift, moves
        left -= tries
    raise ShoalError("reshaping: no sequence of moves found; expected blueprints that overlap more")


Filled = frozenset[tuple[Cell, str]]  # with the type of vessel


def typed(cells: Collection[Cell] | Mapping[Cell, str]) -> dict[Cell, str]:
    """Cells with the types of vessels that they take; of none in particular without."""
    return dict(cells) if isinstance(cells, Mapping) else dict.fromkeys(cells, "")


def _count(filled: Filled) -> str:
    by_type = Counter(kind for _, kind in filled)
    if len(by_type) < 2:
        return f"{len(filled)} cells"
    return " and ".join(f"{count} of {kind}" for kind, count in sorted(by_type.items()))


def _shifted(cells: Filled, shift: Cell) -> Filled:
    return frozenset(((r + shift[0], c + shift[1]), kind) for (r, c), kind in cells)


def _moves(old: Filled, new: Filled, most: int) -> tuple[tuple[Move, ...] | None, int]:
    """Depth first: a vessel of a cell that is not wanted any more goes to one that is; nothing else moves.

    None: not found; and how often it has tried, at most `most` times.
    """
    tries, dead = 0, set[Filled]()

    def search(filled: Filled) -> list[Move] | None:
        nonlocal tries
        tries += 1
        if filled == new:
            return []
        if filled in dead or tries > most:
            return None
        for leaving, kind in sorted(filled - new):
            left = filled - {(leaving, kind)}
            rest = {cell for cell, _ in left}
            out = berthing(leaving, rest)
            if out is None or len(connected(rest, next(iter(rest)))) != len(rest):
                continue
            for cell, wanted in sorted(new - filled):
                into = berthing(cell, rest) if wanted == kind else None
                if into is None or cell == leaving:
                    continue
                further = search(left | {(cell, kind)})
                if further is not None:
                    return [Move(out, into), *further]
        dead.add(filled)
        return None

    found = search(old)
    return None if found is None else tuple(found), tries


def assignment(
    positions_m: Mapping[str, Array],
    places_m: Mapping[Cell, Array],
    types: Mapping[str, str] | None = None,
    wanted: Mapping[Cell, str] | None = None,
) -> dict[Cell, str]:
    """Which vessel takes which cell: least sum of squared distances (Hungarian); some vessels may be left over.

    Where `types` of vessels are given, a cell takes those of the type that it wants only.
    """
    names, cells = list(positions_m), list(places_m)
    if len(names) < len(cells):
        raise ShoalError(f"assignment: {len(names)} vessels for {len(cells)} cells; expected at least as many")
    types, wanted = types or {}, wanted or {}
    for kind in sorted(set(wanted.values())):
        have, need = sum(types.get(n) == kind for n in names), sum(wanted.get(c) == kind for c in cells)
        if have < need:
            raise ShoalError(f"assignment: {have} vessels of type {kind} for {need} cells; expected at least as many")
    cost = [
        [float(np.sum((positions_m[n] - places_m[c]) ** 2)) if types.get(n) == wanted.get(c) else UNFIT for n in names]
        for c in cells
    ]
    rows, columns = scipy.optimize.linear_sum_assignment(np.array(cost))
    return {cells[r]: names[c] for r, c in zip(rows, columns, strict=True)}


def tree(cells: Collection[Cell], start: Cell) -> tuple[tuple[Cell, Cell], ...]:
    """Neighbours that hang together, every cell once but for the first."""
    found, edge, seen = [], [start], {start}
    while edge:
        cell = edge.pop(0)
        for near in (beside(cell, side) for side in SIDES):
            if near in cells and near not in seen:
                seen.add(near)
                edge.append(near)
                found.append((cell, near))
    return tuple(found)


def way_around(
    start_m: Array, goal_m: Array, box_m: Sequence[float], others: Sequence[Sequence[float]] = ()
) -> list[Array]:
    """Points (2,) from start to goal that keep out of boxes (x0, y0, x1, y1): straight, or by their corners.

    Of the `others` those count that neither start nor goal lies in.
    """
    x0, y0, x1, y1 = box_m
    x, y = start_m
    if x0 < x < x1 and y0 < y < y1:  # has just left the platform: out by the nearest side, and then around
        sides = {x - x0: (x0, y), x1 - x: (x1, y), y - y0: (x, y0), y1 - y: (x, y1)}
        out = np.array(sides[min(sides)])
        return [out, *way_around(out, goal_m, box_m, others)]
    boxes = [box_m, *(b for b in others if not _inside(start_m, b) and not _inside(goal_m, b))]
    corners = [np.array(c) for b in boxes for c in ((b[0], b[1]), (b[0], b[3]), (b[2], b[3]), (b[2], b[1]))]
    points = [start_m, goal_m, *corners]
    length = [0.0, *[np.inf] * (len(points) - 1)]
    came: dict[int, int] = {}
    left = set(range(len(points)))
    while left:
        here = min(left, key=lambda i: length[i])
        left.remove(here)
        for other in left:
            if not any(_crosses(points[here], points[other], b) for b in boxes):
                total = length[here] + float(np.linalg.norm(points[other] - points[here]))
                if total < length[other]:
                    length[other], came[other] = total, here
    if not np.isfinite(length[1]):
        return [goal_m]  # which is inside of the box
    way, here = [goal_m], 1
    while came[here] != 0:
        here = came[here]
        way.append(points[here])
    return way[::-1]


def _inside(point_m: Array, box_m: Sequence[float]) -> bool:
    return bool(box_m[0] < point_m[0] < box_m[2] and box_m[1] < point_m[1] < box_m[3])


def _crosses(a: Array, b: Array, box_m: Sequence[float]) -> bool:
    """Whether the inside of the box is between a and b (clipping of Liang and Barsky)."""
    low, high = np.array(box_m[:2]) + 1e-9, np.array(box_m[2:]) - 1e-9
    first, last = 0.0, 1.0
    for k in range(2):
        way = b[k] - a[k]
        if abs(way) < 1e-12:
            if a[k] <= low[k] or a[k] >= high[k]:
                return False
            continue
        enters, leaves = sorted(((low[k] - a[k]) / way, (high[k] - a[k]) / way))
        first, last = max(first, enters), min(last, leaves)
    return bool(first < last)
