"""`shoal view RUN`: replay a run."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.commands._outputs import FILM


def view(
    run: Path = typer.Argument(help="Run directory of `shoal simulate --out` or of a campaign, or a rosbag2 folder."),
    save: Path = typer.Option(
        None,
        "--save",
        "-s",
        callback=FILM,
        help="Instead of a window: .gif or .mp4 film, .rrd for Rerun, .png: one instant (--viewer rerun: of Rerun).",
    ),
    speed: float = typer.Option(20.0, min=0.1, help="Simulated seconds per second of film."),
    fps: float = typer.Option(10.0, min=1.0, max=60.0, help="Pictures per second."),
    viewer: str = typer.Option("auto", help="rerun, web (Rerun in the browser) or film; auto: Rerun if installed."),
    at_s: float = typer.Option(None, "--at", help="The instant of a PNG; the middle of the run if not given."),
) -> None:
    """Replay a run in Rerun: 3-D scene, sight angles, distances, depth.

    Without Rerun it is a film in a window, and without a display it saves RUN/replay.gif. `shoal live` shows a running
    fleet.
    """
    from rich.progress import Progress

    from shoal.console import out, print_warning
    from shoal.errors import ShoalError
    from shoal.reports import rerun_picture, rerun_scene, rerun_view
    from shoal.reports.view import has_display, load_run, save_animation, save_still, show_animation

    record = load_run(run)
    if viewer not in ("auto", "rerun", "web", "film"):
        raise ShoalError(f"--viewer {viewer}: unknown; expected auto, rerun, web or film")
    if at_s is not None and (save is None or save.suffix.lower() != ".png"):
        raise ShoalError(f"--at {at_s:g}: is for one picture; expected --save FILE.png with it")
    if at_s is not None and not 0 <= at_s <= record.duration_s:
        raise ShoalError(f"--at {at_s:g}: is not in the run; expected 0 to {record.duration_s:g} s")
    with_rerun = viewer in ("rerun", "web") or (viewer == "auto" and rerun_scene.available() and has_display())
    if save is None and with_rerun:
        rerun_view.save_rrd(record, run / "replay.rrd")
        out().print(f"saved: {run / 'replay.rrd'}", highlight=False)
        raise typer.Exit(rerun_view.open_viewer(run / "replay.rrd", web=viewer == "web"))
    if save is None and viewer == "auto" and not rerun_scene.available():
        print_warning(f"Rerun is not installed: showing a film instead; to get it: {rerun_scene.HOW_TO_GET_IT}")
    if save is None and has_display():
        show_animation(record, speed=speed, fps=fps)
        return
    target = save or run / "replay.gif"
    if target.suffix.lower() == ".rrd":
        rerun_view.save_rrd(record, target)
    elif target.suffix.lower() == ".png" and viewer == "rerun":
        rerun_picture.save_picture(record, target, record.duration_s / 2 if at_s is None else at_s)
    elif target.suffix.lower() == ".png":
        save_still(record, target, record.duration_s / 2 if at_s is None else at_s)
    else:
        from rich.console import Console

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("drawing", total=None)
            save_animation(record, target, speed=speed, fps=fps,
                           progress=lambda k, n: bar.update(task, completed=k, total=n))  # fmt: skip
    out().print(f"saved: {target}", highlight=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(view)
