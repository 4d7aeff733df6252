"""The tables of a campaign report, as cells of text that HTML and Markdown share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shoal.evaluation.reference_results import ReferenceResults
from shoal.evaluation.statistics import CellStatistics, Rate, Spread


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


def failure_table(cells: Sequence[CellStatistics], reference: ReferenceResults, kind: str) -> Table:
    """kind: "fov" or "distance". One line per condition, for each path ours and the published figure side by side."""
    bound = (
        f"FOV angle > {reference.fov_hard_deg:g}°" if kind == "fov" else f"distance < {reference.distance_hard_m:g} m"
    )
    paths = _paths(cells, reference)
    compared = any(_published(reference, kind, cell.condition, cell.path) for cell in cells)
    rows = []
    for label, group in _lines(cells).items():
        line = [TableCell(label)]
        for path in paths:
            cell = next((c for c in group if c.path == path), None)
            published = _published(reference, kind, group[0].condition, path)
            line.append(TableCell("–") if cell is None else _rate_cell(getattr(cell, kind), published, cell.key))
            if compared:
                line.append(TableCell("\n".join(f"{p:.2f} %" for p in published) or "–"))
        rows.append(tuple(line))
    head = ("condition", *[word for path in paths for word in (path, f"{path}, thesis")[: 1 + compared]])
    explanation = (
        f"Runs with {bound} at any instant, and the exact 95 % confidence interval of their share (Clopper–Pearson). "
    ) + (
        "Beside it the thesis's percentage of about 100 runs; its default was run on three computers."
        if compared
        else "The thesis gives no figures for these conditions."
    )
    title = "Lost sight" if kind == "fov" else "Too close"
    return Table(f"{title}: {bound}", explanation, head, tuple(rows), ruled=tuple(range(1, len(head), 1 + compared)))


def shift_table(
    cells: Sequence[CellStatistics], reference: ReferenceResults, peaks: dict[str, tuple[float | None, ...]]
) -> Table:
    """Time shift per axis, all paths; the thesis gives the circle's."""
    compared = any(reference.shifts_s(cell.condition, cell.path) for cell in cells)
    rows = []
    for label, group in _lines(cells).items():
        for cell in group:
            published = reference.shifts_s(cell.condition, cell.path)
            line = [TableCell(label), TableCell(cell.path)]
            for spread, measured in zip(cell.shift_s, cell.shift_measured, strict=True):
                line.append(_shift_cell(spread, measured, cell.key))
            line.append(TableCell(", ".join("–" if p is None else f"{p:.1f}" for p in peaks.get(cell.key, ()))))
            if compared:
                line.append(TableCell("\n".join(", ".join(f"{v:.2f}" for v in shift) for shift in published) or "–"))
            rows.append(tuple(line))
    explanation = (
        "Lag of the formation's centroid behind the setpoint that explains the response best (least squares): median "
        "over the runs, and the run with the largest. An axis on which the setpoint stands still has none. Peak to "
        "peak is the thesis's own definition, on the median response; flat peaks make it coarse."
    )
    head = ("condition", "path", "x [s]", "y [s]", "z [s]", "peak to peak x, y, z [s]", "thesis x, y, z [s]")
    width = 6 + compared
    return Table("Time shift", explanation, head[:width], tuple(rows), ruled=(2, 5, 6)[: width - 4])


def error_table(cells: Sequence[CellStatistics]) -> Table:
    """Path error, margins and fallbacks of each cell."""
    rows = []
    for label, group in _lines(cells).items():
        for c in group:
            rows.append((
                TableCell(label), TableCell(c.path, key=c.key), TableCell(str(c.runs)), _crash_cell(c),
                TableCell(_both(c.rmse_m, ".3f")), TableCell(_both(c.rmse_whole_m, ".3f")),
                _following_cell(c.following), TableCell(_both(c.fov_max_deg, ".1f")),
                TableCell(_both(c.distance_min_m, ".2f")), TableCell(f"{100 * c.fallback_share:.2f} %"),
            ))  # fmt: skip
    head = ("condition", "path", "runs", "crashed", "RMSE settled [m]", "RMSE [m]", "strayed",
            "FOV max [°]", "distance min [m]", "fallback")  # fmt: skip
    explanation = (
        "Formation centroid against the setpoint, after 10 s of settling and over the whole run; strayed: more than "
        "2 m off after settling; largest angle and smallest distance of a run. Median over the runs, and the worst run "
        "in brackets. Fallback: control steps that the optimiser did not decide."
    )
    return Table("Path error and margins", explanation, head, tuple(rows), ruled=(2, 4, 7))


