"""What a finished platform is ordered to become: by name, or drawn on another computer."""

from __future__ import annotations

import json

import pytest

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.platform.blueprint import Blueprint, load_blueprint
from shoal.platform.orders import blueprint_json, check_reshaping, ordered_blueprint
from shoal.platform.planner import TRIES, _moves, typed
from shoal.simulation.conditions import load_condition
from shoal.tasks.assemble import Assemble, AssembleDirector, AssembleMemory
from shoal.tasks.base import TaskContext
from shoal.tasks.run import make_task

HOOK = {"version": 1, "name": "hook", "rows": ["#.", "##"]}


def built() -> AssembleDirector:
    """A row of three that is complete, with nothing left to do."""
    task = make_task("assemble", TaskContext(load_fleet("vessels3"), load_condition("tank"), {}, "", 0))
    assert isinstance(task, Assemble)
    director = task.build_director()
    director.manager.members = {f"vessel{i + 1}": (0, i) for i in range(3)}
    director.over_s = 30.0
    return director


@pytest.mark.parametrize("name", ["ring", "cargo_row3", "row3_poses"])
def test_a_blueprint_survives_the_topic(name: str) -> None:
    one = load_blueprint(name)
    again = ordered_blueprint(blueprint_json(one))
    assert again.type_of == one.type_of and again.name == name and ordered_blueprint(name) == one


def test_a_drawn_blueprint_is_taken_remembered_and_carried_out() -> None:
    director = built()
    assert director.order(json.dumps(HOOK)) == "into hook" and director.over_s is None
    memory = AssembleMemory.model_validate_json(director.remember().model_dump_json())
    after_a_crash = built()
    after_a_crash.restore(memory, 31.0)
    after_a_crash.manager._owners = {}
    (stage,) = after_a_crash._stages
    assert isinstance(stage.into, Blueprint) and stage.into.rows == ("#.", "##")
    after_a_crash.manager.reshape(stage.into.type_of)
    assert len(after_a_crash.manager.moves) == 1 and len(after_a_crash.manager.cells) == 3


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ('{"version": 1', "not JSON"),
        (json.dumps(HOOK | {"rows": ["#?"]}), "expected only # and ."),
        (json.dumps(HOOK | {"rows": ["#.#", "..#"]}), "do not touch"),
        (json.dumps(HOOK | {"rows": ["##"]}), "has 2 cells, the platform 3 vessels; expected as many"),
        (json.dumps(HOOK | {"colour": "red"}), "colour"),
        ("cargo_row3", "1 of delfia1_cargo"),
        ("no_such_blueprint", "unknown"),
    ],
)
def test_what_cannot_become_of_it_is_refused_in_a_sentence(order: str, why: str) -> None:
    director = built()
    with pytest.raises(ShoalError, match=why):
        director.order(order)
    assert director.over_s == 30.0 and not director._stages


def test_nothing_is_ordered_under_a_stop() -> None:
    """It would begin with the release, when nobody thinks of it any more."""
    director = built()
    director.hear(31.0, True, {})
    for order in ("part", json.dumps(HOOK)):
        with pytest.raises(ShoalError, match="the fleet is stopped; expected the order after the release"):
            director.order(order)
    director.hear(32.0, False, {})
    assert director.order("part") == "part"


def test_a_shape_that_nobody_could_build_is_no_reshaping() -> None:
    """A ring with a fork inside: whoever comes last has no straight way in."""
    rows = ("#######", "#.....#", "#.###.#", "#.#.#.#", "#.#.#.#", "#.....#", "#######")
    closed = Blueprint(version=1, name="closed", rows=rows)
    with pytest.raises(ShoalError, match="platform 'closed': blueprint: in no order found has every cell a free way"):
        check_reshaping(closed.cells, closed)


def test_the_search_for_moves_gives_up_before_the_manager_is_late() -> None:
    """A reference runs out after 1.5 s: the number of tries is bounded over all shifts, not for each."""
    block = {(r, c) for r in range(5) for c in range(4)}
    ladder = {(r, c) for r in range(7) for c in (0, 3)} | {(r, c) for r in (0, 3, 6) for c in (1, 2)}
    old, new = frozenset(typed(block).items()), frozenset(typed(ladder).items())
    moves, tries = _moves(old, new, 100)
    assert moves is None and tries <= 101 < TRIES
