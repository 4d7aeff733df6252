"""`shoal pilot web|pad|csv|keyboard`: one pilot for one vehicle whose controller is the autopilot."""

from __future__ import annotations

from pathlib import Path

import typer

FLEET = typer.Option("one", "--fleet", "-f", help="Fleet name or file.")
VEHICLE = typer.Option("", "--vehicle", help="Its name in the fleet; else the first.")
DOMAIN = typer.Option(None, min=0, max=232, help="ROS domain; else $ROS_DOMAIN_ID, else a running fleet's.")
NETWORK = typer.Option(False, "--network", help="The vehicle is on another machine.")


def register(parent: typer.Typer) -> None:
    """Add the group to the main command line."""
    group = typer.Typer(no_args_is_help=True, help="Pilot one vehicle: `shoal up one --controller autopilot` first.")
    for command in (web, pad, csv, keyboard):
        group.command()(command)
    parent.add_typer(group, name="pilot")


def web(
    fleet: str = FLEET,
    vehicle: str = VEHICLE,
    address: str = typer.Option("127.0.0.1", help="To listen on; other than this machine's own: with a token."),
    port: int = typer.Option(8765, min=0, max=65535, help="TCP port; 0: any free one."),
    token_file: str = typer.Option("", help="File whose first line every front end has to send."),
    domain: int | None = DOMAIN,
    network: bool = NETWORK,
) -> None:
    """A WebSocket for a front end such as a headset; the page it serves shows how to connect."""
    _run(domain, network, "web", fleet, vehicle, address=address, port=port, token_file=token_file)


def pad(
    fleet: str = FLEET,
    vehicle: str = VEHICLE,
    layout: str = typer.Option("xbox", help="Joystick file, or the name of one in config/joysticks."),
    device: int = typer.Option(0, min=0, max=15, help="Which pad, counted from 0."),
    domain: int | None = DOMAIN,
    network: bool = NETWORK,
) -> None:
    """A game pad: sticks while the dead man's button is held, presets by its buttons."""
    _run(domain, network, "pad", fleet, vehicle, layout=layout, device=device)


def csv(
    course: str = typer.Argument("pilot", help="Dive: CSV file, or the name of one in config/dives."),
    fleet: str = FLEET,
    vehicle: str = VEHICLE,
    simulated: bool = typer.Option(True, "--simulated/--real", help="Whose clock the dive follows."),
    domain: int | None = DOMAIN,
    network: bool = NETWORK,
) -> None:
    """A dive from a CSV file."""
    _run(domain, network, "csv", fleet, vehicle, course=course, use_sim_time=simulated)


def keyboard(fleet: str = FLEET, vehicle: str = VEHICLE, domain: int | None = DOMAIN, network: bool = NETWORK) -> None:
    """This terminal; keys are listed when it starts."""
    import os

    from shoal_autopilot.nodes import pilot_nodes
    from shoal_ros.local_fleets import find_fleet

    (spec,) = pilot_nodes("keyboard", fleet, vehicle)
    find_fleet(domain, network, None)
    words = spec.command()
    os.execv(words[0], words)  # the terminal and its signals are the node's own


def _run(domain: int | None, network: bool, source: str, fleet: str, vehicle: str, **given: object) -> None:
    from shoal_autopilot.nodes import pilot_nodes
    from shoal_ros.domain import Domain
    from shoal_ros.local_fleets import find_fleet
    from shoal_ros.up import run_fleet

    keystore: Path | None = None
    nodes = pilot_nodes(source, fleet, vehicle, **given)  # type: ignore[arg-type]
    raise typer.Exit(run_fleet(nodes, Domain(find_fleet(domain, network, keystore)), network, None, keystore))
