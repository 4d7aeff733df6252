"""`shoal vehicle list | show`: a vehicle's numbers with their sources, what its thrusters do, how fast it goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.vehicles.functions import VehicleModel
    from shoal.vehicles.vehicle_file import ParameterSet, VehicleFile

app = typer.Typer(no_args_is_help=True, help="Vehicle types: numbers, sources, thrust matrix, top speeds, picture.")


@app.command("list")
def list_vehicles() -> None:
    """All vehicle types and their parameter sets."""
    from rich.table import Table

    from shoal.config.files import find_config, list_configs, load_yaml
    from shoal.console import out
    from shoal.vehicles.description import build_vehicle
    from shoal.vehicles.functions import VehicleModel
    from shoal.vehicles.vehicle_file import VehicleFile

    table = Table("vehicle", "set", r"mass \[kg]", "thrusters", r"top surge \[m/s]", "source", box=_box())
    for name in list_configs("vehicles"):
        file = load_yaml(find_config("vehicles", name), VehicleFile)
        for set_name, entry in file.sets.items():
            model = VehicleModel(build_vehicle(file, set_name))
            mark = " (default)" if set_name == file.default_set else ""
            speed, count = f"{model.top_speeds()['surge'][0]:.2f}", str(len(file.thrusters))
            table.add_row(name, set_name + mark, f"{entry.mass.number:g}", count, speed, entry.source)
    out().print(table)


@app.command("show")
def show_vehicle(
    name: str = typer.Argument(help="Name of a vehicle type, or a file."),
    parameter_set: str = typer.Option(None, "--set", "-s", help="Parameter set; the file's default if not given."),
    picture: Path = typer.Option(None, "--picture", "-p", help="Write a picture with the thrusters (PNG, SVG, PDF)."),
) -> None:
    """Numbers with units and sources, the thrust matrix, top speeds in all axes."""
    from shoal.config.files import find_config, load_yaml
    from shoal.console import out
    from shoal.vehicles.description import load_vehicle
    from shoal.vehicles.functions import VehicleModel
    from shoal.vehicles.vehicle_file import VehicleFile

    vehicle = load_vehicle(name, parameter_set)
    file = load_yaml(find_config("vehicles", name), VehicleFile)
    model = VehicleModel(vehicle)
    console = out()
    console.print(f"[bold]{file.name}[/]  {file.description}\nset [bold]{vehicle.parameter_set}[/]: ", end="")
    console.print(file.sets[vehicle.parameter_set].source, style="dim", highlight=False)
    for table in (_numbers(file.sets[vehicle.parameter_set]), _thrusters(file, model), _speeds(model)):
        console.print(table)
    if picture is not None:
        from shoal.reports.plots.vehicle_picture import draw_vehicle

        console.print(f"picture: {draw_vehicle(vehicle, picture)}")


def _numbers(entry: ParameterSet) -> Table:
    from rich.table import Table

    from shoal.vehicles.vehicle_file import HeaveDirection, Quantity

    table = Table("quantity", "value", "unit", "source", title="Numbers", box=_box(), title_justify="left")

    def add(label: str, quantity: Quantity) -> None:
        table.add_row(label, _value(quantity.value), quantity.unit, quantity.source)

    for key in type(entry).model_fields:
        value = getattr(entry, key)
        if isinstance(value, Quantity):
            add(key.replace("_", " "), value)
        elif isinstance(value, HeaveDirection):
            for inner in type(value).model_fields:
                add(f"{key} {inner}".replace("_", " "), getattr(value, inner))
    table.add_row("added mass coriolis", "yes" if entry.added_mass_coriolis else "no", "", "")
    return table


def _thrusters(file: VehicleFile, model: VehicleModel) -> Table:
    from rich.table import Table

    from shoal.vehicles.description import AXES

    vehicle = model.vehicle
    table = Table(title="Thrust matrix B: wrench = B · thrust", box=_box(), title_justify="left")
    for heading in ("", *(t.name for t in vehicle.thrusters)):
        table.add_column(heading, justify="right" if heading else "left")
    for axis, row in zip(AXES, vehicle.thrust_matrix, strict=True):
        table.add_row(axis, *(f"{b:+.4f}" if abs(b) > 1e-9 else "[dim]0[/]" for b in row))
    table.add_section()
    table.add_row(r"at \[m]", *("\n".join(f"{x:+.3f}" for x in t.position_m) for t in file.thrusters))
    table.add_row(r"forward \[N]", *(f"{t.max_forward_N:g}" for t in vehicle.thrusters))
    table.add_row(r"reverse \[N]", *(f"{t.max_reverse_N:g}" for t in vehicle.thrusters))
    return table


def _speeds(model: VehicleModel) -> Table:
    from rich.table import Table

    from shoal.vehicles.description import AXES

    table = Table(
        "axis", title="Top speeds (closed form, pure thrust along the axis)", box=_box(), title_justify="left"
    )
    for heading in ("thrust +", "thrust −", "speed +", "speed −", "unit"):
        table.add_column(heading, justify="right")
    for i, (forward, reverse) in enumerate(model.top_speeds().values()):
        units = ("N", "m/s") if i < 3 else ("N m", "rad/s")
        forces = [f"{model.max_force(i, sign):.2f} {units[0]}" for sign in (1, -1)]
        table.add_row(AXES[i], *forces, f"{forward:+.3f}", f"{reverse:+.3f}", units[1])
    return table


def _value(value: float | list[float] | list[list[float]]) -> str:
    if isinstance(value, list):
        return "\n".join(_value(v) for v in value) if isinstance(value[0], list) else "  ".join(f"{v:g}" for v in value)
    return f"{value:g}"


def _box() -> Any:
    from rich import box

    return box.SIMPLE_HEAD


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="vehicle")
