"""`shoal gazebo …`: generate and check Gazebo's files. Needs neither ROS nor Gazebo."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.errors import ShoalError

app = typer.Typer(help="Gazebo: model and world files, bridge configuration.", no_args_is_help=True)


def register(parent: typer.Typer) -> None:
    """Add the group to the main command line."""
    parent.add_typer(app, name="gazebo")


@app.command()
def generate(
    vehicle: str = typer.Argument("bluerov2_heavy", help="Vehicle type or file."),
    parameter_set: str | None = typer.Option(None, "--set", help="Parameter set; the file's default if none is given."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for models/ and worlds/; else this checkout."
    ),
    check: bool = typer.Option(False, "--check", help="Write nothing; exit with 1 if a file is out of step."),
) -> None:
    """Write models/<type>/ and worlds/ from config/vehicles."""
    from shoal.console import out, print_warning
    from shoal.vehicles.description import load_vehicle
    from shoal_gazebo.body import not_in_gazebo
    from shoal_gazebo.generate import generated_files, out_of_step, write_files

    loaded = load_vehicle(vehicle, parameter_set)
    files = generated_files(loaded)
    root = output or _checkout()
    for note in not_in_gazebo(loaded):
        print_warning(f"{loaded.name} ({loaded.parameter_set}): Gazebo can't show {note}")
    changed = out_of_step(files, root) if check else write_files(files, root)
    for name in files:
        word = ("out of step" if check else "written") if name in changed else "unchanged"
        out().print(f"{word:12} {root / name}", highlight=False, soft_wrap=True)
    if check and changed:
        raise typer.Exit(1)


@app.command("generate-assembly")
def generate_assembly(
    assembly: str = typer.Argument(help="Name of an assembly, or a file."),
    output: Path = typer.Option(Path("models"), "--output", "-o", help="Folder for <assembly>/model.sdf."),
    detachable: bool = typer.Option(False, "--detachable", help="Joints that open and close on topics."),
) -> None:
    """Write joined vehicles as one model with fixed joints."""
    from shoal.assembly.file import load_assembly
    from shoal.config.atomic import write_text
    from shoal.console import out
    from shoal_gazebo.assembly_model import render_assembly
    from shoal_gazebo.generate import shipped_water

    file = load_assembly(assembly)
    text = render_assembly(file, shipped_water(), detachable)
    path = output / file.name / "model.sdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    out().print(f"written      {path}", highlight=False, soft_wrap=True)


def _checkout() -> Path:
    from shoal.config.files import config_roots

    for root in config_roots():
        if (root / "vehicles").is_dir() and root.name == "config":
            return root.parent
    raise ShoalError("no checkout with config/vehicles found; expected --output FOLDER")


@app.command()
def bridge(
    fleet: str = typer.Argument(..., help="Fleet name or file."),
    world: str = typer.Option("ocean", help="World name or SDF file."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Folder for bridge_<vehicle>.yaml; else printed."),
    camera: bool = typer.Option(True, help="With the camera topics."),
) -> None:
    """Render ros_gz_bridge's YAML, one file per vehicle and one shared."""
    from shoal.console import out
    from shoal.fleet.file import load_fleet
    from shoal_gazebo.bridge import render_bridge
    from shoal_gazebo.bringup import find_world
    from shoal_gazebo.world_reader import read_world

    texts = render_bridge(load_fleet(fleet), read_world(find_world(world)).name, camera)
    for name, text in texts.items():
        if output is None:
            out().print(text, highlight=False, markup=False, soft_wrap=True)
            continue
        output.mkdir(parents=True, exist_ok=True)
        path = output / f"bridge_{name}.yaml"
        path.write_text(text, encoding="utf-8")
        out().print(f"written      {path}", highlight=False, soft_wrap=True)


@app.command()
def check(
    files: list[Path] = typer.Argument(..., help="Model or world files (SDF)."),
) -> None:
    """Read every number back from SDF and hold it against the vehicle description; exit code 2 if one is wrong."""
    from shoal.console import print_error
    from shoal_gazebo.sdf_reader import read_root

    wrong = 0
    for path in files:
        root = read_root(path)
        wrong += _check_world(path) if root.find("world") is not None else _check_model(path)
    if wrong:
        print_error(f"{wrong} finding{'s' * (wrong > 1)} out of tolerance")
        raise typer.Exit(2)


def _check_model(path: Path) -> int:
    from rich.table import Table

    from shoal.console import out
    from shoal.vehicles.description import load_vehicle
    from shoal_gazebo.body import Water
    from shoal_gazebo.check import check_model
    from shoal_gazebo.sdf_reader import read_model

    model = read_model(path)
    if model.vehicle_type is None or model.gravity_mps2 is None or model.density_kgpm3 is None:
        raise ShoalError(f"{path}: has no <shoal:vehicle> to hold it against; expected a generated model")
    vehicle = load_vehicle(model.vehicle_type, model.parameter_set)
    findings = check_model(model, vehicle, Water(model.gravity_mps2, model.density_kgpm3))
    table = Table(title=f"{path}: {model.name}, {vehicle.name} {vehicle.parameter_set}", title_justify="left")
    for heading in ("", "what", "deviation", "tolerance"):
        table.add_column(heading)
    for finding in findings:
        mark = "[green]ok[/]" if finding.ok else "[red]wrong[/]"
        size = f"{finding.deviation:.2g} {finding.unit}" if finding.unit else ""
        table.add_row(mark, finding.what, size, f"{finding.tolerance:.2g}" if finding.unit else "")
    out().print(table)
    return sum(not f.ok for f in findings)


def _check_world(path: Path) -> int:
    from shoal.console import out
    from shoal_gazebo.world_reader import read_world

    world = read_world(path)
    missing = [k for k in ("Physics", "UserCommands", "SceneBroadcaster", "Buoyancy") if not world.has(k)]
    out().print(
        f"{path}: world {world.name}, g {world.water.gravity_mps2:.6f} m/s², water {world.density_kgpm3:g} kg/m³ below "
        f"z = {world.surface_m} m, step {world.step_s * 1e3:g} ms, current {world.current_enu} m/s ENU"
        + (f", [red]lacks {', '.join(missing)}[/]" if missing else ""),
        highlight=False,
        soft_wrap=True,
    )
    return len(missing)
