"""`shoal validate`: recorded commands through a vehicle's model, beside what the vehicle did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shoal.commands._outputs import PAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from shoal.identification.motion_data import MotionData
    from shoal.identification.validation import Replay, Validation


def validate(
    recordings: list[Path] = typer.Argument(help="Run directories, rosbag2 folders (MCAP, SQLite), CSV files."),
    vehicle: list[str] = typer.Option(
        ["bluerov2_heavy"], "--vehicle", help="Vehicle type or file, or TYPE:SET; several for several side by side."
    ),
    name: str = typer.Option(None, "--name", "-n", help="Which vehicle of the recording; needed if there are several."),
    columns: Path = typer.Option(None, "--columns", "-c", help="Column map (YAML) of CSV files."),
    window_s: float = typer.Option(8.0, "--window", min=1.0, help="Length of each free run, seconds."),
    delay_s: float = typer.Option(
        0.05, "--delay", help="From a logged command to its force, seconds; may be negative."
    ),
    calibrate: list[Path] = typer.Option(
        None, help="Other recordings, on which each set first gets its ballast, thrust scale and delay."
    ),
    sag: float = typer.Option(0.0, help="With --calibrate: one sigma of the battery's sag per 100 N; 0: none."),
    point: float = typer.Option(
        0.0,
        min=0.0,
        max=1.0,
        help="With --calibrate: one sigma of where the odometry is measured, m; 0: at the origin.",
    ),
    tilt_measured: bool = typer.Option(
        False, "--tilt-measured", help="Roll and pitch as measured: an autopilot held them with thrust nobody logged."
    ),
    page: Path = typer.Option(None, "--page", "-p", callback=PAGE, help="Write an HTML page with the free runs."),
) -> None:
    """How well parameter sets predict recorded motion: free runs with RMSE, R², Pearson's r, warped distance."""
    from shoal.console import out
    from shoal.identification.sources import read_motion
    from shoal.identification.validation import validate_replay
    from shoal.vehicles.description import load_vehicle

    found = []
    for label in vehicle:
        kind, _, chosen = label.partition(":") if not Path(label).exists() else (label, "", "")
        described = load_vehicle(kind, chosen or None)
        data = [piece for path in recordings for piece in read_motion(path, described, name, columns)]
        title = f"{described.name}:{described.parameter_set}"
        others = [piece for path in calibrate or [] for piece in read_motion(path, described, name, columns)]
        replay = _replay(title, label, others, chosen or None, delay_s, sag, tilt_measured, point)
        found.append(validate_replay(replay, data, window_s, tilt_measured))
    console = out()
    console.print(_table(found))
    for line in _verdict(found):
        console.print(line, highlight=False, soft_wrap=True)
    if page is not None:
        from shoal.reports.identification_page import write_validation_page

        write_validation_page(page, found, [str(path) for path in recordings])
        console.print(f"page: {page}", highlight=False, soft_wrap=True)


def _replay(
    title: str,
    label: str,
    others: Sequence[MotionData],
    chosen: str | None,
    delay_s: float,
    sag: float,
    tilt_measured: bool,
    point: float,
) -> Replay:
    from shoal.identification.calibration import calibrated
    from shoal.identification.validation import replay_of_vehicle
    from shoal.vehicles.description import load_vehicle

    described = load_vehicle(label if chosen is None else label.rpartition(":")[0], chosen)
    if not others:
        return replay_of_vehicle(described, title, delay_s)
    return calibrated(described, others, title, sag, tilt_measured, point)


def _table(found: Sequence[Validation]) -> Table:
    from rich.table import Table

    table = Table("set", "axis", "RMSE", "R²", "Pearson", "warped", "", title="Free runs", title_justify="left")
    for entry in found:
        for score in entry.axes:
            unit = "rad/s" if score.axis == "yaw" else "m/s"
            r2 = f"{score.r2:.3f}" if score.moved else "–"
            pearson = f"{score.pearson:.3f}" if score.moved else "–"
            table.add_row(entry.name, score.axis, f"{score.rmse:.4f}", r2, pearson, f"{score.warped:.4f}", unit)
    return table


def _verdict(found: Sequence[Validation]) -> list[str]:
    from shoal.identification.validation import GOOD_R2

    lines = []
    for entry in found:
        still = [a.axis for a in entry.axes if not a.moved]
        note = f"; hardly moved: {', '.join(still)}" if still else ""
        if len(still) == len(entry.axes):
            lines.append(f"{entry.name}: no verdict, the vehicle hardly moved")
        elif entry.poor:
            lines.append(f"{entry.name}: does not follow {', '.join(entry.poor)} (R² below {GOOD_R2:g}){note}")
        else:
            lines.append(f"{entry.name}: follows every axis that moved (R² of at least {GOOD_R2:g}){note}")
    scored = [entry for entry in found if entry.mean_r2 == entry.mean_r2]
    if len(scored) > 1:
        best = max(scored, key=lambda entry: entry.mean_r2)
        lines.append(f"best of {len(scored)} by mean R²: {best.name} ({best.mean_r2:.3f})")
    return lines


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(validate)
