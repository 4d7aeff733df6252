"""Each run beside its baseline: the same seed with what the campaign's `baseline:` says instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal.campaigns.store import Store
from shoal.errors import ShoalError
from shoal.evaluation.summary import IDENTITY

CELL = tuple(name for name in IDENTITY if name != "seed")


@dataclass(frozen=True)
class Compared:
    """One run."""

    cell: str
    seed: int
    value: float
    baseline: float

    @property
    def ratio(self) -> float:
        """Above one: worse than the baseline, of a metric whose worst is the largest."""
        return self.value / self.baseline if self.baseline else math.inf


def compare(folder: Path, metric: str) -> list[Compared]:
    """Worst first. A run without a number, such as one that crashed, is infinitely worse than its baseline."""
    store = Store(folder)
    baselines: dict[str, str] = store.about().get("baselines", {})
    if not baselines:
        raise ShoalError(f"{folder}: its runs have no baselines; expected a campaign with `baseline:` in its file")
    rows = {row["key"]: row for row in store.read_rows().to_pylist()}
    if any(metric not in row for row in rows.values()):
        raise ShoalError(f"--metric {metric}: no column of {folder}; expected for example rmse_m")
    found = []
    for key, other in baselines.items():
        row, baseline = rows.get(key), rows.get(other)
        if row is None or baseline is None or baseline[metric] is None:
            continue  # not made yet, or nothing to compare with
        cell = " · ".join(str(row[name]) for name in CELL if row[name])
        value = math.inf if row[metric] is None else float(row[metric])
        found.append(Compared(cell, row["seed"], value, float(baseline[metric])))
    return sorted(found, key=lambda c: (-c.ratio, c.cell, c.seed))


def cells_above(runs: Sequence[Compared], most: float) -> dict[str, float]:
    """Cells with a run of a larger ratio, with the largest."""
    return {run.cell: run.ratio for run in reversed(runs) if run.ratio > most}


def summary(runs: Sequence[Compared]) -> str:
    """Median, 95th percentile and largest ratio."""
    ratios = np.array([run.ratio for run in runs])
    middle, high = np.percentile(ratios, (50, 95), method="lower")
    return f"median {middle:.3f}, P95 {high:.3f}, largest {ratios.max():.3f}"
