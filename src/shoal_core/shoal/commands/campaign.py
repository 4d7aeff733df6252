"""`shoal campaign run | report | compare`: many runs on Dask, and what came of them."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(no_args_is_help=True, help="Many runs: paths × conditions × controllers × seeds, with a report.")


@app.command("run")
def run_command(
    file: str = typer.Argument(help="Campaign file, or the name of a shipped one: fosso2023, pid, exchange, …"),
    out: Path = typer.Option(..., "--out", "-o", help="Directory; one that holds part of the campaign is resumed."),
    runs: int = typer.Option(None, "--runs", "-n", min=1, help="Seeds per cell; the file's number if not given."),
    first_seed: int = typer.Option(None, "--first-seed", min=0, help="Of each cell; the file's if not given."),
    sample: int = typer.Option(None, min=1, help="So many of all these runs, drawn at random, evenly."),
    draw: int = typer.Option(None, min=0, help="Which sample: the seed of the draw."),
    duration_s: float = typer.Option(
        None, "--duration", min=0.1, help="Seconds; the file's or the task's if not given."
    ),
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
    from shoal.commands._progress import Progress
    from shoal.config.files import find_config, validate
    from shoal.console import out as console
    from shoal.console import print_warning

    asked = {"runs": runs, "first_seed": first_seed, "sample": sample, "draw": draw, "duration_s": duration_s}
    given = {key: value for key, value in {**asked, "record": record}.items() if value is not None}
    loaded, path = load_campaign(file), find_config("campaigns", file)
    campaign = validate(path, loaded.model_dump(mode="json") | given, Campaign)
    try:
        with Progress(campaign.name) as bar:
            outcome = run_campaign(campaign, out, workers=workers or os.cpu_count() or 1, scheduler=scheduler,
                                   retry_crashed=retry_crashed, file=path, progress=bar.update)  # fmt: skip
    except KeyboardInterrupt:
        print_warning(f"stopped; what is finished is kept in {out}, repeat the command to resume")
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
    from shoal.reports.report import headline, write_report

    page, summary = write_report(folder, out)
    for figure, words, _ in headline(folder):
        console().print(f"{figure} {words}", highlight=False, soft_wrap=True)
    console().print(f"written: {page}\n         {summary}", highlight=False)


@app.command("compare")
def compare_command(
    folder: Path = typer.Argument(help="Directory of a campaign with `baseline:`, finished or not."),
    metric: str = typer.Option("rmse_m", "--metric", "-m", help="Column that is compared."),
    most: float = typer.Option(1.2, min=0.0, help="Largest ratio to the baseline of the same seed."),
) -> None:
    """Set every run beside its baseline, the same seed; exit code 1 when a ratio is too large."""
    from shoal.campaigns.compare import cells_above, compare, summary
    from shoal.console import out as console

    runs = compare(folder, metric)
    if not runs:
        console().print("no run has its baseline yet", highlight=False)
        raise typer.Exit(1)
    above = cells_above(runs, most)
    cells = len({run.cell for run in runs})
    console().print(f"{metric}, ratio to the baseline, {len(runs)} runs of {cells} cells: {summary(runs)}\n"
                    f"cells with a ratio above {most:g}: {len(above)}", highlight=False, soft_wrap=True)  # fmt: skip
    for run in runs[: 10 if above else 3]:
        console().print(
            f"{run.ratio:7.3f}  {run.value:.4g} / {run.baseline:.4g}  {run.cell} · seed {run.seed}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
    if above:
        raise typer.Exit(1)


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="campaign")
