"""Blueprints: which cells of a lattice a platform fills. Files live in `config/blueprints`.

A cell is (row, column): rows count astern to forward along x, columns to starboard along y. All vessels head alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml
from shoal.errors import ShoalError, in_file
from shoal.platform.model import PlanarPose
from shoal.vehicles.description import load_vehicle

Cell = tuple[int, int]
SIDES: tuple[Cell, ...] = ((0, -1), (0, 1), (-1, 0), (1, 0))  # port, starboard, astern, ahead
MOST_VESSELS = 64  # as in a fleet; planning takes minutes from some hundreds on
OFF_M = 0.005  # that a pose may be off its cell


class BlueprintPose(FileModel):
    """A vessel's place in the platform's axes; on the lattice that its hulls make side by side."""

    x_m: float = Field(description="forward")
    y_m: float = Field(description="to starboard")
    heading_deg: float = Field(default=0.0, description="of the platform's: 0, all vessels of a lattice head alike")
    type: str | None = Field(default=None, description="vehicle; none: the blueprint's")

    @model_validator(mode="after")
    def _alike(self) -> BlueprintPose:
        if self.heading_deg != 0.0:
            raise ValueError(f"heading_deg is {self.heading_deg:g}, expected 0: all vessels of a lattice head alike")
        return self


class Blueprint(FileModel):
    """A blueprint file: rows of text from bow to stern, `#` a vessel, `.` nothing; or the vessels' poses.

    Letters in rows stand for other vehicles, as `types` says; they have hulls of the same length and width.
    """

    version: int = Field(ge=1, le=1)
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    type: str = Field(default="delfia1", description="vehicle that fills a cell")
    types: dict[str, str] = Field(default_factory=dict, description="letters in rows: other vehicles")
    rows: tuple[str, ...] = Field(default=(), max_length=50)
    poses: tuple[BlueprintPose, ...] = Field(default=(), max_length=MOST_VESSELS)

    @model_validator(mode="after")
    def _drawn_once(self) -> Blueprint:
        if bool(self.rows) == bool(self.poses):
            raise ValueError(f"rows and poses are {'both' if self.rows else 'not'} given, expected one of them")
        if self.poses and self.types:
            raise ValueError("types is given with poses, expected each pose's own type")
        for letter in self.types:
            if len(letter) != 1 or not letter.isalpha():
                raise ValueError(f"types has '{letter}', expected single letters")
            if not any(letter in row for row in self.rows):
                raise ValueError(f"types has '{letter}' and rows none, expected it in rows")
        for row in self.rows:
            if set(row) - {"#", ".", *self.types}:
                also = "".join(f", {letter}" for letter in sorted(self.types))
                raise ValueError(f"rows has '{row}', expected only # and .{also}")
        if self.rows and not any(set(row) - {"."} for row in self.rows):
            raise ValueError("rows has no #, expected at least one")
        if (count := sum(len(row) - row.count(".") for row in self.rows)) > MOST_VESSELS:
            raise ValueError(f"rows has {count} vessels, expected at most {MOST_VESSELS}")
        return self

    @property
    def cells(self) -> frozenset[Cell]:
        """All of them."""
        return frozenset(self.type_of)

    @cached_property
    def size_m(self) -> tuple[float, float]:
        """Length and width of a cell: of every vessel's hull."""
        kinds = (self.type, *self.types.values(), *(p.type for p in self.poses if p.type is not None))
        sizes = {kind: load_vehicle(kind).size_m[:2] for kind in dict.fromkeys(kinds)}
        first, size = next(iter(sizes.items()))
        for kind, other in sizes.items():
            if other != size:
                raise ShoalError(
                    f"type '{kind}' has a hull of {other[0]:g} x {other[1]:g} m and '{first}' one of {size[0]:g} x "
                    f"{size[1]:g} m, expected hulls alike: they fill cells of one lattice"
                )
        return size

    @cached_property
    def type_of(self) -> Mapping[Cell, str]:
        """The vehicle that each cell takes."""
        if not self.poses:
            kinds = {"#": self.type, **self.types}
            drawn = enumerate(reversed(self.rows))
            return {(r, c): kinds[sign] for r, text in drawn for c, sign in enumerate(text) if sign in kinds}
        found: dict[Cell, str] = {}
        first, (length, width) = self.poses[0], self.size_m
        for i, pose in enumerate(self.poses):
            ahead, aside = (pose.x_m - first.x_m) / length, (pose.y_m - first.y_m) / width
            cell = round(ahead), round(aside)
            if abs(ahead - cell[0]) * length > OFF_M or abs(aside - cell[1]) * width > OFF_M:
                raise ShoalError(
                    f"poses[{i}] is at ({pose.x_m:g}, {pose.y_m:g}) m, expected whole hulls of {length:g} x {width:g} "
                    f"m from poses[0] at ({first.x_m:g}, {first.y_m:g}) m, within {1e3 * OFF_M:g} mm"
                )
            if cell in found:
                raise ShoalError(f"poses[{i}] is at ({pose.x_m:g}, {pose.y_m:g}) m as another one, expected each once")
            found[cell] = pose.type or self.type
        low = min(row for row, _ in found), min(column for _, column in found)
        return {(row - low[0], column - low[1]): kind for (row, column), kind in found.items()}

    @property
    def counts(self) -> Counter[str]:
        """How many vehicles of each type it takes."""
        return Counter(self.type_of.values())

    def check(self) -> None:
        """What its vehicles' hulls say as well."""
        assert self.size_m
        if len(connected(self.cells, min(self.cells))) != len(self.cells):
            what = "rows" if self.rows else "poses"
            raise ShoalError(f"{what} fall into parts that do not touch, expected one platform")


def load_blueprint(name_or_path: str | Path) -> Blueprint:
    """By name or file."""
    path = find_config("blueprints", name_or_path)
    blueprint = load_yaml(path, Blueprint)
    with in_file(path):
        blueprint.check()
    return blueprint


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
