"""`shoal bench solver | growth`: the controllers against each other, and how step time grows with the problem."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import typer

from shoal.commands._outputs import ANY, PICTURE

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _one_thread() -> None:
    """Before numpy and the solvers are loaded: a control step has one core."""
    for name in THREADS:
        os.environ.setdefault(name, "1")


def solver(
    json_file: Path = typer.Option(None, "--json", callback=ANY, help="Also write the rows to this file."),
    quick: bool = typer.Option(False, "--quick", help="A shorter part of the loop; uses the cache of compiled code."),
    only: list[str] = typer.Option(None, "--only", help="Only this controller (repeatable)."),
) -> None:
    """All controllers in the same closed loop: time per step, path error, distance, sight, failures."""
    _one_thread()
    from shoal.benchmarks.solver import ENTRIES, measure
    from shoal.console import out
    from shoal.errors import ShoalError

    known = [entry.name for entry in ENTRIES]
    for name in only or ():
        if name not in known:
            raise ShoalError(f"--only {name}: unknown; expected one of {', '.join(known)}")
    console = out()
    with console.status("") as status:
        rows = measure(only or (), quick, lambda text: status.update(text))
    console.print(_solver_table(rows))
    _write(json_file, rows)


def _solver_table(rows: list[dict[str, Any]]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="Circle, ideal plant: one control step", title_justify="left")
    table.add_column("controller", no_wrap=True)
    heads = ["median ms", "P99", "max", "CPU", "×", "× P99", "build s", "loop s", "RMSE m", "dist m", "FOV °", "cost"]
    for head in [*heads, "failed"]:
        table.add_column(head, justify="right")
    for row in rows:
        times = [f"{row[key]:.2f}" for key in ("median_ms", "p99_ms", "max_ms", "cpu_median_ms")]
        faster = [f"{row[key]:.0f}" if key in row else "" for key in ("faster_median", "faster_p99")]
        formats = {"build_s": ".1f", "duration_s": "g", "rmse_m": ".4f", "distance_min_m": ".3f", "fov_max_deg": ".1f"}
        loop = [format(row[key], form) for key, form in formats.items()]
        cost = f"{row['cost_ratio']:.3f}" if "cost_ratio" in row else ""
        table.add_row(row["controller"], *times, *faster, *loop, cost, str(row["failures"]))
    table.caption = "×: times faster than dompc. CPU: median CPU time. build: a first start. cost: over that of ipopt"
    return table


def growth(
    json_file: Path = typer.Option(None, "--json", callback=ANY, help="Also write the rows to this file."),
    plot: Path = typer.Option(None, "--plot", callback=PICTURE, help="Write a picture (PNG, SVG, PDF)."),
    backend: str = typer.Option("auto", "--backend", help="Back end of the controller."),
    inputs: bool = typer.Option(False, "--inputs", help="Over 4 to 160 thrusters instead, for both kinds of inputs."),
    quick: bool = typer.Option(False, "--quick", help="Fewer neighbours and steps."),
) -> None:
    """Step time for 1 to 16 neighbours and horizons of 10, 20 and 40 steps."""
    _one_thread()
    from rich import box
    from rich.table import Table

    from shoal.benchmarks.growth import HORIZONS, measure, measure_inputs, picture
    from shoal.console import out
    from shoal.errors import ShoalError

    if inputs and plot is not None:
        raise ShoalError(f"--plot {plot}: there is no picture of growth with --inputs; expected --json or neither")
    if inputs:
        rows = measure_inputs(backend, quick)
        out().print(_inputs_table(rows))
        _write(json_file, rows)
        return
    rows = measure(backend, quick)
    table = Table(box=box.SIMPLE_HEAD, title="CPU time of one optimisation, median / P99 in ms")
    for head in ("neighbours", *(f"N = {n}" for n in HORIZONS)):
        table.add_column(head, justify="right")
    for count in sorted({row["neighbours"] for row in rows}):
        found = {row["horizon"]: row for row in rows if row["neighbours"] == count}
        table.add_row(
            str(count), *(f"{found[n]['cpu_median_ms']:.2f} / {found[n]['cpu_p99_ms']:.2f}" for n in HORIZONS)
        )
    out().print(table)
    _write(json_file, rows)
    if plot is not None:
        picture(rows, plot)


def _inputs_table(rows: list[dict[str, Any]]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="CPU time of one optimisation, one neighbour, N = 20, median / P99 in ms")
    for head in ("thrusters", "as inputs", "wrench inputs"):
        table.add_column(head, justify="right")
    for count in sorted({row["thrusters"] for row in rows}):
        found = {row["inputs"]: row for row in rows if row["thrusters"] == count}
        cells = [
            f"{found[kind]['cpu_median_ms']:.2f} / {found[kind]['cpu_p99_ms']:.2f}" if kind in found else ""
            for kind in ("thrusters", "wrench")
        ]
        table.add_row(str(count), *cells)
    return table


def _write(path: Path | None, rows: list[dict[str, Any]]) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def add_commands(app: typer.Typer) -> None:
    """To `shoal bench`."""
    app.command("solver")(solver)
    app.command("growth")(growth)
