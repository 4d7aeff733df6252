"""Published results to compare with, as data: `config/reference/*.yaml`."""

from __future__ import annotations

from functools import lru_cache

from pydantic import model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml

Shift = tuple[float, float, float]


class ReferenceRow(FileModel):
    """One line of the published table; percentages in the order of the table's paths."""

    label: str
    condition: str
    fov_failed_percent: tuple[float, ...]
    distance_failed_percent: tuple[float, ...]
    time_shift_s: Shift | None = None  # x, y, z on the circle
    note: str = ""


class ReferenceResults(FileModel):
    """The table with its source."""

    title: str
    authors: str
    source: str
    note: str = ""
    paths: tuple[str, ...]
    fov_hard_deg: float
    distance_hard_m: float
    rows: tuple[ReferenceRow, ...]

    @model_validator(mode="after")
    def _as_wide_as_the_paths(self) -> ReferenceResults:
        for row in self.rows:
            for values in (row.fov_failed_percent, row.distance_failed_percent):
                if len(values) != len(self.paths):
                    raise ValueError(f"'{row.label}' has {len(values)} percentages; expected {len(self.paths)}")
        return self

    def of(self, condition: str) -> tuple[ReferenceRow, ...]:
        """All published lines of a condition (the default was measured on three computers)."""
        return tuple(row for row in self.rows if row.condition == condition)

    def fov_percent(self, condition: str, path: str) -> tuple[float, ...]:
        """Published FOV failures of a cell, one per line."""
        return self._cell(condition, path, "fov_failed_percent")

    def distance_percent(self, condition: str, path: str) -> tuple[float, ...]:
        """Published distance failures of a cell, one per line."""
        return self._cell(condition, path, "distance_failed_percent")

    def shifts_s(self, condition: str, path: str) -> tuple[Shift, ...]:
        """Published time shifts; there are some for the circle only."""
        return tuple(r.time_shift_s for r in self.of(condition) if r.time_shift_s is not None and path == "circle")

    def _cell(self, condition: str, path: str, column: str) -> tuple[float, ...]:
        if path not in self.paths:
            return ()
        return tuple(getattr(row, column)[self.paths.index(path)] for row in self.of(condition))


@lru_cache(maxsize=4)
def load_reference(name: str = "fosso2023") -> ReferenceResults:
    """By shipped name or file."""
    return load_yaml(find_config("reference", name), ReferenceResults)
