"""Figures of a cell: of each metric median and worst, of each bound the failures with exact confidence intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from shoal.evaluation.metric import MetricInfo

CELL = ("path", "condition", "fleet", "controller", "task")  # runs that agree in these differ in their seed only
GOAL = "goal_s"  # the metric of tasks with a goal

Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Rate:
    """k of n runs, with the exact (Clopper-Pearson) 95 % interval in percent."""

    count: int
    runs: int
    low_percent: float
    high_percent: float

    @property
    def percent(self) -> float:
        """Share of the runs."""
        return 100.0 * self.count / self.runs if self.runs else 0.0


@dataclass(frozen=True)
class Spread:
    """Median and worst over the runs of a cell; None where no run has a value."""

    median: float | None = None
    worst: float | None = None


@dataclass(frozen=True)
class CellStatistics:
    """Everything the tables say about one cell."""

    path: str
    condition: str
    fleet: str
    controller: str
    task: str
    vehicles: int  # 0: every run has crashed
    runs: int
    crashed: int
    spreads: dict[str, Spread]  # by metric
    failures: dict[str, Rate]  # by metric with a bound in these runs
    goal: str  # what the runs had to reach; empty for paths
    reached: Rate
    issues: dict[str, int]  # what controllers reported, and in how many runs

    @property
    def key(self) -> str:
        """Of the cell, for links."""
        return "|".join(getattr(self, name) for name in CELL)

    def spread(self, metric: str) -> Spread:
        """Of a metric; without values if no run has it."""
        return self.spreads.get(metric, Spread())

    def failed(self, metric: str) -> Rate:
        """Of a metric's bound; none if there is no such bound in these runs."""
        return self.failures.get(metric, failure_rate(0, self.runs))


def failure_rate(count: int, runs: int) -> Rate:
    """Exact binomial interval: no failure in 100 runs still allows 3.6 %."""
    if runs == 0:
        return Rate(0, 0, 0.0, 100.0)
    interval = scipy.stats.binomtest(count, runs).proportion_ci(method="exact")
    return Rate(count, runs, 100.0 * float(interval.low), 100.0 * float(interval.high))


def cell_key(row: dict[str, Any]) -> str:
    """As of the cell the row belongs to."""
    return "|".join(str(row[name] or "") for name in CELL)


def cell_statistics(rows: Rows, metrics: Sequence[MetricInfo]) -> CellStatistics:
    """Of the rows of one cell. A run that crashed has failed in everything."""
    first, runs = rows[0], len(rows)
    crashed = sum(bool(row["crashed"]) for row in rows)
    bounded = [m.name for m in metrics if m.bounded and any(row.get(f"{m.name}_failed") is not None for row in rows)]
    failures = {
        name: failure_rate(sum(bool(row["crashed"] or row.get(f"{name}_failed")) for row in rows), runs)
        for name in bounded
    }
    missed = sum(bool(row["crashed"] or row.get(f"{GOAL}_failed")) for row in rows)
    return CellStatistics(
        **{name: first[name] or "" for name in CELL},
        vehicles=max((row["vehicles"] or 0 for row in rows), default=0),
        runs=runs,
        crashed=crashed,
        spreads={m.name: _spread(rows, m) for m in metrics},
        failures=failures,
        goal=next((row["goal"] for row in rows if row["goal"]), ""),
        reached=failure_rate(runs - missed, runs),
        issues=dict(Counter(text for row in rows for text in row["issues"] or ())),
    )


def cells_of(rows: Rows, metrics: Sequence[MetricInfo]) -> list[CellStatistics]:
    """One per path × condition × fleet × controller × task, in the order in which they appear."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(cell_key(row), []).append(row)
    return [cell_statistics(group, metrics) for group in groups.values()]


WORST: dict[str, Callable[[Sequence[float]], float]] = {
    "max": max,
    "min": min,
    "abs": lambda values: max(values, key=abs),
}


def _spread(rows: Rows, metric: MetricInfo) -> Spread:
    values = [float(row[metric.name]) for row in rows if row.get(metric.name) is not None]
    return Spread(float(np.median(values)), float(WORST[metric.worst](values))) if values else Spread()
