"""The tables of a campaign report, as cells of text that HTML and Markdown share. Columns follow from the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.reference_results import ReferenceResults
from shoal.evaluation.statistics import CellStatistics, Rate, Spread

Cells = Sequence[CellStatistics]


@dataclass(frozen=True)
class TableCell:
    """`tone`: good, fair, bad or "" for the colour; `key` links to the cell's pictures."""

    text: str
    note: str = ""
    tone: str = ""
    key: str = ""


@dataclass(frozen=True)
class Table:
    """`ruled` columns begin a new group."""

    title: str
    explanation: str
    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    ruled: tuple[int, ...] = field(default=())


def failure_table(cells: Cells, reference: ReferenceResults, metric: MetricInfo) -> Table:
    """One line per condition, for each path ours and the published figure side by side."""
    paths = _paths(cells, reference)
    compared = any(reference.percent(metric.name, cell.fleet, cell.condition, cell.path) for cell in cells)
    rows = []
    for label, group in lines(cells).items():
        line = [TableCell(label)]
        for path in paths:
            cell = next((c for c in group if c.path == path), None)
            published = reference.percent(metric.name, group[0].fleet, group[0].condition, path)
            line.append(TableCell("–") if cell is None else rate_cell(cell.failed(metric.name), published, cell.key))
            if compared:
                line.append(TableCell("\n".join(f"{p:.2f} %" for p in published) or "–"))
        rows.append(tuple(line))
    head = ("condition", *[word for path in paths for word in (path, f"{path}, {reference.name}")[: 1 + compared]])
    explanation = (
        f"Runs that {metric.failure} at any instant, and the exact 95 % confidence interval of their share "
        "(Clopper–Pearson). "
    ) + (
        f"Beside it the percentage of about 100 runs in {reference.name}; its default was run on three computers."
        if compared
        else f"{reference.name} gives no figures for these fleets and conditions."
    )
    title = f"{metric.failure.capitalize()}: {metric.label}{_bounds(metric, reference)}"
    return Table(title, explanation, head, tuple(rows), ruled=tuple(range(1, len(head), 1 + compared)))


def shift_table(cells: Cells, reference: ReferenceResults, peaks: dict[str, tuple[float | None, ...]]) -> Table:
    """Time shift per axis, all paths; Fosso 2023 gives the circle's."""
    compared = any(reference.shifts_s(cell.fleet, cell.condition, cell.path) for cell in cells)
    rows = []
    for label, group in lines(cells).items():
        for cell in group:
            published = reference.shifts_s(cell.fleet, cell.condition, cell.path)
            line = [TableCell(label), TableCell(cell.path)]
            line += [_shift_cell(cell.spread(f"time_shift_{axis}_s"), cell.key) for axis in "xyz"]
            line.append(TableCell(", ".join("–" if p is None else f"{p:.1f}" for p in peaks.get(cell.key, ()))))
            if compared:
                line.append(TableCell("\n".join(", ".join(f"{v:.2f}" for v in shift) for shift in published) or "–"))
            rows.append(tuple(line))
    explanation = (
        "Lag of the formation's centroid behind the setpoint that explains the response best (least squares): median "
        "over the runs, and the run with the largest. An axis on which the setpoint stands still has none. Peak to "
        f"peak is the definition of {reference.name}, on the median response; flat peaks make it coarse."
    )
    head = ("condition", "path", "x [s]", "y [s]", "z [s]", "peak to peak x, y, z [s]", f"{reference.name} x, y, z [s]")
    width = 6 + compared
    return Table("Time shift", explanation, head[:width], tuple(rows), ruled=(2, 5, 6)[: width - 4])


def group_table(cells: Cells, group: str, metrics: Sequence[MetricInfo]) -> Table:
    """All metrics of a group that any run has: median over the runs, worst in brackets, and who broke a bound."""
    shown = [m for m in metrics if m.group == group and any(c.spread(m.name).median is not None for c in cells)]
    rows = tuple(
        (TableCell(label), TableCell(c.path, key=c.key), TableCell(str(c.runs)), _crash_cell(c),
         *(_metric_cell(c, metric) for metric in shown))
        for label, members in lines(cells).items() for c in members
    )  # fmt: skip
    explanation = "Median over the runs, and the worst run in brackets. " + " ".join(
        f"{m.label[:1].upper()}{m.label[1:]}{f' {m.part}' if m.part else ''}: {m.description}"
        for m in shown
        if m.description
    )
    head = ("condition", "path", "runs", "crashed", *(m.title for m in shown))
    return Table(group, explanation, head, rows if shown else (), ruled=(2, 4))


