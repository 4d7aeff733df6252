"""The tables of docs/results/README.md, written between two marks from the campaigns' own data; nothing by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.campaigns.store import Store
from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.statistics import WORST

BEGIN, END = "<!-- results: made by `make results`, do not edit -->", "<!-- end of results -->"
MOST_LINES = 40  # more conditions than this are put together by the name before what was varied
COMMIT = re.compile(r"\+g([0-9a-f]{7,40})")

Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """A figure of all runs of a line."""

    title: str
    text: Callable[[Sequence[Row]], str]


def results_section(folder: Path, explanation: str = "") -> str:
    """Heading, provenance and table of one campaign's directory."""
    store = Store(folder)
    rows, about, metrics = store.read_rows().to_pylist(), store.about(), {m.name: m for m in store.metrics()}
    if not rows:
        raise ShoalError(f"{folder}: holds no finished run yet; expected at least one")
    campaign = about.get("campaign", {})
    name, asked = campaign.get("name", folder.name), about.get("jobs", len(rows))
    lines = [
        f"## {name}",
        "",
        f"{campaign.get('description', '')} {explanation}".strip(),
        "",
        provenance(rows, asked),
        "",
    ]
    lines += _table(rows, metrics)
    return "\n".join([*lines, "", f"All cells: [summary]({name}/summary.md)."])


def provenance(rows: Sequence[Row], asked: int) -> str:
    """Code, date, machine and seeds of a table, in one line."""
    commits = sorted({commit_of(row["code_version"] or "") for row in rows})
    dates = sorted({(row["finished_utc"] or "")[:10] for row in rows} - {""})
    seeds = sorted({row["seed"] for row in rows})
    machines = "; ".join(sorted({row["machine"] or "unknown machine" for row in rows}))
    count = f"{len(rows)} runs" if len(rows) == asked else f"**{len(rows)} of {asked} runs**"
    when = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "unknown date"
    return (
        f"Commit {', '.join(f'`{c}`' for c in commits)}, {when}, {machines}; seeds {seeds[0]}–{seeds[-1]}, {count}, "
        f"{_hours(sum(row.get('wall_s') or 0.0 for row in rows))} of computing."
    )


def commit_of(code_version: str) -> str:
    """`0.1.0+gabc123` → `abc123`; with `.dirty` where it was."""
    found = COMMIT.search(code_version)
    return f"{found[1]}{'.dirty' if code_version.endswith('.dirty') else ''}" if found else code_version or "unknown"


def write_results(page: Path, sections: dict[str, str]) -> None:
    """Replace the sections of these campaigns between the marks, keep those of others, in the order given."""
    text = page.read_text(encoding="utf-8") if page.is_file() else f"# Results\n\n{BEGIN}\n{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ShoalError(f"{page}: has no marks; expected one line '{BEGIN}' and one line '{END}'")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    kept = {part.partition("\n")[0].strip(): f"## {part.strip()}" for part in re.split(r"^## ", old, flags=re.M)[1:]}
    body = "\n\n".join({**kept, **sections}.values())
    page.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(page, f"{before}{BEGIN}\n\n{body}\n\n{END}{after}")


def _table(rows: Sequence[Row], metrics: dict[str, MetricInfo]) -> list[str]:
    names = {_line(row) for row in rows}
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(_line(row, base=len(names) > MOST_LINES), []).append(row)
    ordered = sorted(groups.items(), key=lambda item: (_position(item[0], rows), item[0][-1]))
    columns = [c for c in _columns(rows, metrics) if any(c.text(group) != "–" for _, group in ordered)]
    head = ["condition", "fleet", "controller", *(c.title for c in columns)]
    made = [[*key, *(c.text(group) for c in columns)] for key, group in ordered]
    drop = [i for i in (1,) if len({line[i] for line in made}) == 1]  # the same fleet everywhere
    shown = [[cell for i, cell in enumerate(line) if i not in drop] for line in (head, *made)]
    return [f"| {' | '.join(line)} |" for line in (shown[0], ["---"] * len(shown[0]), *shown[1:])]


def _line(row: Row, base: bool = False) -> tuple[str, str, str]:
    condition = str(row["condition"]).partition(",")[0] if base else str(row["condition"])
    controller = str(row["controller"] or "").partition(",")[0] if base else str(row["controller"] or "")
    return condition.replace("_", " "), str(row["fleet"]), controller


def _position(key: tuple[str, ...], rows: Sequence[Row]) -> tuple[int, int]:
    """Fleets by size, conditions as in the data set, so that controllers stand below each other."""
    for i, row in enumerate(rows):
        if _line(row, base=True)[:2] == (key[0].partition(",")[0], key[1]):
            names = list(dict.fromkeys(_line(r)[0] for r in rows))
            return int(row["vehicles"] or 0), names.index(key[0]) if key[0] in names else i
    return 0, 0


def _columns(rows: Sequence[Row], metrics: dict[str, MetricInfo]) -> list[Column]:
    goals = any(row["goal"] for row in rows)
    columns = [Column("runs", lambda g: str(len(g))), Column("failed", lambda g: _count(g, "failed"))]
    if goals:
        columns.append(Column("goal reached after, median (last) [s]", lambda g: _both(g, metrics.get("goal_s"))))
    columns += [
        Column(metric.failure, lambda g, m=metric: _count(g, f"{m.name}_failed"))  # type: ignore[misc]
        for metric in metrics.values()
        if metric.bounded and metric.failure and any(row.get(f"{metric.name}_failed") for row in rows)
    ]
    errors = ("setpoint_error_rms_m", "setpoint_error_max_m", "formation_error_rms_m", "rmse_m")
    effort = ("tilt_max_deg", "tilt_settled_max_deg", "thrust_saturated_share", "thrust_activity_N")
    shown = ("fov_max_deg", "distance_min_m", *(() if goals else errors), *effort)
    columns += [Column(metrics[n].title, lambda g, m=metrics[n]: _worst(g, m)) for n in shown if n in metrics]  # type: ignore[misc]
    if not goals:
        columns.append(Column("time shift [s]", _shift))
    return columns


def _count(rows: Sequence[Row], column: str) -> str:
    judged = [row for row in rows if row["crashed"] or row.get(column) is not None]
    if not judged:
        return "–"
    return f"{sum(bool(row['crashed'] or row.get(column)) for row in judged)} / {len(judged)}"


def _values(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows if row.get(name) is not None]


def _worst(rows: Sequence[Row], metric: MetricInfo) -> str:
    values = _values(rows, metric.name)
    return metric.text(WORST[metric.worst](values)) if values else "–"


def _both(rows: Sequence[Row], metric: MetricInfo | None) -> str:
    values = sorted(_values(rows, metric.name)) if metric else []
    return f"{values[len(values) // 2]:.1f} ({values[-1]:.1f})" if values else "–"


def _shift(rows: Sequence[Row]) -> str:
    values = [abs(v) for axis in "xyz" for v in _values(rows, f"time_shift_{axis}_s")]
    return f"{max(values):.2f}" if values else "–"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"
