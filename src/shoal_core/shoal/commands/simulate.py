"""`shoal simulate`: one run of a fleet, recorded and judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from shoal.recordings.recording import RunRecord
    from shoal.simulation.simulator import RunSpec


def simulate(
    path: str = typer.Option("circle", "--path", "-p", help="line, circle, spiral, torus, or a path file."),
    fleet: str = typer.Option("2", "--fleet", "-f", help="Number of vehicles, or a fleet's name or file."),
    condition: str = typer.Option("default", "--condition", "-c", help="A condition's name or file."),
    seed: int = typer.Option(0, "--seed", "-s", min=0, help="Decides everything that is random."),
    controller: str = typer.Option("nmpc", "--controller", help="nmpc or dompc (the thesis's, slow)."),
    duration_s: float = typer.Option(None, "--duration", min=1.0, help="Seconds; the path's own if not given."),
    period_s: float = typer.Option(None, "--period", min=0.01, max=1.0, help="Control period; 0.1 s if not given."),
    out: Path = typer.Option(None, "--out", "-o", help="Run directory to write: recording, Parquet, summary.json."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON and nothing else."),
) -> None:
    """Simulate a fleet on a path, write its recording, and judge it beside the thesis's figures."""
    from dataclasses import replace

    from shoal.console import out as console
    from shoal.evaluation.metrics import summarise
    from shoal.evaluation.run_directory import refuse_foreign, write_run
    from shoal.reports.verdict import verdict_table
    from shoal.simulation.conditions import load_condition
    from shoal.simulation.simulator import RunSpec

    if out is not None:
        refuse_foreign(out)
    spec = RunSpec(path, fleet, load_condition(condition), seed, controller, duration_s)
    record = _with_progress(spec if period_s is None else replace(spec, control_period_s=period_s))
    summary = summarise(record)
    if out is not None:
        write_run(record, summary, out)
    if as_json:
        print(summary.model_dump_json(indent=2))
        return
    console().print(verdict_table(summary, record.limits))
    for t_s, vehicle, text in record.events[:10]:
        console().print(f"{t_s:7.1f} s  {vehicle}: {text}", highlight=False)
    if out is not None:
        console().print(f"written: {out} (replay it with `shoal view {out}`)", highlight=False)


def _with_progress(spec: RunSpec) -> RunRecord:
    from rich.console import Console
    from rich.progress import Progress

    from shoal.campaigns.job import simulate_spec

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)
        return simulate_spec(spec, lambda share: bar.update(task, completed=share))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(simulate)
