"""The verdict on one run as a table for the terminal, with the thesis's figures of the same cell beside it."""

from __future__ import annotations

from rich import box
from rich.table import Table

from shoal.evaluation.metrics import PATH_BOUND_M
from shoal.evaluation.reference_results import load_reference
from shoal.evaluation.summary import Summary
from shoal.recordings.recording import Limits


def verdict_table(summary: Summary, limits: Limits) -> Table:
    """This run, what it had to keep, and what the thesis reports of this path and condition."""
    reference, cell = load_reference(), (summary.condition, summary.path)
    lost = _percent(reference.fov_percent(*cell), "lost sight")
    near = _percent(reference.distance_percent(*cell), "too close")
    shifts = "\n".join(", ".join(f"{v:.2f}" for v in s) for s in reference.shifts_s(*cell)) or "–"
    fleet, seed = f"{summary.vehicles} vehicle{'s' * (summary.vehicles > 1)}", f"seed {summary.seed}"
    title = " · ".join(w for w in (summary.path, summary.condition, summary.controller, fleet, seed) if w)
    verdict = f"[bold red]FAILED[/]: {summary.failure}" if summary.failed else "[bold green]passed[/]"
    table = Table(title=title, title_justify="left", caption=verdict, caption_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("", "this run", "bound", "thesis, same cell"):
        table.add_column(heading)
    table.add_row("largest FOV angle", _value(summary.fov_max_deg, ".1f", "°", summary.fov_failed),
                  f"≤ {limits.fov_hard_deg:g}°", lost)  # fmt: skip
    table.add_row("smallest distance", _value(summary.distance_min_m, ".2f", " m", summary.distance_failed),
                  f"≥ {limits.distance_hard_m:g} m", near)  # fmt: skip
    table.add_row("time shift x, y, z in s", _shifts(summary), "", shifts)
    table.add_row("path error, settled", _value(summary.rmse_m, ".3f", " m RMS", False), "", "–")
    table.add_row("path error, largest", _value(summary.path_error_max_m, ".3f", " m", summary.path_failed),
                  f"≤ {PATH_BOUND_M:g} m", "–")  # fmt: skip
    table.add_row("solver, median / 99 % / max", _solve(summary), "", "–")
    table.add_row("fallback steps", str(summary.fallbacks), "", "–")
    table.add_row("speed", _value(summary.real_time_factor, ".1f", " × real time", False), "", "–")
    return table


def _value(value: float | None, form: str, unit: str, bad: bool) -> str:
    text = "–" if value is None else f"{value:{form}}{unit}"
    return f"[bold red]{text}[/]" if bad else text


def _percent(values: tuple[float, ...], what: str) -> str:
    return f"{' / '.join(f'{v:g}' for v in values)} % of runs {what}" if values else "–"


def _shifts(summary: Summary) -> str:
    pairs = zip(summary.time_shift_s, summary.time_shift_measured, strict=True)
    return ", ".join(f"{v:+.2f}" if m and v is not None else "–" for v, m in pairs)


def _solve(summary: Summary) -> str:
    times = (summary.solve_ms.median, summary.solve_ms.p99, summary.solve_ms.max)
    return " / ".join("–" if t is None else f"{t:.1f}" for t in times) + " ms"
