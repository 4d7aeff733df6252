"""The table of a docking campaign: for each cell what came of it, and of every run that failed, why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.statistics import CellStatistics
from shoal.reports.tables import Table, TableCell, lines

MARK = "dock_kbps"  # every docking has it, whatever becomes of it
WORST = ("dock_bearing_deg", "dock_speed_mps", "dock_angle_deg", MARK, "dock_beside", "tilt_max_deg", "dock_tries")
NAMED = 20  # failed runs of a cell

Rows = Sequence[Mapping[str, Any]]


def docking_table(
    cells: Sequence[CellStatistics], rows: Mapping[str, Rows], metrics: Mapping[str, MetricInfo]
) -> Table:
    """`rows`: of each cell, by its key. Without any docking it has no rows."""
    shown = [metrics[name] for name in WORST if name in metrics]
    found = []
    for label, members in lines(cells).items():
        for cell in members:
            if cell.spread(MARK).median is not None:
                found.append(_line(label, cell, rows[cell.key], shown))
    head = ("condition", "docked", "after [s]", *(m.title for m in shown), "failed, and why")
    explanation = (
        "Docked: with the exact 95 % confidence interval of the share (Clopper–Pearson). After: median over the runs "
        "that docked, and the latest. All others are the largest of all runs, those that failed included. A run fails "
        "that does not dock, and one that docks and breaks a bound."
    )
    return Table("Dockings", explanation, head, tuple(found), ruled=(1, 3, 3 + len(shown)))


def _line(label: str, cell: CellStatistics, rows: Rows, shown: Sequence[MetricInfo]) -> tuple[TableCell, ...]:
    docked, after = cell.reached, cell.spread("goal_s")
    times = "–" if after.median is None or after.worst is None else f"{after.median:.1f} / {after.worst:.1f}"
    share = f"{docked.low_percent:.1f}–{docked.high_percent:.1f} %"
    line = [
        TableCell(label),
        TableCell(f"{docked.count} / {docked.runs} = {docked.percent:.1f} %", share, key=cell.key),
        TableCell(times),
    ]
    for metric in shown:
        broke = cell.failed(metric.name).count > 0
        line.append(TableCell(metric.text(cell.spread(metric.name).worst), tone="bad" if broke else ""))
    return (*line, TableCell(_reasons(rows)))


def _reasons(rows: Rows) -> str:
    """The same words once, with the seeds."""
    seeds: dict[str, list[str]] = {}
    failed = sorted((row for row in rows if row["failed"]), key=lambda row: int(row["seed"]))
    for row in failed[:NAMED]:
        seeds.setdefault(row["failure"] or "failed", []).append(str(row["seed"]))
    words = [f"{reason}: seed {', '.join(who)}" for reason, who in seeds.items()]
    if len(failed) > NAMED:
        words.append(f"and {len(failed) - NAMED} more")
    return "\n".join(words) or "none"
