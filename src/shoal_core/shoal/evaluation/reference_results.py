"""Published results to compare with, as data: `config/reference/*.yaml`."""

from __future__ import annotations

from functools import lru_cache

from pydantic import model_validator

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, load_yaml

Shift = tuple[float, float, float]


class ReferenceRow(FileModel):
    """One line of the published table."""

    label: str
    condition: str
    failed_percent: dict[str, tuple[float, ...]]  # by metric, in the order of the table's paths
    time_shift_s: Shift | None = None  # x, y, z on the circle
    note: str = ""


class ReferenceResults(FileModel):
    """The table with its source."""

    name: str  # as it is cited
    title: str
    authors: str
    source: str
    note: str = ""
    paths: tuple[str, ...]
    bounds: dict[str, float]  # by metric: what counted as a failure there
    rows: tuple[ReferenceRow, ...]

    @model_validator(mode="after")
    def _as_wide_as_the_paths(self) -> ReferenceResults:
        for row in self.rows:
            for metric, values in row.failed_percent.items():
                if metric not in self.bounds:
                    raise ValueError(f"'{row.label}' has {metric}; expected one of {', '.join(self.bounds)}")
                if len(values) != len(self.paths):
                    raise ValueError(f"'{row.label}' has {len(values)} percentages; expected {len(self.paths)}")
        return self

    def of(self, condition: str) -> tuple[ReferenceRow, ...]:
        """All published lines of a condition (the default was measured on three computers)."""
        return tuple(row for row in self.rows if row.condition == condition)

    def percent(self, metric: str, condition: str, path: str) -> tuple[float, ...]:
        """Published failures of a cell, one per line."""
        if path not in self.paths:
            return ()
        column = self.paths.index(path)
        return tuple(row.failed_percent[metric][column] for row in self.of(condition) if metric in row.failed_percent)

    def shifts_s(self, condition: str, path: str) -> tuple[Shift, ...]:
        """Published time shifts; there are some for the circle only."""
        return tuple(r.time_shift_s for r in self.of(condition) if r.time_shift_s is not None and path == "circle")


@lru_cache(maxsize=4)
def load_reference(name: str = "fosso2023") -> ReferenceResults:
    """By shipped name or file."""
    return load_yaml(find_config("reference", name), ReferenceResults)
