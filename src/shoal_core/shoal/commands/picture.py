"""`shoal picture exchange | ring`: a simulated fleet as one picture."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(no_args_is_help=True, help="Fleets as pictures: simulated here and now, from a seed.")


@app.command("exchange")
def exchange_command(
    count: int = typer.Option(10, min=2, max=40, help="Number of vehicles."),
    delay_s: float = typer.Option(0.3, min=0.0, help="Delay of every plan."),
    loss: float = typer.Option(0.6, min=0.0, max=1.0, help="Share of plans lost."),
    seed: int = typer.Option(1, min=0, help="0 is exactly symmetric."),
    duration_s: float = typer.Option(40.0, min=1.0),
    out: Path = typer.Option(Path("exchange.png"), "--out", "-o"),
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
    out: Path = typer.Option(Path("ring.png"), "--out", "-o"),
) -> None:
    """A ring along a path, with its sight lines."""
    from shoal.console import out as console
    from shoal.reports.plots.fleet_pictures import ring_picture
    from shoal.tasks.run import RunSpec, simulate

    recording = simulate(RunSpec(path, fleet, condition, seed, duration_s=duration_s))
    console().print(f"written: {ring_picture(recording, out)}", highlight=False)


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="picture")
