"""Figures of a cell: failures with exact confidence intervals, time shifts, path errors, solver times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

AXES = ("x", "y", "z")


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

    median: float | None
    worst: float | None


@dataclass(frozen=True)
class CellStatistics:
    """Everything the tables say about one cell."""

    path: str
    condition: str
    fleet: str
    controller: str
    runs: int
    crashed: int
    fov: Rate
    distance: Rate
    following: Rate
    fov_max_deg: Spread
    distance_min_m: Spread
    shift_s: tuple[Spread, Spread, Spread]
    shift_measured: tuple[bool, bool, bool]
    rmse_whole_m: Spread
    rmse_m: Spread
    fallback_share: float
    goal: str  # what the runs had to reach; empty for paths
    reached: Rate
    goal_s: Spread
    said: dict[str, int]  # what controllers warned of, and in how many runs
    solve_ms_median: float | None
    solve_ms_p99: float | None
    solve_ms_max: float | None
    real_time_factor: float | None

    @property
    def key(self) -> str:
        """Of the cell, for links."""
        return "|".join((self.path, self.condition, self.fleet, self.controller))


def clopper_pearson(count: int, runs: int, confidence: float = 0.95) -> Rate:
    """Exact binomial interval: no failure in 100 runs still allows 3.6 %."""
    if runs == 0:
        return Rate(0, 0, 0.0, 100.0)
    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, count, runs - count + 1)) if count > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, count + 1, runs - count)) if count < runs else 1.0
    return Rate(count, runs, 100.0 * low, 100.0 * high)


def cell_figures(rows: Sequence[dict[str, Any]]) -> CellStatistics:
    """Of the rows of one cell (all columns of `rows.ROW_SCHEMA`)."""
    first, runs = rows[0], len(rows)
    shifts = [_spread(rows, f"time_shift_{a}_s", _largest) for a in AXES]
    measured = [any(bool(row[f"time_shift_{a}_measured"]) for row in rows) for a in AXES]
    return CellStatistics(
        path=first["path"],
        condition=first["condition"],
        fleet=first["fleet"],
        controller=first["controller"],
        runs=runs,
        crashed=sum(bool(row["crashed"]) for row in rows),
        fov=clopper_pearson(sum(bool(row["fov_failed"]) for row in rows), runs),
        distance=clopper_pearson(sum(bool(row["distance_failed"]) for row in rows), runs),
        following=clopper_pearson(sum(bool(row["path_failed"]) for row in rows), runs),
        fov_max_deg=_spread(rows, "fov_max_deg", max),
        distance_min_m=_spread(rows, "distance_min_m", min),
        shift_s=(shifts[0], shifts[1], shifts[2]),
        shift_measured=(measured[0], measured[1], measured[2]),
        rmse_whole_m=_spread(rows, "rmse_whole_m", max),
        rmse_m=_spread(rows, "rmse_m", max),
        fallback_share=float(np.mean([row["fallback_share"] or 0.0 for row in rows])),
        goal=next((row["goal"] for row in rows if row["goal"]), ""),
        reached=clopper_pearson(sum(not (row["goal_missed"] or row["crashed"]) for row in rows), runs),
        goal_s=_spread(rows, "goal_s", max),
        said=dict(Counter(text for row in rows for text in (row["warnings"] or "").split("; ") if text)),
        solve_ms_median=_spread(rows, "solve_ms_median", max).median,
        solve_ms_p99=_spread(rows, "solve_ms_p99", max).median,
        solve_ms_max=_spread(rows, "solve_ms_max", max).worst,
        real_time_factor=_spread(rows, "real_time_factor", min).median,
    )


def cells_of(rows: Sequence[dict[str, Any]]) -> list[CellStatistics]:
    """One per path × condition × fleet × controller, in the order in which they appear."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["path"], row["condition"], row["fleet"], row["controller"]), []).append(row)
    return [cell_figures(group) for group in groups.values()]


def _spread(rows: Sequence[dict[str, Any]], column: str, worst: Any) -> Spread:
    values = [float(row[column]) for row in rows if row[column] is not None]
    return Spread(float(np.median(values)), float(worst(values))) if values else Spread(None, None)


def _largest(values: Sequence[float]) -> float:
    return max(values, key=abs)
