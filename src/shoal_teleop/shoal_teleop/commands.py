"""`shoal teleop keyboard|joystick|test`: drive the fleet that runs here by hand, or try a pad without one."""

from __future__ import annotations

from pathlib import Path

import typer

DOMAIN = typer.Option(None, min=0, max=232, help="ROS domain; else $ROS_DOMAIN_ID, else a running fleet's.")
NETWORK = typer.Option(False, "--network", help="The fleet runs on other machines.")
KEYSTORE = typer.Option(None, help="SROS 2 key store: only nodes with keys may talk.")
LAYOUT = typer.Option("xbox", help="Joystick file, or the name of one in config/joysticks.")
DEVICE = typer.Option(0, min=0, max=15, help="Which pad, counted from 0.")


def register(parent: typer.Typer) -> None:
    """Add the group to the main command line."""
    group = typer.Typer(no_args_is_help=True, help="Drive the fleet's setpoint by hand.")
    for command in (keyboard, joystick, test):
        group.command()(command)
    parent.add_typer(group, name="teleop")


def keyboard(domain: int | None = DOMAIN, network: bool = NETWORK, keystore: Path | None = KEYSTORE) -> None:
    """Drive from this terminal; keys are listed when it starts."""
    import os

    from shoal_ros.local_fleets import find_fleet
    from shoal_ros.node_list import NodeSpec
    from shoal_ros.reach import check_keystore

    find_fleet(domain, network, keystore)
    spec = NodeSpec("shoal_teleop", "keyboard", "keyboard")
    if keystore is not None:
        check_keystore(keystore, [spec])
        spec = spec.secured()
    words = spec.command()
    os.execv(words[0], words)  # the terminal and its signals are the node's own


def joystick(
    layout: str = LAYOUT,
    device: int = DEVICE,
    domain: int | None = DOMAIN,
    network: bool = NETWORK,
    keystore: Path | None = KEYSTORE,
) -> None:
    """Drive with a game pad: the driver and the node that gives it a meaning, until Ctrl-C."""
    from shoal_ros.domain import Domain
    from shoal_ros.local_fleets import find_fleet
    from shoal_ros.reach import check_keystore
    from shoal_ros.up import run_fleet
    from shoal_teleop.nodes import teleop_nodes

    nodes = teleop_nodes(layout, "shoal", device)
    if keystore is not None:
        check_keystore(keystore, nodes)
        nodes = [node.secured() for node in nodes]
    number = find_fleet(domain, network, keystore)
    raise typer.Exit(run_fleet(nodes, Domain(number), network, None, keystore))


def test(
    layout: str = LAYOUT,
    device: int = DEVICE,
    seconds: float = typer.Option(0.0, "--for", min=0.0, help="Seconds; 0: until Ctrl-C."),
) -> None:
    """Show what a pad does and what the fleet would make of it. Needs neither ROS nor a fleet."""
    from shoal_teleop.pad_test import run

    raise typer.Exit(run(layout, device, seconds))
