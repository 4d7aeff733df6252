"""`shoal vehicle list | show | upgrade`: numbers with their sources, what thrusters do, how fast a vehicle goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shoal.commands._outputs import ANY, PICTURE

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.vehicles.actuators import Thruster
    from shoal.vehicles.functions import VehicleModel
    from shoal.vehicles.vehicle_file import ParameterSet

app = typer.Typer(no_args_is_help=True, help="Vehicle types: numbers, sources, thrust matrix, top speeds, picture.")


@app.command("list")
def list_vehicles() -> None:
    """All vehicle types and their parameter sets."""
    from rich.table import Table

    from shoal.config.files import find_config, list_configs
    from shoal.console import out
    from shoal.vehicles.description import build_vehicle
    from shoal.vehicles.functions import VehicleModel
    from shoal.vehicles.vehicle_file_v1 import load_vehicle_file

    table = Table("vehicle", "set", r"mass \[kg]", "thrusters", r"top surge \[m/s]", "source", box=_box())
    for name in list_configs("vehicles"):
        file = load_vehicle_file(find_config("vehicles", name))
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
    picture: Path = typer.Option(
        None, "--picture", "-p", callback=PICTURE, help="Write a picture with the thrusters (PNG, SVG, PDF)."
    ),
) -> None:
    """Numbers with units and sources, the thrust matrix, top speeds in all axes."""
    from shoal.config.files import find_config
    from shoal.console import out
    from shoal.vehicles.description import load_vehicle
    from shoal.vehicles.functions import VehicleModel
    from shoal.vehicles.vehicle_file_v1 import load_vehicle_file

    vehicle = load_vehicle(name, parameter_set)
    file = load_vehicle_file(find_config("vehicles", name))
    model = VehicleModel(vehicle)
    console = out()
    console.print(f"[bold]{file.name}[/]  {file.description}\nset [bold]{vehicle.parameter_set}[/]: ", end="")
    console.print(file.sets[vehicle.parameter_set].source, style="dim", highlight=False)
    for table in (_numbers(file.sets[vehicle.parameter_set]), _thrusters(model), speeds_table(model)):
        console.print(table)
    if picture is not None:
        from shoal.reports.plots.vehicle_picture import draw_vehicle

        console.print(f"picture: {draw_vehicle(vehicle, picture)}")


@app.command("upgrade")
def upgrade_vehicle(
    file: Path = typer.Argument(help="A vehicle file of version 1."),
    out_file: Path = typer.Option(None, "--out", "-o", callback=ANY, help="Where to write; printed if not given."),
) -> None:
    """A version 1 file as version 2. Comments above the first key are kept, others are not."""
    import yaml

    from shoal.config.atomic import write_text
    from shoal.config.files import read_yaml, validate
    from shoal.console import out
    from shoal.errors import ShoalError
    from shoal.vehicles.vehicle_file import VehicleFile
    from shoal.vehicles.vehicle_file_v1 import upgraded

    data = read_yaml(file)
    if data.get("version") != 1:
        raise ShoalError(f"{file}: version = {data.get('version')}: nothing to upgrade; expected 1")
    new = upgraded(file, data)
    validate(file, new, VehicleFile)
    head = "".join(line for line in _comments(file.read_text(encoding="utf-8")))
    text = head + yaml.safe_dump(new, sort_keys=False, allow_unicode=True, default_flow_style=None, width=118)
    if out_file is None:
        out().print(text, markup=False, highlight=False, soft_wrap=True)
        return
    write_text(out_file, text)
    out().print(f"written: {out_file}")


def _comments(text: str) -> list[str]:
    """The lines above the first key."""
    lines = text.splitlines(keepends=True)
    count = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    return lines[:count]


def _numbers(entry: ParameterSet) -> Table:
    from rich.table import Table

    from shoal.vehicles.vehicle_file import HeaveDirection, Quantity, TableCurve

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
    for i, actuator in enumerate(entry.actuators):
        of = "all" if actuator.thrusters == "all" else ", ".join(actuator.thrusters)
        label = "" if len(entry.actuators) == 1 else f" {i + 1}"
        table.add_row(f"actuators{label}", of, "", getattr(actuator.curve, "source", ""))
        for key in type(actuator).model_fields:
            if isinstance(value := getattr(actuator, key), Quantity):
                add(f"actuators{label} {key}".replace("_", " "), value)
        if isinstance(actuator.curve, TableCurve):
            add(f"actuators{label} {actuator.curve.table} at", actuator.curve.voltage)
    table.add_row("added mass coriolis", "yes" if entry.added_mass_coriolis else "no", "", "")
    return table


def _thrusters(model: VehicleModel) -> Table:
    from rich.table import Table

    from shoal.vehicles.description import AXES

    vehicle = model.vehicle
    table = Table(title="Thrust matrix B: wrench = B · thrust", box=_box(), title_justify="left")
    for heading in ("", *vehicle.input_names):
        table.add_column(heading, justify="right" if heading else "left")
    for axis, row in zip(AXES, vehicle.input_matrix, strict=True):
        table.add_row(axis, *(f"{b:+.4f}" if abs(b) > 1e-9 else "[dim]0[/]" for b in row))
    table.add_section()
    table.add_row(r"at \[m]", *("\n".join(f"{x:+.3f}" for x in place) for place in vehicle.input_places_m))
    table.add_row(r"forward \[N]", *(f"{x:g}" for x in vehicle.input_max_N))
    table.add_row(r"reverse \[N]", *(f"{-x:g}" for x in vehicle.input_min_N))
    table.add_row(r"lag \[s]", *(f"{x:g}" for x in vehicle.input_lag_s))
    table.add_row("device", *(f"{d}" for t in vehicle.thrusters for d in [_device(t)] * t.inputs))
    return table


def _device(thruster: Thruster) -> str:
    signal = {"us": "PWM", "1/s": "rev/s", "": "share"}[thruster.curve.unit if thruster.curve is not None else ""]
    parts = [thruster.kind] * (thruster.kind != "fixed") + [signal] + ["reversed"] * thruster.reversed
    return "\n".join(parts)


def speeds_table(model: VehicleModel) -> Table:
    """Largest forces and speeds along each axis."""
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
