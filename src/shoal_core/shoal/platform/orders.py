"""What may be ordered of a finished platform: to part, or another blueprint, by its name or drawn."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from shoal.config.files import validate
from shoal.config.json_text import json_object
from shoal.errors import ShoalError
from shoal.platform.blueprint import Blueprint, Cell, load_blueprint
from shoal.platform.planner import Move, building_order, reshaping

PART = "part"
WHERE = Path("/fleet/set_platform")


def ordered_blueprint(text: str) -> Blueprint:
    """A blueprint's name or file, or in braces what such a file would say, as JSON: one that was drawn elsewhere."""
    if not text.lstrip().startswith("{"):
        return load_blueprint(text)
    drawn = validate(WHERE, json_object(text, str(WHERE), "a blueprint, or its name"), Blueprint)
    drawn.check()
    return drawn


def blueprint_json(blueprint: Blueprint) -> str:
    """As `ordered_blueprint` reads it."""
    return json.dumps(blueprint.model_dump(mode="json", exclude_defaults=True))


def check_reshaping(now: Collection[Cell] | Mapping[Cell, str], into: Blueprint) -> tuple[Move, ...]:
    """The moves from the filled cells (with the types of their vessels, where known); a ShoalError why there are none.

    The new shape also has to be one that could be built, since it is taken apart in that order.
    """
    if len(into.cells) != len(now):
        raise ShoalError(
            f"platform '{into.name}': has {len(into.cells)} cells, the platform {len(now)} vessels; expected as many"
        )
    try:
        building_order(into.cells)
        return reshaping(now, into.type_of if isinstance(now, Mapping) else into.cells)[1]
    except ShoalError as error:
        raise ShoalError(f"platform '{into.name}': {error}") from None
