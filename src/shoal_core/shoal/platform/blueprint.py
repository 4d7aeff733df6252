"""Blueprints: which cells of a lattice a platform fills. Files live in `config/blueprints`.

A cell is (row, column): rows count astern to forward along x, columns to starboard along y. All vessels head alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml
from shoal.platform.model import PlanarPose

Cell = tuple[int, int]
SIDES: tuple[Cell, ...] = ((0, -1), (0, 1), (-1, 0), (1, 0))  # port, starboard, astern, ahead


class Blueprint(FileModel):
    """A blueprint file: rows of text from bow to stern, `#` a vessel, `.` nothing."""

    version: int = Field(ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    type: str = Field(default="delfia1", description="vehicle that fills a cell")
    rows: tuple[str, ...] = Field(min_length=1, max_length=50)

    @model_validator(mode="after")
    def _whole(self) -> Blueprint:
        for row in self.rows:
            if set(row) - {"#", "."}:
                raise ValueError(f"rows has '{row}', expected only # and .")
        if not self.cells:
            raise ValueError("rows has no #, expected at least one")
        if len(connected(self.cells, min(self.cells))) != len(self.cells):
            raise ValueError("rows fall into parts that do not touch, expected one platform")
        return self

    @property
    def cells(self) -> frozenset[Cell]:
        """All of them."""
        drawn = enumerate(reversed(self.rows))
        return frozenset((row, column) for row, text in drawn for column, sign in enumerate(text) if sign == "#")


def load_blueprint(name_or_path: str | Path) -> Blueprint:
    """By name or file."""
    return load_yaml(find_config("blueprints", name_or_path), Blueprint)


def beside(cell: Cell, side: Cell, steps: int = 1) -> Cell:
    """The cell so many steps away."""
    return cell[0] + steps * side[0], cell[1] + steps * side[1]


def place(cell: Cell, founder: Cell, size_m: tuple[float, float]) -> PlanarPose:
    """Of a cell in the founder's frame."""
    return PlanarPose((cell[0] - founder[0]) * size_m[0], (cell[1] - founder[1]) * size_m[1])


def connected(cells: Iterable[Cell], start: Cell) -> frozenset[Cell]:
    """Those that hang together with `start`."""
    left, found, edge = set(cells), {start}, [start]
    while edge:
        cell = edge.pop()
        for side in SIDES:
            near = beside(cell, side)
            if near in left and near not in found:
                found.add(near)
                edge.append(near)
    return frozenset(found)
