"""A blueprint that is being drawn: cells on a grid, and what the planner says of them. No Qt, no ROS."""

from __future__ import annotations

import string
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from pathlib import Path

import yaml

from shoal.config import atomic
from shoal.config.files import list_configs, validate
from shoal.errors import ShoalError, in_file
from shoal.platform.blueprint import Blueprint, Cell
from shoal.platform.orders import check_reshaping
from shoal.platform.planner import building_order
from shoal.vehicles.description import load_vehicle

ROWS, COLUMNS = 8, 12
DRAWN = "drawn"  # name of what was never saved
DEFAULT_KIND = "delfia1"


@lru_cache(maxsize=8)
def kinds_like(kind: str) -> tuple[str, ...]:
    """Vehicles whose hulls are as long and wide: those that may lie in one lattice with it, itself first."""
    found, size = [kind], load_vehicle(kind).size_m[:2]
    with warnings.catch_warnings(action="ignore"):  # of vehicles that nobody has chosen
        for other in list_configs("vehicles"):
            try:
                if other != kind and load_vehicle(other).size_m[:2] == size:
                    found.append(other)
            except ShoalError:
                continue  # one that cannot be read is none to choose
    return tuple(found)


class BlueprintDraft:
    """Rows count from the stern, columns from port, as in blueprints; `watchers` are called after each change."""

    def __init__(self) -> None:
        self.cells: dict[Cell, str] = {}  # with the vehicle that each takes
        self.kind = DEFAULT_KIND  # that cells are filled with
        self.name = DRAWN
        self.source: Blueprint | None = None  # as it was loaded or saved
        self.watchers: list[Callable[[], None]] = []

    # -- drawing ------------------------------------------------------------------------------------------------

    def paint(self, cell: Cell, filled: bool) -> None:
        """Fill or empty a cell of the grid."""
        if not (0 <= cell[0] < ROWS and 0 <= cell[1] < COLUMNS):
            return
        if self.cells.get(cell) == (self.kind if filled else None):
            return
        if filled:
            self.cells[cell] = self.kind
        else:
            self.cells.pop(cell)
        self._changed()

    def clear(self) -> None:
        """An empty grid."""
        self.cells, self.name, self.source = {}, DRAWN, None
        self._changed()

    def take(self, blueprint: Blueprint) -> None:
        """Begin with a blueprint that exists, in the middle of the grid."""
        kinds = blueprint.type_of
        rows, columns = (max(cell[i] for cell in kinds) + 1 for i in (0, 1))
        if rows > ROWS or columns > COLUMNS:
            raise ShoalError(
                f"blueprint '{blueprint.name}': has {rows} rows and {columns} columns; expected at most {ROWS} and "
                f"{COLUMNS} to be drawn here"
            )
        low = (ROWS - rows) // 2, (COLUMNS - columns) // 2
        self.cells = {(r + low[0], c + low[1]): kind for (r, c), kind in kinds.items()}
        self.name, self.source, self.kind = blueprint.name, blueprint, blueprint.type
        self._changed()

    def snapshot(self) -> BlueprintDraft:
        """As it is now, for another thread."""
        made = BlueprintDraft()
        made.cells, made.kind, made.name, made.source = dict(self.cells), self.kind, self.name, self.source
        return made

    def _changed(self) -> None:
        for watcher in self.watchers:
            watcher()

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def edited(self) -> bool:
        """Whether it is another one than was loaded or saved."""
        return self.source is None or self._at_origin() != self.source.type_of

    @property
    def main_kind(self) -> str:
        """The vehicle of most cells: drawn without a letter."""
        return Counter(self.cells.values()).most_common(1)[0][0] if self.cells else self.kind

    def _at_origin(self) -> dict[Cell, str]:
        low = [min((cell[i] for cell in self.cells), default=0) for i in (0, 1)]
        return {(r - low[0], c - low[1]): kind for (r, c), kind in self.cells.items()}

    def blueprint(self, name: str = "") -> Blueprint:
        """As a file would have it; a ShoalError if it is none."""
        if not self.cells:
            raise ShoalError("blueprint: no cell is drawn; expected at least one")
        cells = self._at_origin()
        main = self.main_kind
        signs = {main: "#"} | dict(zip(sorted(set(cells.values()) - {main}), string.ascii_uppercase, strict=False))
        rows, columns = (max(cell[i] for cell in cells) + 1 for i in (0, 1))
        drawn = ["".join(signs[cells[r, c]] if (r, c) in cells else "." for c in range(columns)) for r in range(rows)]
        data = {
            "version": 1, "name": name or (DRAWN if self.edited else self.name), "type": main, "rows": drawn[::-1],
            "types": {sign: kind for kind, sign in signs.items() if sign != "#"},
        }  # fmt: skip
        made = validate(Path("blueprint"), data, Blueprint)
        made.check()
        return made

    def verdict(self, now: Collection[Cell] | Mapping[Cell, str] = ()) -> tuple[bool, str]:
        """Whether the planner can build it, or reshape the platform `now` into it, and its sentence."""
        try:
            made = self.blueprint()
            if now:
                moves = check_reshaping(now, made)
                return True, f"{_counted(len(made.cells), 'cell')}: reshaped in {_counted(len(moves), 'move')}"
            rounds = building_order(made.cells)[1]
        except ShoalError as error:
            return False, str(error)
        return True, f"{_counted(len(made.cells), 'cell')}: built in {_counted(len(rounds), 'round')}"

    def save(self, path: Path) -> None:
        """As a blueprint file of the file's name; what the planner refuses is not saved."""
        made = self.blueprint(path.stem)
        building_order(made.cells)
        data = made.model_dump(mode="json", exclude_defaults=True) | {"type": made.type}
        with in_file(path):
            try:
                atomic.write_text(path, yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
            except OSError as error:
                raise ShoalError(f"cannot be written ({error.strerror}); expected a folder that can be") from None
        self.name, self.source = made.name, made
        self._changed()


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
