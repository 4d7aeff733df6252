"""`shoal gui`: the operator's station in a window of its own."""

from __future__ import annotations

from pathlib import Path

import typer


def register(parent: typer.Typer) -> None:
    """Add the command to the main command line."""
    parent.command()(gui)


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
