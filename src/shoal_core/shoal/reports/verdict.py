"""The verdict on one run as a table for the terminal, with the published figures of the same condition beside it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.markup import escape
from rich.table import Table

from shoal.evaluation.metric import MetricInfo
from shoal.evaluation.metrics import all_metrics, task_metrics
from shoal.evaluation.reference_results import ReferenceResults, load_reference
from shoal.evaluation.summary import Summary
from shoal.guidance.path_file import load_path

WHOLE = 0.95  # of a test's duration: shorter runs are not compared with published figures of whole ones


def verdict_table(summary: Summary, metrics: Sequence[str] = ()) -> Table:
    """This run, what it had to keep, and what is published of this path and condition."""
    reference = load_reference()
    whole_s = _whole_s(summary)
    infos = [m.info for m in all_metrics([*task_metrics(summary.task), *metrics]) if m.name in summary.metrics]
    table = Table(title=_title(summary), title_justify="left", caption=_caption(summary, whole_s),
                  caption_justify="left", box=box.SIMPLE_HEAD)  # fmt: skip
    rows = []
    for label, group in groupby((info for info in infos if info.shown), key=lambda info: info.label):
        members = list(group)
        parts = " / ".join(info.part for info in members if info.part)
        rows.append((escape(f"{label}, {parts}" if parts else label), _values(members, summary),
                     _bound(members[0], summary), "" if whole_s else _published(members[0], summary, reference))
        )  # fmt: skip
    compared = any(row[-1] for row in rows)
    for heading in ("", "this run", "bound", f"{reference.name}, same condition")[: 3 + compared]:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row[: 3 + compared])
    return table


def _title(summary: Summary) -> str:
    fleet, seed = f"{summary.vehicles} vehicle{'s' * (summary.vehicles > 1)}", f"seed {summary.seed}"
    task = "" if summary.task == "follow_path" else summary.task
    words = (task, summary.path, summary.condition, summary.controller, fleet, seed)
    return escape(" · ".join(word for word in words if word))


def _whole_s(summary: Summary) -> float | None:
    """How long the published test is, if this run was clearly shorter: its figures are then of something else."""
    if summary.task != "follow_path" or summary.path not in load_reference().paths:
        return None
    whole_s = float(load_path(summary.path).duration_s)
    return whole_s if summary.duration_s < WHOLE * whole_s else None


def _caption(summary: Summary, whole_s: float | None) -> str:
    text = f"[bold red]FAILED[/]: {escape(summary.failure)}" if summary.failed else "[bold green]passed[/]"
    if whole_s and any(load_reference().of(summary.fleet, summary.condition)):
        text += (
            f"\n{summary.duration_s:.0f} s of a test of {whole_s:.0f} s: not compared with "
            f"{load_reference().name}, which ran all of it"
        )
    return text


def _values(members: list[MetricInfo], summary: Summary) -> str:
    texts = [info.text(summary.value(info.name)) for info in members]
    text = " / ".join(texts) + members[0].unit_words * any(t != "–" for t in texts)
    result = summary.metrics[members[0].name]
    if result.subject and result.value is not None:
        text += f"  ({result.subject})"
    return f"[bold red]{escape(text)}[/]" if any(summary.broke(info.name) for info in members) else escape(text)


def _bound(info: MetricInfo, summary: Summary) -> str:
    bound = summary.metrics[info.name].bound
    return "" if bound is None else f"{'≥' if info.worst == 'min' else '≤'} {info.limit_text(bound)}{info.unit_words}"


def _published(info: MetricInfo, summary: Summary, reference: ReferenceResults) -> str:
    if info.name.startswith("time_shift_"):
        shifts = reference.shifts_s(summary.fleet, summary.condition, summary.path)
        return "\n".join(" / ".join(f"{v:.2f}" for v in s) for s in shifts)
    values = reference.percent(info.name, summary.fleet, summary.condition, summary.path)
    return f"{' / '.join(f'{v:g}' for v in values)} % of runs {info.failure}" if values else ""
