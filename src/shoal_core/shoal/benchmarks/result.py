"""What a benchmark hands back, for the screen and for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One figure."""

    label: str
    value: float
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Result:
    """All figures of one benchmark, from one run."""

    name: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
