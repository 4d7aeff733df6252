"""`shoal campaign report DIR`: one self-contained HTML page and a Markdown summary of a campaign."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from shoal.campaigns.store import Store
from shoal.campaigns.worst import worst_first
from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.reference_results import ReferenceResults, load_reference
from shoal.evaluation.statistics import CellStatistics, cell_key, cells_of, failure_rate
from shoal.recordings.recording import Recording
from shoal.reports.assembly_parts import assembly_parts
from shoal.reports.bands import cell_picture, median_peak_shifts
from shoal.reports.docking_table import docking_table
from shoal.reports.fault_parts import fault_headline, fault_table, has_faults
from shoal.reports.page import Part
from shoal.reports.tables import Table, failure_table, goal_table, group_table, issue_table, shift_table

WORST_SHOWN = 20
FEW = 10  # runs; an interval of fewer says nothing


@dataclass(frozen=True)
class Report:
    """All that both forms of the report show."""

    title: str
    about: dict[str, Any]
    provenance: dict[str, str]
    headline: list[tuple[str, str, str]]  # figure, what it is, tone
    tables: list[Table]
    worst: list[dict[str, Any]]
    crashes: list[tuple[str, int]]
    pictures: dict[str, Any]
    missing: list[tuple[str, int]]  # cells that lack runs, and how many
    missing_words: str
    reference: ReferenceResults
    joined: list[Part]  # sections on assemblies and joints


def write_report(
    folder: Path, out: Path | None = None, recordings: Mapping[str, Recording] | None = None
) -> tuple[Path, Path]:
    """Write `report.html` and `summary.md` into `out` (the campaign's own folder unless given).

    `recordings`: by key, of runs that are not among the campaign's own.
    """
    report = make_report(folder, out or folder, recordings)
    target = out or folder
    target.mkdir(parents=True, exist_ok=True)
    files = target / "report.html", target / "summary.md"
    for file, text in zip(files, (_html(report), _markdown(report)), strict=True):
        atomic.write_text(file, text)
    return files


def headline(folder: Path) -> list[tuple[str, str, str]]:
    """What the report begins with: figure, what it is, tone."""
    store = Store(folder)
    rows, metrics = store.read_rows().to_pylist(), store.metrics()
    return _headline(rows, cells_of(rows, metrics), metrics, store.about().get("jobs"))


def make_report(folder: Path, out: Path, recordings: Mapping[str, Recording] | None = None) -> Report:
    """Read the campaign's directory. A campaign that still runs, or was killed, is reported as far as it came."""
    if not (folder / "rows").is_dir():
        raise ShoalError(f"{folder}: holds no rows/; expected a directory that `shoal campaign run` wrote")
    store = Store(folder)
    rows = _in_file_order(store.read_rows().to_pylist(), about := store.about())
    if not rows:
        raise ShoalError(f"{folder}: holds no finished run yet; expected at least one")
    series, metrics = store.read_series(row["key"] for row in rows), store.metrics()
    cells, reference = cells_of(rows, metrics), load_reference()
    grouped = {cell.key: [r for r in rows if cell_key(r) == cell.key] for cell in cells}
    peaks = {key: median_peak_shifts(group, series) for key, group in grouped.items()}
    return Report(
        title=about.get("campaign", {}).get("name") or folder.name,
        about=about,
        provenance=_provenance(rows, about),
        headline=_headline(rows, cells, metrics, about.get("jobs")),
        tables=[
            *([fault_table(rows)] if has_faults(rows) else []),
            *_tables(cells, grouped, reference, peaks, metrics),
        ],
        worst=[_worst_line(row, store, out) for row in worst_first(rows, metrics)[:WORST_SHOWN]],
        crashes=_crashes(rows),
        pictures={key: p for key, group in grouped.items() if (p := cell_picture(group, series, metrics)) is not None},
        missing=_missing(rows, about),
        missing_words=f"{len(rows)} of {about.get('jobs', len(rows))} runs",
        reference=reference,
        joined=assembly_parts(rows, recordings or {}, folder),
    )


def _missing(rows: list[dict[str, Any]], about: dict[str, Any]) -> list[tuple[str, int]]:
    """By the names in the campaign's own list of what was asked for."""
    done = {row["key"] for row in rows}
    lacking: dict[str, int] = {}
    for key, cell in zip(about.get("keys", ()), about.get("cells", ()), strict=False):
        if key not in done:
            lacking[cell] = lacking.get(cell, 0) + 1
    return list(lacking.items())


def _tables(
    cells: list[CellStatistics],
    rows: dict[str, list[dict[str, Any]]],
    reference: ReferenceResults,
    peaks: dict[str, Any],
    metrics: list[MetricInfo],
) -> list[Table]:
    """Runs with a goal of their own follow no path: other things are asked of them."""
    by_name = {metric.name: metric for metric in metrics}
    groups = [group for group in dict.fromkeys(metric.group for metric in metrics) if group]
    if all(cell.goal for cell in cells):
        tables = [docking_table(cells, rows, by_name), goal_table(cells, by_name["distance_min_m"])]
    else:
        tables = [failure_table(cells, reference, by_name[name]) for name in reference.bounds if name in by_name]
        tables.append(shift_table(cells, reference, peaks))
    tables += [group_table(cells, group, metrics) for group in groups]
    tables.append(issue_table(cells))
    return [table for table in tables if table.rows]


def _html(report: Report) -> str:
    import plotly.offline

    page = _environment(autoescape=True).get_template("report.html.j2")
    return page.render(report=report, plotly=_packed(plotly.offline.get_plotlyjs()), data=_packed(
        json.dumps(report.pictures, separators=(",", ":"), allow_nan=False)))  # fmt: skip


def _markdown(report: Report) -> str:
    return _environment(autoescape=False).get_template("summary.md.j2").render(report=report)


def _environment(autoescape: bool) -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    return jinja2.Environment(loader=loader, autoescape=autoescape, trim_blocks=True, lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined)  # fmt: skip


def _packed(text: str) -> str:
    """gzip + base64: a third of the size; the browser unpacks it. No time stamp, so equal input gives an equal page."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _in_file_order(rows: list[dict[str, Any]], about: dict[str, Any]) -> list[dict[str, Any]]:
    """Conditions in the order of the campaign file, not of the alphabet."""
    asked = about.get("campaign", {})
    conditions = [c if isinstance(c, str) else c.get("name", "") for c in asked.get("conditions", [])]
    paths = list(asked.get("paths", []))

    def place(known: list[str], name: str) -> int:
        exact = known.index(name) if name in known else None
        return exact if exact is not None else next((i for i, k in enumerate(known) if name.startswith(f"{k},")), 999)

    return sorted(rows, key=lambda r: (place(conditions, r["condition"]), place(paths, r["path"])))


def _provenance(rows: list[dict[str, Any]], about: dict[str, Any]) -> dict[str, str]:
    seeds = sorted({row["seed"] for row in rows})
    hashes = sorted({f"{row['condition']} {row['condition_hash']}" for row in rows})
    controllers = sorted({row["controller"] for row in rows})
    return {
        "code": ", ".join(sorted({row["code_version"] or "unknown" for row in rows})),
        "runs": f"{len(rows)} of {about.get('jobs', len(rows))} asked for",
        "seeds": f"{seeds[0]} to {seeds[-1]}",
        "machine": "; ".join(sorted({row["machine"] or "unknown" for row in rows})),
        "finished": max((row["finished_utc"] or "" for row in rows), default="") + " (UTC)",
        "controllers": ", ".join(controllers),
        "conditions (content hashes)": "; ".join(hashes),
    }


def _headline(
    rows: list[dict[str, Any]], cells: list[CellStatistics], metrics: list[MetricInfo], asked: int | None
) -> list[tuple[str, str, str]]:
    whole = len(rows) if asked is None or asked <= len(rows) else f"{len(rows)} of {asked}"
    figures = [(f"{whole}", f"run{'s' * (len(rows) != 1)} in {len(cells)} cell{'s' * (len(cells) != 1)}", "")]
    if all(cell.goal for cell in cells):
        reached = sum(cell.reached.count for cell in cells)
        figures.append((f"{reached}", f"reached: {cells[0].goal}", "good" if reached == len(rows) else "bad"))
    if has_faults(rows):
        figures += fault_headline(rows)
    for metric in metrics:
        judged = [cell for cell in cells if metric.name in cell.failures]
        count, runs = sum(c.failures[metric.name].count for c in judged), sum(c.runs for c in judged)
        rare = metric.name == "not_a_number_share"
        if not judged or not metric.failure or metric.name == "goal_s" or (rare and not count):
            continue
        interval = f" (95 %: up to {failure_rate(count, runs).high_percent:.2g} %)" if runs >= FEW else ""
        words = f"{metric.failure}{interval}"
        figures.append((f"{count}", words, "bad" if count else "good"))
    crashed = sum(bool(r["crashed"]) for r in rows)
    figures.append((f"{crashed}", "crashed", "bad" if crashed else "good"))
    shifts = [abs(s.worst) for c in cells for a in "xyz" if (s := c.spread(f"time_shift_{a}_s")).worst is not None]
    errors = [s.worst for c in cells if (s := c.spread("rmse_m")).worst is not None]
    own = [s.worst for c in cells if (s := c.spread("setpoint_error_rms_m")).worst is not None]
    if shifts and not any(cell.goal for cell in cells):
        figures.append((f"{max(shifts):.2f} s", "largest time shift of any run", ""))
    if errors and not any(cell.goal for cell in cells):
        figures.append((f"{max(errors):.3f} m", "largest settled path error RMS of any run", ""))
    if own and not any(cell.goal for cell in cells):
        figures.append((f"{max(own):.3f} m", "largest settled own error RMS of any vehicle in any run", ""))
    return figures


def _worst_line(row: dict[str, Any], store: Store, out: Path) -> dict[str, Any]:
    recording = store.recordings / row["key"]
    link = Path(os.path.relpath(recording, out)).as_posix() if recording.is_dir() else ""
    return row | {"cell": cell_key(row), "recording": link}


def _crashes(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    reasons: dict[str, int] = {}
    for row in rows:
        if row["crashed"]:
            reasons[row["failure"]] = reasons.get(row["failure"], 0) + 1
    return sorted(reasons.items(), key=lambda item: -item[1])
