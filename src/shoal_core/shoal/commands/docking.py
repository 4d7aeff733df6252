"""`shoal docking`: the inspection-and-rendezvous experiment of Nielsen 2018 in the plane, and our docking beside it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer

from shoal.commands._outputs import PICTURE

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
    plot: Path = typer.Option(None, "--plot", "-p", callback=PICTURE, help="Write a picture (PNG, SVG, PDF)."),
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


@app.command("iterations")
def iterations(
    counts: str = typer.Option("1,2,4,8,15", help="Inner iterations L, one run each."),
    duration_s: float = typer.Option(8.0, min=0.1, help="How long; the cones are violated in the first seconds."),
    plot: Path = typer.Option(None, "--plot", "-p", help="Write a picture (PNG, SVG, PDF)."),
) -> None:
    """How far the published method exceeds its cones, by the number of inner iterations (Nielsen 2018, section 8.4)."""
    from dataclasses import replace

    from rich.table import Table

    from shoal.console import out
    from shoal.docking.communication import Exchange
    from shoal.docking.cooperative import DistributedDocking
    from shoal.docking.inspection import QUICK, approach, inspection
    from shoal.errors import ShoalError

    words = counts.split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise ShoalError(f"--counts {counts}: expected whole numbers above zero with commas, such as 1,2,4,8,15")
    runs = {
        count: approach(DistributedDocking(inspection(), replace(QUICK, inner_iterations=count)), duration_s)
        for count in sorted({int(word) for word in words})
    }
    table = Table("L", "bearing beyond 25°", "separation at the end", "sent by each", title_justify="left")
    for count, run in runs.items():
        kbps = Exchange(inner_iterations=count).bits_per_s / 1e3
        table.add_row(
            str(count), f"{max(run.excess_deg(), 0.0):.3f}°", f"{run.separation_m[-1]:.3f} m", f"{kbps:.0f} kbit/s"
        )
    console = out()
    console.print(table)
    if plot is not None:
        from shoal.reports.plots.docking_plot import draw_iterations

        console.print(f"picture: {draw_iterations(runs, plot)}")


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


@app.command("detector")
def detector(
    vehicle: str = typer.Option("bluerov2_heavy", help="Vehicle file or name; its bow camera, its stern tag."),
    images: int = typer.Option(20, min=1, help="Images for each range and angle."),
    seed: int = typer.Option(0, min=0, help="Of what is drawn."),
    ranges_m: str = typer.Option("0.5,1,2,3,4", help="From lens to tag."),
    angles_deg: str = typer.Option("0,20,40", help="Between the tag's normal and the way to the lens, about."),
) -> None:
    """How well the tag detector finds poses, on images rendered with known geometry."""
    from rich.table import Table

    from shoal.console import out
    from shoal.vehicles.description import load_vehicle
    from shoal.vision.trial import looked_at

    columns = ("range", "angle", "found", "along", "across", "attitude", "stated", "NEES of 6")
    table = Table(*columns, title=f"{images} images a row, seed {seed}; root mean squares", title_justify="left")
    chosen = load_vehicle(vehicle)
    for range_m in (float(word) for word in ranges_m.split(",")):
        for angle_deg in (float(word) for word in angles_deg.split(",")):
            c = looked_at(chosen, range_m, angle_deg, images, seed)
            table.add_row(
                f"{range_m:g} m", f"{angle_deg:g}°", f"{c.found} of {c.images}", f"{100 * c.along_m:.2f} cm",
                f"{100 * c.across_m:.2f} cm", f"{c.attitude_deg:.2f}°", f"{c.stated_deg:.2f}°", f"{c.nees:.1f}",
            )  # fmt: skip
    out().print(table)
