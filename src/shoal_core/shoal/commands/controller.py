"""`shoal controller margins`: how wrong timing and thrust may be before the loop oscillates."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Controllers: stability margins.")


@app.callback()
def _group() -> None:
    """A group, though it has one command yet."""


@app.command("margins")
def show_margins(
    vehicle: str = typer.Argument(help="Name of a vehicle type, or a file."),
    parameter_set: str = typer.Option(None, "--set", "-s", help="Parameter set; the file's default if not given."),
    controller: str = typer.Option("nmpc", "--controller", "-c", help="Name or file of a controller of class nmpc."),
    thrust_limit_N: float = typer.Option(None, "--thrust-limit", min=0.1, help="N for each thruster."),
    lag_s: float = typer.Option(None, "--lag", min=0.0, max=2.0, help="Believed lag, s; the vehicle's if not given."),
    delay_s: float = typer.Option(0.05, "--delay", min=0.0, max=1.0, help="Believed delay of commands, s."),
    period_s: float = typer.Option(0.05, "--period", min=0.01, max=1.0, help="Control period, s."),
) -> None:
    """Gain and delay margins of the linearised closed loop at hover, axis by axis."""
    from rich import box
    from rich.table import Table

    from shoal.console import out
    from shoal.control.margins import Belief, margins
    from shoal.fleet.setup import nmpc_controller
    from shoal.vehicles.description import load_vehicle

    believed = load_vehicle(vehicle, parameter_set)
    if thrust_limit_N is not None:
        believed = believed.with_thrust_limit(thrust_limit_N)
    if lag_s is None:
        lag_s = sum(t.time_constant_s for t in believed.thrusters) / len(believed.thrusters)
    made, agent = nmpc_controller(controller, believed, period_s)
    belief = Belief(period_s, lag_s, delay_s, agent.thruster_lead, agent.moment_lead)
    table = Table(box=box.SIMPLE_HEAD, title_justify="left")
    table.title = f"Margins at hover: believed lag {lag_s:g} s, delay {delay_s:g} s, period {period_s:g} s"
    for heading in ("axis", "crossover", "later by", "sooner by", "gain up", "gain down"):
        table.add_column(heading, justify="left" if heading == "axis" else "right")
    for m in margins(made, believed, agent.estimator, belief):
        crossover = f"{m.loop.velocity_gain / m.loop.mass:.1f} rad/s"
        table.add_row(m.axis, crossover, _s(m.later_s), _s(m.sooner_s), _factor(m.more_gain), _factor(m.less_gain))
    console = out()
    console.print(table)
    console.print(
        "later: more delay than believed. sooner: less lag, then less delay. gain: of the thrust. –: no limit found.",
        style="dim",
    )


def _s(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f} s"


def _factor(value: float | None) -> str:
    return "–" if value is None else f"× {value:.2f}"


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="controller")
