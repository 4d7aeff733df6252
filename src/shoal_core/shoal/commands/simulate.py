"""`shoal simulate`: one run of a fleet, recorded and judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shoal.commands._outputs import PICTURE

if TYPE_CHECKING:
    from shoal.recordings.recording import Recording
    from shoal.tasks.run import RunSpec

FAILED = 3  # exit code of a run that broke a bound


def simulate(
    task: str = typer.Option(
        "follow_path", "--task", "-t", help="follow_path, hold_station, exchange, join, recover or package.module:Name."
    ),
    path: str = typer.Option("circle", "--path", "-p", help="line, circle, spiral, torus, or a path file."),
    fleet: str = typer.Option("2", "--fleet", "-f", help="Number of vehicles, or a fleet's name or file."),
    condition: str = typer.Option("default", "--condition", "-c", help="A condition's name or file."),
    seed: int = typer.Option(0, "--seed", "-s", min=0, help="Decides everything that is random."),
    controller: str = typer.Option(
        None,
        "--controller",
        help="nmpc, pid, dompc (Fosso 2023, slow), a controller file, or package.module:Name; the fleet file's if not "
        "given.",
    ),
    duration_s: float = typer.Option(
        None, "--duration", min=1.0, max=86_400.0, help="Seconds; the task's own if not given."
    ),
    period_s: float = typer.Option(
        None, "--period", min=0.01, max=1.0, help="Control period in s; the fleet file's (0.05 s) if not given."
    ),
    settings: list[str] = typer.Option(
        None,
        "--set",
        help="KEY=VALUE, repeatable: a setting of the task, or controller.KEY, runtime.KEY, condition.KEY, "
        "such as controller.weights.position_xy=50.",
    ),
    metrics: list[str] = typer.Option(None, "--metric", help="A metric of your own, package.module:NAME; repeatable."),
    out: Path = typer.Option(None, "--out", "-o", help="Run directory to write: recording, Parquet, summary.json."),
    plot: Path = typer.Option(None, "--plot", callback=PICTURE, help="One picture of the run: PNG, SVG or PDF."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON and nothing else."),
) -> None:
    """Simulate a fleet, write its recording, and judge it beside published figures. Exit code 3: it broke a bound."""
    from shoal.campaigns.job import Job, check_inputs
    from shoal.campaigns.vary import varied
    from shoal.commands._events import print_events
    from shoal.commands._plot import write_plot
    from shoal.console import out as console
    from shoal.evaluation.metrics import summarise
    from shoal.evaluation.run_directory import refuse_foreign, write_run
    from shoal.reports.verdict import verdict_table
    from shoal.tasks.run import RunSpec

    if out is not None:
        refuse_foreign(out)
    spec = RunSpec(path, fleet, condition, seed, controller, duration_s, period_s, task)
    spec = varied(spec, _changes(settings or []), "--set", root="task")
    check_inputs([Job(spec, tuple(metrics or ()))])
    recording = _with_progress(spec)
    summary = summarise(recording, metrics or ())
    if out is not None:
        write_run(recording, summary, out)
    if plot is not None:
        write_plot(recording, plot)
    if as_json:
        print(summary.model_dump_json(indent=2))
    else:
        console().print(verdict_table(summary, metrics or ()))
        print_events(recording)
        if out is not None:
            console().print(f"written: {out} (replay it with `shoal view {out}`)", highlight=False, soft_wrap=True)
        if plot is not None:
            console().print(f"picture: {plot}", highlight=False, soft_wrap=True)
    if summary.failed:
        raise typer.Exit(FAILED)


def _changes(settings: list[str]) -> dict[str, Any]:
    """`key=value` pairs; values as in YAML."""
    import yaml

    from shoal.errors import ShoalError

    changes = {}
    for text in settings:
        key, sign, value = text.partition("=")
        if not (key and sign and value):
            raise ShoalError(f"--set {text}: expected KEY=VALUE, such as controller.weights.position_xy=50")
        try:
            changes[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ShoalError(f"--set {text}: the value is not readable; expected a number, a word or a list") from None
    return changes


def _with_progress(spec: RunSpec) -> Recording:
    from rich.console import Console
    from rich.progress import Progress

    from shoal.tasks.run import simulate

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)
        return simulate(spec, lambda share: bar.update(task, completed=share))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(simulate)
