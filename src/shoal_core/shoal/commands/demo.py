"""`shoal demo`: the shortest way to see something swim."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.commands._outputs import PICTURE


def demo(
    seed: int = typer.Option(3, min=0, help="The run's seed: the same seed gives the same run, bit for bit."),
    duration_s: float = typer.Option(60.0, min=1.0, help="Length of the run in seconds."),
    plot: Path = typer.Option(Path("runs/demo.png"), "--plot", "-p", callback=PICTURE, help="Where the picture goes."),
) -> None:
    """Two vehicles under the same thrust program, nobody steering, with plot."""
    from time import perf_counter

    import numpy as np

    from shoal.console import out
    from shoal.fleet.file import load_fleet
    from shoal.reports.plots.demo_plot import draw_demo
    from shoal.simulation.demo import open_loop_demo

    began = perf_counter()
    result = open_loop_demo(load_fleet("two"), seed, round(duration_s, 1))
    took = perf_counter() - began
    ends = result.track.states[-1, :, :3]
    console = out()
    for name, end in zip(result.names, ends, strict=True):
        console.print(f"{name}: ends at north {end[0]:+.2f} m, east {end[1]:+.2f} m, depth {end[2]:.2f} m")
    apart = np.linalg.norm(result.track.states[:, 0, :3] - result.track.states[:, 1, :3], axis=1)
    console.print(
        f"Same commands, yet the {apart[0]:.1f} m between them became {apart.min():.1f} m at least "
        f"and {apart[-1]:.1f} m in the end:\nvehicles differ (by up to 20 %), the water moves, and nobody steers.\n"
        f"{duration_s:g} s of two vehicles took {took:.2f} s."
    )
    console.print(f"picture: {draw_demo(result, plot)}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)
