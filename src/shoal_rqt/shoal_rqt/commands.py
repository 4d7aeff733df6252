"""`shoal gui`: the operator's station in a window of its own. `shoal live`: the fleet in 3-D."""

from __future__ import annotations

from pathlib import Path

import typer


def register(parent: typer.Typer) -> None:
    """Add the commands to the main command line."""
    parent.command()(gui)
    parent.command()(live)


def gui(
    fleet: str = typer.Option("", help="Fleet name or file; else the running nodes' own."),
    domain: int | None = typer.Option(
        None, min=0, max=232, help="ROS domain; else $ROS_DOMAIN_ID, else a running fleet's."
    ),
    dark: bool = typer.Option(False, "--dark", help="Dark colours (Ctrl+D changes them)."),
    network: bool = typer.Option(False, "--network", help="The fleet runs on other machines."),
    keystore: Path | None = typer.Option(None, help="SROS 2 key store, with an enclave /operator_station."),
    screenshots: Path | None = typer.Option(
        None, help="Only draw the guide's pictures into this folder; needs no ROS."
    ),
) -> None:
    """Open the operator's station."""
    if screenshots is not None:
        import os

        from shoal.config.atomic import check_folder

        check_folder(screenshots, f"--screenshots {screenshots}")
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        from shoal_rqt.screenshots import take_all

        take_all(screenshots)
        return
    from shoal_rqt.window import run

    raise typer.Exit(run(fleet, domain, dark, network, keystore))


def live(
    fleet: str = typer.Option("", help="Fleet name or file; else the running nodes' own."),
    domain: int | None = typer.Option(
        None, min=0, max=232, help="ROS domain; else $ROS_DOMAIN_ID, else a running fleet's."
    ),
    network: bool = typer.Option(False, "--network", help="The fleet runs on other machines."),
    keystore: Path | None = typer.Option(None, help="SROS 2 key store, with an enclave /live_view."),
    web: bool = typer.Option(False, "--web", help="In the browser instead of a window."),
    save: Path | None = typer.Option(None, "--save", "-s", help="Only write what the fleet does to FILE.rrd."),
    seconds: float = typer.Option(0.0, "--for", min=0.0, help="Seconds; 0: until the viewer is closed, or Ctrl-C."),
) -> None:
    """Show the running fleet in 3-D, in Rerun: hulls, cones, plans, path, and plots with limits."""
    from shoal.errors import ShoalError

    if save is not None and save.suffix.lower() != ".rrd":
        raise ShoalError(f"--save {save}: ends in '{save.suffix}'; expected a name that ends in .rrd")
    from shoal_rqt.live import run

    raise typer.Exit(run(fleet, domain, network, keystore, web, save, seconds))
