"""`shoal picture exchange | ring | dock | platform`: a simulated fleet as one picture."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.commands._outputs import PICTURE

app = typer.Typer(no_args_is_help=True, help="Fleets as pictures: simulated here and now, from a seed.")


@app.command("exchange")
def exchange_command(
    count: int = typer.Option(10, min=2, max=40, help="Number of vehicles."),
    delay_s: float = typer.Option(0.3, min=0.0, help="Delay of every plan."),
    loss: float = typer.Option(0.6, min=0.0, max=1.0, help="Share of plans lost."),
    seed: int = typer.Option(1, min=0, help="0 is exactly symmetric."),
    duration_s: float = typer.Option(40.0, min=1.0),
    out: Path = typer.Option(Path("exchange.png"), "--out", "-o", callback=PICTURE),
) -> None:
    """Vehicles on a circle, each bound for the opposite point."""
    from shoal.console import out as console
    from shoal.fleet.link import LinkSettings
    from shoal.reports.plots.fleet_pictures import exchange_picture
    from shoal.simulation.conditions import Condition
    from shoal.tasks.run import RunSpec, simulate

    condition = Condition(name="exchange", link=LinkSettings(delay_s=delay_s, loss=loss))
    spec = RunSpec(fleet=str(count), condition=condition, seed=seed, duration_s=duration_s, task="exchange")
    console().print(f"written: {exchange_picture(simulate(spec), out)}", highlight=False)


@app.command("ring")
def ring_command(
    fleet: str = typer.Option("ring10", help="Number of vehicles, a fleet's name or a file."),
    path: str = typer.Option("circle"),
    condition: str = typer.Option("default"),
    seed: int = typer.Option(1, min=0),
    duration_s: float = typer.Option(100.0, min=1.0),
    out: Path = typer.Option(Path("ring.png"), "--out", "-o", callback=PICTURE),
) -> None:
    """A ring along a path, with its sight lines."""
    from shoal.console import out as console
    from shoal.reports.plots.fleet_pictures import ring_picture
    from shoal.tasks.run import RunSpec, simulate

    recording = simulate(RunSpec(path, fleet, condition, seed, duration_s=duration_s))
    console().print(f"written: {ring_picture(recording, out)}", highlight=False)


@app.command("dock")
def dock_command(
    fleet: str = typer.Option("two", help="A fleet's name or a file; its first two vehicles dock."),
    condition: str = typer.Option("default"),
    seed: int = typer.Option(1, min=0),
    duration_s: float = typer.Option(90.0, min=1.0, help="At most."),
    out: Path = typer.Option(Path("dock.png"), "--out", "-o", callback=PICTURE),
) -> None:
    """Two vehicles dock, at four instants."""
    _stages("dock", fleet, condition, {"duration_s": duration_s}, seed, "Two vehicles dock by camera", out)


@app.command("platform")
def platform_command(
    blueprint: str = typer.Option("row3", help="Name or file in config/blueprints."),
    fleet: str = typer.Option("vessels3", help="A fleet's name or a file with vessels enough."),
    condition: str = typer.Option("tank_offsets"),
    seed: int = typer.Option(1, min=0),
    duration_s: float = typer.Option(180.0, min=1.0, help="At most."),
    out: Path = typer.Option(Path("platform.png"), "--out", "-o", callback=PICTURE),
) -> None:
    """Vessels build a platform, at four instants."""
    settings = {"blueprint": blueprint, "duration_s": duration_s}
    _stages("assemble", fleet, condition, settings, seed, "Vessels assemble themselves into a platform", out)


def _stages(
    task: str, fleet: str, condition: str, settings: dict[str, object], seed: int, title: str, out: Path
) -> None:
    from shoal.console import out as console
    from shoal.fleet.generate import resolve_fleet
    from shoal.reports.plots.stages_picture import stages_picture
    from shoal.tasks.run import RunSpec, simulate

    recording = simulate(RunSpec(fleet=fleet, condition=condition, seed=seed, task=task, task_settings=settings))
    hulls = {member.name: member.vehicle().size_m for member in resolve_fleet(fleet).vehicles}
    sizes_m = {name: (hulls[name][0], hulls[name][1]) for name in recording.names}
    console().print(f"written: {stages_picture(recording, sizes_m, title, out)}", highlight=False)


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="picture")