def goal_table(cells: Sequence[CellStatistics]) -> Table:
    """Runs with a goal instead of a path: who came too close, who arrived, and when."""
    rows = tuple(
        (TableCell(cell.condition.replace("_", " ")), TableCell(cell.fleet), _rate_cell(cell.distance, (), cell.key),
         TableCell(_both(cell.distance_min_m, ".2f")),
         _all_cell(cell.reached),
         TableCell(_both(cell.goal_s, ".1f")), TableCell(f"{100 * cell.fallback_share:.2f} %"))
        for cell in sorted(cells, key=_by_size)
    )  # fmt: skip
    goals = ", ".join(dict.fromkeys(cell.goal for cell in cells))
    explanation = (
        "Too close: runs in which any two came closer than the hard distance, with the exact 95 % confidence interval "
        "of their share (Clopper–Pearson). Reached: runs in which the goal was met and stayed met. Distances and times "
        "are the median over the runs, and the worst run in brackets."
    )
    head = ("condition", "fleet", "too close", "distance min [m]", "reached", "after [s]", "fallback")
    return Table(f"Goal: {goals}", explanation, head, rows, ruled=(2, 4, 6))


def _by_size(cell: CellStatistics) -> tuple[int, str]:
    """Small fleets first; conditions stay in their order within a fleet."""
    return (int(cell.fleet), "") if cell.fleet.isdigit() else (0, cell.fleet)


def warning_table(cells: Sequence[CellStatistics]) -> Table:
    """What controllers said while they steered; conditions without a word are left out."""
    paths = list(dict.fromkeys(cell.path for cell in cells))
    rows = []
    for label, group in _lines(cells).items():
        by_path = {cell.path: cell for cell in group}
        for text in dict.fromkeys(text for cell in group for text in cell.said):
            counts = [f"{c.said.get(text, 0)} / {c.runs}" if (c := by_path.get(p)) else "–" for p in paths]
            rows.append((TableCell(label), TableCell(text), *map(TableCell, counts)))
    explanation = (
        "Runs in which a controller that was steering warned of this (in its diagnostics, on ROS and in recordings). "
        "Conditions in which nobody had anything to say are not listed."
    )
    return Table("What the controllers said", explanation, ("condition", "warning", *paths), tuple(rows), ruled=(1, 2))


def solver_table(cells: Sequence[CellStatistics]) -> Table:
    """Times on the machine named in the provenance."""
    rows = tuple(
        (TableCell(label), TableCell(c.path), TableCell(_number(c.solve_ms_median, ".2f")),
         TableCell(_number(c.solve_ms_p99, ".2f")), TableCell(_number(c.solve_ms_max, ".1f")),
         TableCell(_number(c.real_time_factor, ".1f")))
        for label, group in _lines(cells).items() for c in group
    )  # fmt: skip
    explanation = (
        "Per control step and vehicle. Median over the runs of each run's median and 99th percentile; overall maximum."
    )
    head = ("condition", "path", "median [ms]", "99 % [ms]", "max [ms]", "× real time")
    return Table("Solver", explanation, head, rows, ruled=(2,))


def _lines(cells: Sequence[CellStatistics]) -> dict[str, list[CellStatistics]]:
    """By condition, and by fleet and controller where there are several."""
    several_fleets = len({c.fleet for c in cells}) > 1
    several_controllers = len({c.controller for c in cells}) > 1
    groups: dict[str, list[CellStatistics]] = {}
    for cell in cells:
        extra = [f"fleet {cell.fleet}"] * several_fleets + [cell.controller] * several_controllers
        groups.setdefault(" · ".join([cell.condition.replace("_", " "), *extra]), []).append(cell)
    return groups


def _paths(cells: Sequence[CellStatistics], reference: ReferenceResults) -> list[str]:
    found = dict.fromkeys(cell.path for cell in cells)
    return [p for p in reference.paths if p in found] + [p for p in found if p not in reference.paths]


def _published(reference: ReferenceResults, kind: str, condition: str, path: str) -> tuple[float, ...]:
    found = reference.fov_percent if kind == "fov" else reference.distance_percent
    return found(condition, path)


def _rate_cell(rate: Rate, published: Sequence[float], key: str) -> TableCell:
    """Good: none. Bad: more than the thesis's best figure, or any where it had none to compare with."""
    tone = "good" if rate.count == 0 else "bad" if not published or rate.percent > min(published) else "fair"
    return TableCell(f"{rate.count} / {rate.runs}", f"{rate.low_percent:.1f}–{rate.high_percent:.1f} %", tone, key)


def _following_cell(rate: Rate) -> TableCell:
    return TableCell(f"{rate.count} / {rate.runs}", tone="good" if rate.count == 0 else "bad")


def _all_cell(rate: Rate) -> TableCell:
    return TableCell(f"{rate.count} / {rate.runs}", tone="good" if rate.count == rate.runs else "bad")


def _crash_cell(cell: CellStatistics) -> TableCell:
    return TableCell(str(cell.crashed), tone="bad" if cell.crashed else "")


def _shift_cell(spread: Spread, measured: bool, key: str) -> TableCell:
    if not measured or spread.median is None or spread.worst is None:
        return TableCell("–")
    tone = "good" if abs(spread.worst) <= 0.2 else "fair" if abs(spread.median) <= 0.2 else "bad"
    return TableCell(f"{spread.median:+.2f}", f"worst {spread.worst:+.2f}", tone, key)


def _both(spread: Spread, form: str) -> str:
    if spread.median is None or spread.worst is None:
        return "–"
    return f"{spread.median:{form}} ({spread.worst:{form}})"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"
