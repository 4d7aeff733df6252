"""`shoal docking inspection`: the inspection-and-rendezvous experiment of Nielsen 2018, in the plane."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer

app = typer.Typer(no_args_is_help=True, help="Rendezvous and docking: the published baseline.")


class Method(str, Enum):
    """How the vehicles agree."""

    distributed = "distributed"
    centralised = "centralised"


@app.callback()
def _group() -> None:
    pass


@app.command("inspection")
def inspect(
    method: Method = typer.Option(Method.distributed, help="One problem, or one per vehicle with prices."),
    inner: int = typer.Option(8, min=1, help="Inner iterations L of the distributed method."),
    duration_s: float = typer.Option(48.0, min=1.0, help="How long."),
    as_printed: bool = typer.Option(False, help="Weights R = W = 10 as in Table 8.1: 1 cm/s."),
    plot: Path = typer.Option(None, "--plot", "-p", help="Write a picture (PNG, SVG, PDF)."),
) -> None:
    """One vehicle keeps an object in view while another docks with it (Nielsen 2018, section 8.4)."""
    from dataclasses import replace

    from rich.table import Table

    from shoal.console import out
    from shoal.docking.communication import Exchange
    from shoal.docking.cooperative import CentralisedDocking, DistributedDocking, Tuning
    from shoal.docking.inspection import QUICK, approach, inspection

    tuning = replace(Tuning() if as_printed else QUICK, inner_iterations=inner)
    distributed = method is Method.distributed
    docking = (DistributedDocking if distributed else CentralisedDocking)(inspection(), tuning)
    run = approach(docking, duration_s)
    table = Table("quantity", "value", title=f"{method.value}, {duration_s:g} s", title_justify="left")
    table.add_row("separation at the end", f"{run.separation_m[-1]:.3f} m")
    for below_m in (0.3, 0.1, 0.05):
        table.add_row(f"nearer than {below_m:g} m after", f"{run.first_s(below_m):.1f} s")
    table.add_row("headings apart at the end", f"{run.heading_apart_deg[-1]:.3f}°")
    table.add_row("v1 to the object, at most", f"{run.object_distance_m.max():.4f} m")
    table.add_row("bearing beyond 25°, at most", f"{max(run.excess_deg(), 0.0):.2f}°")
    if distributed:
        sent = Exchange(inner_iterations=inner).bits_per_s / 1e3
        table.add_row("sent by each vehicle", f"{sent:.0f} kbit/s")
    console = out()
    console.print(table)
    if plot is not None:
        from shoal.reports.plots.docking_plot import draw_approach

        label = f"Inspection and rendezvous, {method.value}" + (f", L = {inner}" if distributed else "")
        console.print(f"picture: {draw_approach(run, label, plot)}")


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="docking")
