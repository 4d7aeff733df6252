"""`shoal results`: all campaigns behind docs/results, and the tables made from them. `make results` calls it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from shoal.campaigns.results import Part


def results(
    names: list[str] = typer.Argument(None, help="Campaigns; all shipped ones if none is given."),
    runs: int = typer.Option(None, "--runs", "-n", min=1, help="Seeds per cell at most: a reduced sample."),
    out: Path = typer.Option(Path("runs/results"), "--out", "-o", help="Where the runs are kept, by source commit."),
    docs: Path = typer.Option(Path("docs/results"), "--docs", help="Where README.md and the summaries are written."),
    workers: int = typer.Option(None, "--workers", "-w", min=1, help="Processes; one per core if not given."),
    estimate: bool = typer.Option(False, "--estimate", help="Say how long it takes, and stop."),
    tables: bool = typer.Option(False, "--tables", help="Make no run; tables from what there is."),
) -> None:
    """Run what docs/results is made from, then write its tables. Stop it any time; the same command goes on."""
    import os
    import shutil

    from shoal.campaigns.results import parts, refuse_uncommitted, source_state
    from shoal.campaigns.runner import run_campaign
    from shoal.commands._progress import Progress
    from shoal.config import atomic
    from shoal.console import out as console
    from shoal.console import print_warning
    from shoal.reports.report import write_report
    from shoal.reports.results_page import results_section, write_results

    folder = out / (source_state(Path.cwd())[0] if estimate else refuse_uncommitted(Path.cwd()))
    chosen, count = parts(names or (), runs), workers or os.cpu_count() or 1
    if not tables:
        _say_how_long(chosen, folder, count)
    if estimate:
        return
    page = docs / "README.md"
    for part in chosen:
        own = folder / part.name
        if tables and not (own / "rows").is_dir():
            continue
        try:
            if not tables:
                with Progress(part.name) as bar:
                    run_campaign(part.campaign, own, workers=count, file=part.name, progress=bar.update)
        except KeyboardInterrupt:
            print_warning(f"stopped; what is finished is kept in {folder}, repeat the command to resume")
            raise typer.Exit(130) from None
        html, summary = write_report(own)
        (docs / part.name).mkdir(parents=True, exist_ok=True)
        atomic.write_text(docs / part.name / "summary.md", summary.read_text(encoding="utf-8"))
        if (docs / part.name / html.name).is_file():  # those that are kept with their page
            shutil.copyfile(html, docs / part.name / html.name)
        write_results(page, {part.name: results_section(own, part.sample)})
        console().print(f"{part.name}: {docs / part.name / 'summary.md'}, table in {page}", highlight=False)


def _say_how_long(chosen: list[Part], folder: Path, workers: int) -> None:
    """Measured by a few seconds of each fleet and controller, before anything starts."""
    from shoal.campaigns.results import MeasuredSpeed, estimate_s, missing
    from shoal.commands._progress import duration_words
    from shoal.console import out as console

    speed, total = MeasuredSpeed(), 0.0
    for part in chosen:
        jobs = missing(part, folder / part.name)
        seconds = estimate_s(jobs, workers, speed)
        total += seconds
        console().print(
            f"{part.name}: {len(jobs)} of {len(part.jobs)} runs to make, about {duration_words(seconds)}",
            highlight=False,
        )
    cores = f"{workers} core{'s' * (workers > 1)}"
    console().print(f"all: about {duration_words(total)} on {cores} with nothing else to do", highlight=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(results)