def goal_table(cells: Cells, distance: MetricInfo) -> Table:
    """Runs with a goal: who came too close, who arrived, and when."""
    names = _labels(cells)
    rows = tuple(
        (TableCell(names[cell.key]), TableCell(str(cell.vehicles or "–")),
         rate_cell(cell.failed(distance.name), (), cell.key),
         TableCell(_both(cell.spread(distance.name), distance)), _all_cell(cell.reached),
         TableCell(_both(cell.spread("goal_s"), MetricInfo(name="goal_s", form=".1f"))),
         TableCell(_both(cell.spread("fallback_share"), MetricInfo(name="fallback_share", form=".2%"))))
        for cell in sorted(cells, key=lambda cell: cell.vehicles)
    )  # fmt: skip
    goals = ", ".join(dict.fromkeys(cell.goal for cell in cells))
    explanation = (
        "Too close: runs in which any two came closer than the hard distance, with the exact 95 % confidence interval "
        "of their share (Clopper–Pearson). Reached: runs in which the goal was met and stayed met. Distances and times "
        "are the median over the runs, and the worst run in brackets."
    )
    head = ("condition", "vehicles", "too close", "distance min [m]", "reached", "after [s]", "fallback")
    return Table(f"Goal: {goals}", explanation, head, rows, ruled=(2, 4, 6))


def issue_table(cells: Cells) -> Table:
    """What controllers reported while they steered; conditions without any are left out."""
    paths = list(dict.fromkeys(cell.path for cell in cells))
    rows = []
    for label, group in lines(cells).items():
        by_path = {cell.path: cell for cell in group}
        for text in dict.fromkeys(text for cell in group for text in cell.issues):
            counts = [f"{c.issues.get(text, 0)} / {c.runs}" if (c := by_path.get(p)) else "–" for p in paths]
            rows.append((TableCell(label), TableCell(text), *map(TableCell, counts)))
    explanation = (
        "Runs in which a controller reported this in its diagnostics, on ROS and in recordings alike. Conditions in "
        "which no controller reported anything are not listed."
    )
    head = ("condition", "issue", *(path or "runs" for path in paths))
    return Table("Reported by the controllers", explanation, head, tuple(rows), ruled=(1, 2))


def lines(cells: Cells) -> dict[str, list[CellStatistics]]:
    """By condition, and by fleet, controller and task where there are several."""
    names = _labels(cells)
    groups: dict[str, list[CellStatistics]] = {}
    for cell in cells:
        groups.setdefault(names[cell.key], []).append(cell)
    return groups


def _labels(cells: Cells) -> dict[str, str]:
    several = {name: len({getattr(c, name) for c in cells}) > 1 for name in ("fleet", "controller", "task")}
    return {
        cell.key: " · ".join([
            cell.condition.replace("_", " "), *[f"fleet {cell.fleet}"] * several["fleet"],
            *[cell.controller] * several["controller"], *[cell.task] * several["task"],
        ])
        for cell in cells
    }  # fmt: skip


def _paths(cells: Cells, reference: ReferenceResults) -> list[str]:
    found = dict.fromkeys(cell.path for cell in cells)
    return [p for p in reference.paths if p in found] + [p for p in found if p not in reference.paths]


def _bounds(metric: MetricInfo, reference: ReferenceResults) -> str:
    sign, bound = "<" if metric.worst == "min" else ">", reference.bounds[metric.name]
    return f" {sign} {bound:g}{'' if metric.unit == '°' else ' '}{metric.unit}"


def rate_cell(rate: Rate, published: Sequence[float], key: str) -> TableCell:
    """Good: none. Bad: more than the best published figure, or any where there is none to compare with."""
    tone = "good" if rate.count == 0 else "bad" if not published or rate.percent > min(published) else "fair"
    return TableCell(f"{rate.count} / {rate.runs}", f"{rate.low_percent:.1f}–{rate.high_percent:.1f} %", tone, key)


def _metric_cell(cell: CellStatistics, metric: MetricInfo) -> TableCell:
    text = _both(cell.spread(metric.name), metric)
    if metric.name not in cell.failures:
        return TableCell(text)
    rate = cell.failures[metric.name]
    return TableCell(text, f"{rate.count} / {rate.runs} failed" if rate.count else "", "bad" if rate.count else "good")


def _all_cell(rate: Rate) -> TableCell:
    return TableCell(f"{rate.count} / {rate.runs}", tone="good" if rate.count == rate.runs else "bad")


def _crash_cell(cell: CellStatistics) -> TableCell:
    return TableCell(str(cell.crashed), tone="bad" if cell.crashed else "")


def _shift_cell(spread: Spread, key: str) -> TableCell:
    if spread.median is None or spread.worst is None:
        return TableCell("–")
    tone = "good" if abs(spread.worst) <= 0.2 else "fair" if abs(spread.median) <= 0.2 else "bad"
    return TableCell(f"{spread.median:+.2f}", f"worst {spread.worst:+.2f}", tone, key)


def _both(spread: Spread, metric: MetricInfo) -> str:
    if spread.median is None or spread.worst is None:
        return "–"
    return f"{metric.text(spread.median)} ({metric.text(spread.worst)})"
