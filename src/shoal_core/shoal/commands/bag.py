"""`shoal bag report | repair`: from recordings back to numbers."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.commands._outputs import PICTURE

app = typer.Typer(no_args_is_help=True, help="Recordings: ours and those of `ros2 bag record`, MCAP or SQLite.")


@app.command("report")
def report_command(
    bag: Path = typer.Argument(help="Folder of the recording."),
    out: Path = typer.Option(None, "--out", "-o", help="Where the page goes; BAG/report if not given."),
    fleet: str = typer.Option(None, "--fleet", "-f", help="Fleet whose limits count; the recording's if not given."),
    setpoint: str = typer.Option(None, "--setpoint", help="Topic of the common setpoint, if it is not found."),
    from_s: float = typer.Option(None, "--from", help="Seconds from the start; without it each test is a run."),
    to_s: float = typer.Option(None, "--to", help="Seconds from the start."),
    plot: Path = typer.Option(None, "--plot", callback=PICTURE, help="One picture of the first run: PNG, SVG or PDF."),
    as_json: bool = typer.Option(False, "--json", help="Print the summaries as JSON, write nothing."),
) -> None:
    """Judge what was recorded as if it had been simulated. Topics are found by their types."""
    import json

    from shoal.commands._events import print_events
    from shoal.commands._plot import write_plot
    from shoal.console import out as console
    from shoal.evaluation.metrics import summarise
    from shoal.recordings.bag_reader import read_runs
    from shoal.reports.bag_report import write_bag_report
    from shoal.reports.verdict import verdict_table

    folder = bag.parent if bag.is_file() else bag
    recordings = read_runs(bag, fleet, setpoint, from_s, to_s)
    if as_json:
        print(json.dumps([summarise(recording).model_dump(mode="json") for recording in recordings], indent=2))
        return
    summaries, page = write_bag_report(folder.resolve().name, recordings, out or folder / "report")
    for recording, summary in zip(recordings, summaries, strict=True):
        console().print(verdict_table(summary))
        print_events(recording)
    console().print(f"report: {page}", highlight=False, soft_wrap=True)
    if plot is not None:
        write_plot(recordings[0], plot)
        console().print(f"picture: {plot}", highlight=False, soft_wrap=True)


@app.command("repair")
def repair_command(bags: list[Path] = typer.Argument(help="Folders of recordings.")) -> None:
    """Finish recordings that a killed recorder left behind."""
    from shoal.console import out as console
    from shoal.recordings.bag_repair import repair

    for bag in bags:
        found = repair(bag)
        state = "complete already" if found.was_whole else f"repaired, {found.dropped_bytes} bytes lost"
        console().print(f"{bag}: {state}, {found.messages} messages", highlight=False, soft_wrap=True)


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="bag")
