"""`shoal drop NAME`: let the vehicle go, push it, and see whether it moves as the formulas say."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.commands._outputs import PICTURE


def drop(
    name: str = typer.Argument(help="Name of a vehicle type, or a file."),
    parameter_set: str = typer.Option(None, "--set", "-s", help="Parameter set; the file's default if not given."),
    tilt_deg: float = typer.Option(30.0, min=0.0, max=80.0, help="How far askew it is let go."),
    plot: Path = typer.Option(
        None, "--plot", "-p", callback=PICTURE, help="Picture; runs/drop_<name>_<set>.png if not given."
    ),
) -> None:
    """Free decay and full-thrust steps of a vehicle, with plot."""
    from rich import box
    from rich.table import Table

    from shoal.console import out
    from shoal.reports.plots.drop_plot import draw_drop
    from shoal.simulation.drop import drop_test
    from shoal.vehicles.description import load_vehicle

    vehicle = load_vehicle(name, parameter_set)
    result = drop_test(vehicle, tilt_deg)
    table = Table("full thrust from rest", box=box.SIMPLE_HEAD)
    for heading in ("force", "end speed", "closed form", "difference", "95 % after"):
        table.add_column(heading, justify="right")
    for step in result.steps:
        unit, end = ("rad/s" if step.axis == "yaw" else "m/s"), step.speeds[-1]
        difference = f"{(end - step.terminal) / step.terminal:+.2%}"
        table.add_row(
            step.axis,
            step.force_text,
            f"{end:.3f} {unit}",
            f"{step.terminal:.3f}",
            difference,
            f"{step.settling_s:.1f} s",
        )
    console = out()
    console.print(table)
    way = "rises" if result.float_speed_mps < 0 else "sinks"
    console.print(f"Without thrust it {way} at {abs(result.float_speed_mps):.3f} m/s in the end.")
    target = plot or Path("runs") / f"drop_{vehicle.name}_{vehicle.parameter_set}.png"
    console.print(f"picture: {draw_drop(vehicle, result, target)}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(drop)
