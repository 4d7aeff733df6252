"""Blueprints and the order in which they are built, taken apart and reshaped: properties for any platform."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal.platform.blueprint import SIDES, Blueprint, Cell, beside, connected, load_blueprint
from shoal.platform.planner import (
    Berthing,
    assignment,
    berthing,
    building_order,
    dismantling_order,
    reshaping,
    way_around,
)

NAMES = list_configs("blueprints")


@st.composite
def platforms(draw: st.DrawFn) -> frozenset[Cell]:
    """Grown cell by cell: connected, of any shape."""
    cells = {(0, 0)}
    for _ in range(draw(st.integers(1, 13))):
        edge = sorted({beside(c, s) for c in cells for s in SIDES} - cells)
        cells.add(draw(st.sampled_from(edge)))
    return frozenset(cells)


def check(step: Berthing, filled: set[Cell]) -> None:
    """The rules, said once more in another way."""
    assert step.cell not in filled
    assert step.neighbour in filled
    for ahead, back in ((SIDES[0], SIDES[1]), (SIDES[2], SIDES[3])):
        assert not (beside(step.cell, ahead) in filled and beside(step.cell, back) in filled)
    row, column = step.cell
    for k in range(1, 30):  # nothing on the way in
        assert (row - k * step.side[0], column - k * step.side[1]) not in filled
    if step.free is not None:  # the side that is kept clear is clear all along
        for k in range(30):
            assert (row - k * step.side[0] + step.free[0], column - k * step.side[1] + step.free[1]) not in filled


@given(platforms())
@settings(max_examples=60, deadline=None)
def test_every_cell_has_a_free_way_in(cells: frozenset[Cell]) -> None:
    try:
        founder, rounds = building_order(cells)
    except ShoalError:  # some shapes enclose a cell whatever the order
        return
    filled = {founder}
    for group in rounds:
        for step in group:
            check(step, filled)
        for a in group:  # at the same time, so nobody touches another
            for b in group:
                assert a is b or max(abs(a.cell[0] - b.cell[0]), abs(a.cell[1] - b.cell[1])) > 1
        filled |= {step.cell for step in group}
    assert filled == cells


@pytest.mark.parametrize("name", NAMES)
def test_shipped_blueprints_can_be_built_and_taken_apart(name: str) -> None:
    cells = load_blueprint(name).cells
    founder, rounds = building_order(cells)
    assert len(rounds) <= {"row3": 1, "row12": 6, "block3x4": 5, "tee": 4, "ring": 7, "block4x5": 6}[name]
    left = set(cells)
    for group in dismantling_order(cells, founder):
        for step in group:
            left.remove(step.cell)
        for step in group:
            check(step, left)
        assert len(connected(left, founder)) == len(left)
    assert left == {founder}


@pytest.mark.parametrize(
    ("before", "after", "most"), [("block3x4", "ring", 7), ("tee", "block3x4", 6), ("ring", "tee", 7)]
)
def test_reshaping_moves_few_and_never_breaks_the_platform(before: str, after: str, most: int) -> None:
    old, new = load_blueprint(before).cells, load_blueprint(after).cells
    shift, moves = reshaping(old, new)
    assert len(moves) <= most
    filled = set(old)
    for move in moves:
        filled.remove(move.out.cell)
        check(move.out, filled)
        assert len(connected(filled, min(filled))) == len(filled)
        check(move.into, filled)
        filled.add(move.into.cell)
    assert filled == {(r + shift[0], c + shift[1]) for r, c in new}
    assert len(moves) == len(old - filled)  # nobody moves twice, and nobody that may stay


@given(platforms(), platforms())
@settings(max_examples=25, deadline=None)
def test_reshaping_of_any_two(a: frozenset[Cell], b: frozenset[Cell]) -> None:
    if len(a) != len(b):
        with pytest.raises(ShoalError, match="expected as many"):
            reshaping(a, b)
        return
    try:
        shift, moves = reshaping(a, b)
    except ShoalError:
        return
    filled = set(a)
    for move in moves:
        filled = filled - {move.out.cell} | {move.into.cell}
    assert filled == {(r + shift[0], c + shift[1]) for r, c in b}


def test_a_slot_between_two_is_nobodys_berth() -> None:
    assert berthing((0, 1), {(0, 0), (0, 2), (1, 0), (1, 2), (1, 1)}) is None
    assert berthing((0, 1), {(0, 0)}) == Berthing((0, 1), (0, -1), None)
    assert berthing((1, 1), {(0, 0), (0, 1), (1, 0)}) is not None  # a corner may be closed
    assert berthing((5, 5), {(0, 0)}) is None  # touches nothing


def test_assignment_is_the_cheapest_and_leaves_spares() -> None:
    vessels = {"a": np.array([0.0, 0.0]), "b": np.array([5.0, 0.0]), "c": np.array([1.0, 1.0])}
    places = {(0, 0): np.array([4.5, 0.0]), (0, 1): np.array([0.2, 0.1])}
    assert assignment(vessels, places) == {(0, 0): "b", (0, 1): "a"}
    with pytest.raises(ShoalError, match="at least as many"):
        assignment({"a": vessels["a"]}, places)


@given(st.tuples(*[st.floats(-5, 5)] * 4))
@settings(max_examples=100, deadline=None)
def test_ways_keep_out_of_the_box(ends: tuple[float, float, float, float]) -> None:
    box = (-1.0, -0.5, 1.0, 0.5)
    start, goal = np.array(ends[:2]), np.array(ends[2:])
    if any(abs(p[0]) < 1.0 and abs(p[1]) < 0.5 for p in (start, goal)):
        return
    way = [start, *way_around(start, goal, box)]
    assert np.array_equal(way[-1], goal)
    for a, b in pairwise(way):
        for share in np.linspace(0, 1, 50):
            x, y = a + share * (b - a)
            assert not (abs(x) < 1.0 - 1e-6 and abs(y) < 0.5 - 1e-6)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [('["#x"]', "only # and"), ('[".."]', "at least one"), ('["#.#"]', "one platform"), ("[]", "rows")],
)
def test_mistakes_get_a_sentence(tmp_path: Path, rows: str, sentence: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"version: 1\nname: mine\nrows: {rows}\n", encoding="utf-8")
    with pytest.raises(ShoalError, match=sentence):
        load_blueprint(file)


def test_rows_are_read_from_bow_to_stern() -> None:
    drawn = Blueprint(version=1, name="l", rows=("#.", "##"))
    assert drawn.cells == {(1, 0), (0, 0), (0, 1)}
