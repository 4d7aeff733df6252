"""Which runs deserve a look: failures first, then those that came nearest to one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from shoal.campaigns.rows import Row

FOV_HARD_DEG, DISTANCE_HARD_M = 60.0, 0.75


def severity(row: Row) -> float:
    """Larger is worse; 1 is the bound of either constraint, a crash is worst of all."""
    if row["crashed"]:
        return math.inf
    fov = (row["fov_max_deg"] or 0.0) / FOV_HARD_DEG
    near = DISTANCE_HARD_M / max(row["distance_min_m"], 1e-3) if row["distance_min_m"] is not None else 0.0
    return max(fov, near) + (10.0 if row["failed"] else 0.0)


def worst_first(rows: Iterable[Row]) -> list[Row]:
    """Sorted, equals by key so that the order never changes."""
    return sorted(rows, key=lambda row: (-severity(row), row["key"]))


def worst_keys(rows: Iterable[Row]) -> set[str]:
    """The worst run of each cell that has something to record."""
    worst: dict[tuple[str, ...], Row] = {}
    for row in worst_first(r for r in rows if not r["crashed"]):
        worst.setdefault((row["path"], row["condition"], row["fleet"], row["controller"]), row)
    return {row["key"] for row in worst.values()}
