"""In which order a platform is built, taken apart or reshaped; which vessel goes where.

A cell may be filled when it touches a filled one, is no slot between two filled ones on opposite sides, and has a
straight free way in from the side opposite of the one it touches (after O'Hara 2014). Cells filled in one round neither
touch nor share a way, so that their vessels may dock at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from shoal.errors import ShoalError
from shoal.platform.blueprint import SIDES, Cell, beside, connected

Array = NDArray[np.float64]
REACH = 60  # cells: as far as a way in is looked at
TRIES = 20_000  # of the search for a reshaping


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


def dismantling_order(cells: Collection[Cell], founder: Cell) -> tuple[Round, ...]:
    """Building backwards: whoever came last leaves first, by the way it came."""
    return tuple(reversed(building_order(cells, founder)[1]))


def reshaping(before: Collection[Cell], after: Collection[Cell]) -> tuple[Cell, tuple[Move, ...]]:
    """Shift of the new blueprint against the old one, and as few moves as their overlap allows, one after the other."""
    old, new = frozenset(before), frozenset(after)
    if len(old) != len(new):
        raise ShoalError(f"reshaping: {len(old)} cells into {len(new)}; expected as many")
    shifts = {(a[0] - b[0], a[1] - b[1]) for a in old for b in new}
    for shift in sorted(shifts, key=lambda s: (-len(old & _shifted(new, s)), s)):
        moves = _moves(old, _shifted(new, shift))
        if moves is not None:
            return shift, moves
    raise ShoalError("reshaping: no sequence of moves found; expected blueprints that overlap more")


def _shifted(cells: frozenset[Cell], shift: Cell) -> frozenset[Cell]:
    return frozenset((r + shift[0], c + shift[1]) for r, c in cells)


def _moves(old: frozenset[Cell], new: frozenset[Cell]) -> tuple[Move, ...] | None:
    """Depth first: a vessel of a cell that is not wanted any more goes to one that is; nothing else moves."""
    tries, dead = 0, set[frozenset[Cell]]()

    def search(filled: frozenset[Cell]) -> list[Move] | None:
        nonlocal tries
        tries += 1
        if filled == new:
            return []
        if filled in dead or tries > TRIES:
            return None
        for leaving in sorted(filled - new):
            rest = filled - {leaving}
            out = berthing(leaving, rest)
            if out is None or len(connected(rest, next(iter(rest)))) != len(rest):
                continue
            for cell in sorted(new - filled):
                into = berthing(cell, rest)
                if into is None:
                    continue
                further = search(rest | {cell})
                if further is not None:
                    return [Move(out, into), *further]
        dead.add(filled)
        return None

    found = search(old)
    return None if found is None else tuple(found)


def assignment(positions_m: Mapping[str, Array], places_m: Mapping[Cell, Array]) -> dict[Cell, str]:
    """Which vessel takes which cell: least sum of squared distances (Hungarian); some vessels may be left over."""
    names, cells = list(positions_m), list(places_m)
    if len(names) < len(cells):
        raise ShoalError(f"assignment: {len(names)} vessels for {len(cells)} cells; expected at least as many")
    cost = [[float(np.sum((positions_m[n] - places_m[c]) ** 2)) for n in names] for c in cells]
    rows, columns = linear_sum_assignment(np.array(cost))
    return {cells[r]: names[c] for r, c in zip(rows, columns, strict=True)}


def way_around(start_m: Array, goal_m: Array, box_m: Sequence[float]) -> list[Array]:
    """Points (2,) from start to goal that keep out of a box (x0, y0, x1, y1): straight, or by its corners."""
    x0, y0, x1, y1 = box_m
    corners = [np.array(c) for c in ((x0, y0), (x0, y1), (x1, y1), (x1, y0))]
    points = [start_m, goal_m, *corners]
    length = [0.0, *[np.inf] * (len(points) - 1)]
    came: dict[int, int] = {}
    left = set(range(len(points)))
    while left:
        here = min(left, key=lambda i: length[i])
        left.remove(here)
        for other in left:
            if not _crosses(points[here], points[other], box_m):
                total = length[here] + float(np.linalg.norm(points[other] - points[here]))
                if total < length[other]:
                    length[other], came[other] = total, here
    if not np.isfinite(length[1]):
        return [goal_m]  # from inside of the box
    way, here = [goal_m], 1
    while came[here] != 0:
        here = came[here]
        way.append(points[here])
    return way[::-1]


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
