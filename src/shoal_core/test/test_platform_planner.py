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
    most = {"row3": 1, "row12": 6, "block3x4": 5, "tee": 4, "ring": 7, "block4x5": 6, "cargo_row3": 1, "row3_poses": 1}
    assert len(rounds) <= {**most, "single": 0, "row2": 1, "block2x3": 3, "corner": 2}[name]
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
    [
        ('["#x"]', "only # and"),
        ('[".."]', "at least one"),
        ('["#.#"]', "rows fall into parts that do not touch, expected one platform"),
        ("[]", "rows and poses are not given, expected one of them"),
        ('["#"]\nposes: [{x_m: 0, y_m: 0}]', "rows and poses are both given"),
        ('["#C"]\ntypes: {C: barge}', "barge"),
        ('["#"]\ntypes: {C: delfia1_cargo}', "types has 'C' and rows none"),
        ('["#C"]\ntypes: {CC: delfia1_cargo}', "single letters"),
        ('["#C"]\ntypes: {C: bluerov2}', "expected hulls alike"),
    ],
)
def test_mistakes_get_a_sentence(tmp_path: Path, rows: str, sentence: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"version: 1\nname: mine\nrows: {rows}\n", encoding="utf-8")
    with pytest.raises(ShoalError, match=sentence) as caught:
        load_blueprint(file)
    assert "mine.yaml" in str(caught.value) and "expected" in str(caught.value)


@pytest.mark.parametrize(
    ("poses", "sentence"),
    [
        (
            "[{x_m: 0, y_m: 0}, {x_m: 0.1, y_m: 0.2}]",
            r"poses\[1\] is at \(0.1, 0.2\) m, expected whole hulls of 0.38 x 0.2",
        ),
        ("[{x_m: 0, y_m: 0}, {x_m: 0.001, y_m: 0}]", r"poses\[1\] .* as another one"),
        ("[{x_m: 0, y_m: 0}, {x_m: 0, y_m: 0.6}]", "poses fall into parts"),
        ("[{x_m: 0, y_m: 0, heading_deg: 90}]", "heading_deg is 90, expected 0"),
        ("[{x_m: 0}]", "y_m"),
    ],
)
def test_poses_that_make_no_lattice_get_a_sentence(tmp_path: Path, poses: str, sentence: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"version: 1\nname: mine\nposes: {poses}\n", encoding="utf-8")
    with pytest.raises(ShoalError, match=sentence):
        load_blueprint(file)


def test_poses_are_another_way_to_give_cells() -> None:
    assert load_blueprint("row3_poses").type_of == load_blueprint("row3").type_of


def test_a_cell_takes_vessels_of_its_type_only() -> None:
    wanted = load_blueprint("cargo_row3").type_of
    assert wanted == {(0, 0): "delfia1", (0, 1): "delfia1", (0, 2): "delfia1_cargo"}
    positions = {"a": np.array([0.0, 0.4]), "b": np.array([0.0, 0.0]), "c": np.array([0.0, 0.2])}
    places = {cell: np.array([0.0, 0.2 * cell[1]]) for cell in wanted}
    types = {"a": "delfia1", "b": "delfia1_cargo", "c": "delfia1"}  # each other's nearest are of the wrong type
    found = assignment(positions, places, types, wanted)
    assert {cell: types[name] for cell, name in found.items()} == wanted
    with pytest.raises(ShoalError, match="0 vessels of type delfia1_cargo for 1 cells"):
        assignment(positions, places, dict.fromkeys(types, "delfia1"), wanted)


def test_reshaping_keeps_to_the_types() -> None:
    """A row with cargo at its end becomes a corner: whoever moves goes to a cell of its own type."""
    before = {(0, 0): "a", (0, 1): "a", (0, 2): "c"}
    shift, moves = reshaping(before, {(0, 0): "a", (0, 1): "a", (1, 0): "c"})
    (move,) = moves
    assert before[move.out.cell] == "c"
    assert (move.into.cell[0] - shift[0], move.into.cell[1] - shift[1]) == (1, 0)
    with pytest.raises(ShoalError, match="2 of a and 1 of c into 1 of a and 2 of c"):
        reshaping(before, {(0, 0): "a", (0, 1): "c", (1, 0): "c"})


def test_ways_keep_out_of_wrecks_as_well() -> None:
    box, wreck = (-1.0, -0.5, 1.0, 0.5), (1.5, -0.5, 2.5, 0.5)
    start, goal = np.array([4.0, 0.0]), np.array([1.1, 0.0])
    way = [start, *way_around(start, goal, box, [wreck])]
    for a, b in pairwise(way):
        for share in np.linspace(0, 1, 50):
            x, y = a + share * (b - a)
            assert not (1.5 + 1e-6 < x < 2.5 - 1e-6 and abs(y) < 0.5 - 1e-6)
    assert len(way) > 2 and len(way_around(start, goal, box)) == 1
    inside = (0.6, -0.5, 1.6, 0.5)  # the goal lies in it: it cannot be kept out of
    assert len(way_around(start, goal, box, [inside])) == 1


def test_rows_are_read_from_bow_to_stern() -> None:
    drawn = Blueprint(version=1, name="l", rows=("#.", "##"))
    assert drawn.cells == {(1, 0), (0, 0), (0, 1)}


def test_a_way_that_begins_inside_of_the_box_leaves_it_first() -> None:
    """A vessel that has just left one side and goes to the other must not go through the hulls."""
    box = (-1.0, -1.0, 1.0, 1.0)
    start, goal = np.array([0.2, 0.9]), np.array([0.0, -2.0])
    way = way_around(start, goal, box)
    assert way[0] == pytest.approx([0.2, 1.0])
    assert way[-1] == pytest.approx(goal) and len(way) == 4  # out, two corners, there
