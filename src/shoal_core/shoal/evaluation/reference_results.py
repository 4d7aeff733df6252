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
    fleets: tuple[str, ...]  # with vehicles as published; others have nothing to be compared with
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

    def of(self, fleet: str, condition: str) -> tuple[ReferenceRow, ...]:
        """All published lines of a condition (the default was measured on three computers)."""
        return tuple(row for row in self.rows if row.condition == condition and fleet in self.fleets)

    def percent(self, metric: str, fleet: str, condition: str, path: str) -> tuple[float, ...]:
        """Published failures of a cell, one per line."""
        if path not in self.paths:
            return ()
        column = self.paths.index(path)
        return tuple(
            row.failed_percent[metric][column] for row in self.of(fleet, condition) if metric in row.failed_percent
        )

    def shifts_s(self, fleet: str, condition: str, path: str) -> tuple[Shift, ...]:
        """Published time shifts; there are some for the circle only."""
        rows = self.of(fleet, condition) if path == "circle" else ()
        return tuple(row.time_shift_s for row in rows if row.time_shift_s is not None)


@lru_cache(maxsize=4)
def load_reference(name: str = "fosso2023") -> ReferenceResults:
    """By shipped name or file."""
    return load_yaml(find_config("reference", name), ReferenceResults)
