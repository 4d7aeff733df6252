"""Which runs deserve a look: failures first, then those that came nearest to a bound of theirs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from shoal.campaigns.rows import Row
from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.summary import IDENTITY

TINY = 1e-3
CELL = tuple(name for name in IDENTITY if name != "seed")


def severity(row: Row, metrics: Iterable[MetricInfo]) -> float:
    """Larger is worse; 1 is at a bound of the run's own, a crash is worst of all."""
    if row["crashed"]:
        return math.inf
    shares = [_share(row.get(m.name), row.get(f"{m.name}_bound"), m.worst == "min") for m in metrics if m.bounded]
    return max(shares, default=0.0) + (10.0 if row["failed"] else 0.0)


def _share(value: float | None, bound: float | None, smallest: bool) -> float:
    if value is None or bound is None or bound <= 0:
        return 0.0
    return bound / max(value, TINY) if smallest else abs(value) / bound


def worst_first(rows: Iterable[Row], metrics: Sequence[MetricInfo]) -> list[Row]:
    """Sorted, equals by key so that the order never changes."""
    return sorted(rows, key=lambda row: (-severity(row, metrics), row["key"]))


def worst_keys(rows: Iterable[Row], metrics: Sequence[MetricInfo]) -> set[str]:
    """The worst run of each cell that has something to record."""
    worst: dict[tuple[str, ...], Row] = {}
    for row in worst_first((r for r in rows if not r["crashed"]), metrics):
        worst.setdefault(tuple(row[name] for name in CELL), row)
    return {row["key"] for row in worst.values()}
