"""`shoal assembly list | show`: joined vehicles as one: mass, centre, inputs, top speeds, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shoal.commands._outputs import PICTURE

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.assembly.composite import Composite

app = typer.Typer(no_args_is_help=True, help="Assemblies of joined vehicles: composite numbers, top speeds, picture.")


@app.command("list")
def list_assemblies() -> None:
    """All assemblies."""
    from rich.table import Table

    from shoal.assembly.file import load_assembly
    from shoal.config.files import list_configs
    from shoal.console import out

    table = Table("assembly", "modules", "joints", r"mass \[kg]", "inputs", "description")
    for name in list_configs("assemblies"):
        file = load_assembly(name)
        vehicle = file.composite().vehicle
        counts = str(len(file.modules)), str(len(file.joints)), f"{vehicle.mass_kg:g}", str(vehicle.input_count)
        table.add_row(name, *counts, file.description)
    out().print(table)


@app.command("show")
def show_assembly(
    name: str = typer.Argument(help="Name of an assembly, or a file."),
    picture: Path = typer.Option(
        None, "--picture", "-p", callback=PICTURE, help="Write a picture with all thrusters (PNG, SVG, PDF)."
    ),
) -> None:
    """Composite mass, centre, modules in their places, top speeds in all axes."""
    from shoal.assembly.file import load_assembly
    from shoal.commands.vehicle import speeds_table
    from shoal.console import out
    from shoal.vehicles.functions import VehicleModel

    file = load_assembly(name)
    composite = file.composite()
    console = out()
    console.print(f"[bold]{file.name}[/]  {file.description}")
    console.print(_modules(composite))
    console.print(_numbers(composite))
    console.print(speeds_table(VehicleModel(composite.vehicle)))
    if picture is not None:
        from shoal.reports.plots.vehicle_picture import draw_vehicle

        console.print(f"picture: {draw_vehicle(composite.vehicle, picture)}")


@app.command("trials")
def bracket_trials() -> None:
    """Nielsen 2018's straight and turning trials of two BlueROVs and a bracket: ours beside the thesis's."""
    from rich.table import Table

    from shoal.console import out
    from shoal.simulation.bracket_trials import ASSUMED, pair, straight, turning

    console, ahead = out(), straight(pair(), 300.0)
    table = Table("straight, 1800 us", "ours", "thesis", title="R-str", title_justify="left")
    table.add_row("speed at the end", f"{ahead.speed_mps:.2f} m/s", "about 0.9 m/s, measured and simulated")
    table.add_row("travelled in 9 s", f"{ahead.travelled_m:.1f} m", "about 8 m")
    table.add_row("time to 90 % of the speed", f"{ahead.rise_s:.1f} s", "not printed; measured longer than simulated")
    console.print(table)
    table = Table("turning, port at 1700 us", "width north", "width east", "half a turn after", "yaw rate",
                  title="R-rot", title_justify="left")  # fmt: skip
    table.add_row("thesis, measured", "2.45 m", "2.34 m", "about 8.5 s", "not printed")
    table.add_row("thesis, simulated", "2.42 m", "2.41 m", "", "")
    for distance_m in (0.5, 0.6, 0.7):
        for damped in (True, False):
            t = turning(pair(distance_m, damped), 200.0)
            label = f"ours, {distance_m:g} m apart, bracket's yaw damping {'as printed' if damped else 'zero'}"
            widths = f"{t.width_north_m:.2f} m", f"{t.width_east_m:.2f} m"
            table.add_row(label, *widths, f"{t.half_turn_s:.1f} s", f"{t.yaw_rate_radps:.2f} rad/s")
    console.print(table)
    console.print("Assumed, since the thesis does not print it: " + "; ".join(ASSUMED) + ".")


def _modules(composite: Composite) -> Table:
    import numpy as np
    from rich.table import Table

    from shoal.frames import yaw_of

    table = Table("module", r"at \[m], body FRD", "heading", "inputs", title="Modules", title_justify="left")
    for module, pose in composite.poses.items():
        place = "  ".join(f"{x:+.3f}" for x in pose.position_m)
        share = composite.inputs[module]
        table.add_row(module, place, f"{np.degrees(yaw_of(pose.attitude)):+.0f}°", f"{share.start}–{share.stop - 1}")
    return table


def _numbers(composite: Composite) -> Table:
    from rich.table import Table

    from shoal.reports.assembly_parts import number_rows

    table = Table("quantity", "value", "unit", title="Composite", title_justify="left")
    for row in number_rows(composite):
        table.add_row(*row)
    return table


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="assembly")
