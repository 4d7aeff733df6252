"""A blueprint as an assembly file: the platform that its vessels become, for runs that begin with it complete."""

from __future__ import annotations

from typing import Any

from shoal.platform.blueprint import Blueprint, Cell
from shoal.platform.planner import building_order, tree


def assembly_of(blueprint: Blueprint) -> dict[str, Any]:
    """Modules and joints, as `config/assemblies` has them: the founder's frame, all neighbours joined as a tree."""
    (founder, _), size_m, joints = building_order(blueprint.cells), blueprint.size_m, []
    for cell, near in tree(blueprint.cells, founder):
        half = [(near[0] - cell[0]) * size_m[0] / 2, (near[1] - cell[1]) * size_m[1] / 2, 0.0]
        joints.append({"a": _name(cell), "b": _name(near), "at_a_m": half, "at_b_m": [-x for x in half]})
    names = sorted(blueprint.cells, key=lambda cell: (cell != founder, cell))
    return {
        "version": 1,
        "name": blueprint.name,
        "description": blueprint.description,
        "frame": _name(founder),
        "modules": {_name(cell): {"type": blueprint.type_of[cell]} for cell in names},
        "joints": joints,
    }


def _name(cell: Cell) -> str:
    return f"r{cell[0] + 1}c{cell[1] + 1}"
