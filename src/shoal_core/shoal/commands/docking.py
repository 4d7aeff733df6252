"""`shoal docking`: the inspection-and-rendezvous experiment of Nielsen 2018 in the plane, and our docking beside it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer

app = typer.Typer(no_args_is_help=True, help="Rendezvous and docking: the published baseline, and ours.")


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


@app.command("compare")
def compare(
    seed: int = typer.Option(0, min=0, help="Of our run."),
    inner: int = typer.Option(8, min=1, help="Inner iterations L of the published method."),
) -> None:
    """Dual decomposition on the published plane and vehicle, and docking by shared plans in the sea trial."""
    import time
    from dataclasses import replace

    import numpy as np
    from rich.table import Table

    from shoal.console import out
    from shoal.docking.communication import Exchange
    from shoal.docking.cooperative import DistributedDocking
    from shoal.docking.inspection import QUICK, approach, inspection
    from shoal.simulation.conditions import Condition
    from shoal.tasks.run import RunSpec, simulate

    started = time.process_time()
    planar = approach(DistributedDocking(inspection(), replace(QUICK, inner_iterations=inner)), 48.0)
    planar_ms = 1e3 * (time.process_time() - started) / (2 * len(planar.times_s))
    biased = {"position_bias_std_m": 0.2, "heading_bias_std_deg": 2.0}
    condition = Condition.model_validate({"name": "biased", "sensors": biased, "link": {"rate_hz": 2.0}})
    ours = simulate(RunSpec(fleet="two", condition=condition, seed=seed, task="dock"))
    assert ours.outcome is not None
    measured, reached_s = ours.outcome.measured, ours.outcome.reached_s
    table = Table("", f"prices, L = {inner}", "shared plans", title_justify="left")
    table.add_row("vehicle and plant", "Nielsen 2018, planar, its own model", "BlueROV2 Heavy, 6 DOF, sea trial")
    table.add_row("knows", "both states exactly", "biased navigations, cameras")
    near_s = planar.first_s(0.1)
    table.add_row("docked", "yes" if np.isfinite(near_s) else "no", "no" if reached_s is None else "yes, latched")
    table.add_row("after", f"{near_s:.1f} s (0.1 m)", "–" if reached_s is None else f"{reached_s:.1f} s")
    bearing = measured.get("dock_bearing_deg", float("nan"))
    table.add_row("largest bearing of 25°", f"{25 + planar.excess_deg():.1f}°", f"{bearing:.1f}°")
    kbps = 2 * Exchange(inner_iterations=inner).bits_per_s / 1e3
    table.add_row("sent, both", f"{kbps:.0f} kbit/s", f"{measured.get('dock_kbps', float('nan')):.1f} kbit/s")
    table.add_row("step of one vehicle", f"{planar_ms:.1f} ms mean", f"{np.median(ours.solve_ms):.1f} ms median")
    out().print(table)


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="docking")
