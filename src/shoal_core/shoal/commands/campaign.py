"""`shoal campaign run | report`: many runs on Dask, and what came of them."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(no_args_is_help=True, help="Many runs: paths × conditions × controllers × seeds, with a report.")


@app.command("run")
def run_command(
    file: str = typer.Argument(help="Campaign file, or the name of a shipped one: fosso2023, pid, exchange, …"),
    out: Path = typer.Option(..., "--out", "-o", help="Directory; one that holds part of the campaign is resumed."),
    runs: int = typer.Option(None, "--runs", "-n", min=1, help="Seeds per cell; the file's number if not given."),
    workers: int = typer.Option(None, "--workers", "-w", min=1, help="Processes; one per core if not given."),
    scheduler: str = typer.Option(
        None, help="Address of a Dask scheduler whose workers see DIR, e.g. tcp://host:8786."
    ),
    record: str = typer.Option(None, help="Runs that keep a recording: none, first, failed, worst, all."),
    retry_crashed: bool = typer.Option(False, "--retry-crashed", help="Make crashed runs again."),
) -> None:
    """Make every run that DIR does not hold yet. Stop it any time, by any means; the same command goes on."""
    import os

    from shoal.campaigns.file import Campaign, load_campaign
    from shoal.campaigns.runner import run_campaign
    from shoal.config.files import find_config, validate
    from shoal.console import out as console
    from shoal.console import print_warning

    given = {key: value for key, value in {"runs": runs, "record": record}.items() if value is not None}
    loaded, path = load_campaign(file), find_config("campaigns", file)
    campaign = validate(path, loaded.model_dump(mode="json") | given, Campaign)
    try:
        with _Bar() as bar:
            outcome = run_campaign(campaign, out, workers=workers or os.cpu_count() or 1, scheduler=scheduler,
                                   retry_crashed=retry_crashed, file=path, progress=bar.update)  # fmt: skip
    except KeyboardInterrupt:
        print_warning(f"stopped; what is finished is kept in {out}, the same command goes on")
        raise typer.Exit(130) from None
    console().print(
        f"{outcome.asked} runs, {outcome.made} made now; failed {outcome.failed}, of which crashed {outcome.crashed}\n"
        f"next: shoal campaign report {out}", highlight=False,
    )  # fmt: skip


@app.command("report")
def report_command(
    folder: Path = typer.Argument(help="A campaign's directory, finished or not."),
    out: Path = typer.Option(None, "--out", "-o", help="Where to write; the campaign's directory if not given."),
) -> None:
    """Write report.html (one self-contained page) and summary.md."""
    from shoal.console import out as console
    from shoal.reports.report import write_report

    page, summary = write_report(folder, out)
    console().print(f"written: {page}\n         {summary}", highlight=False)


class _Bar:
    """Progress on stderr, with the time to go."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True))
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def update(self, done: int, total: int, what: str) -> None:
        self._progress.update(self._task, completed=done, total=total, description=what)


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="campaign")
