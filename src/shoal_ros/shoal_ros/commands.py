"""`shoal up FLEET`: the fleet on ROS 2, without `ros2 launch`."""

from __future__ import annotations

from pathlib import Path

import typer


def register(parent: typer.Typer) -> None:
    """Add the command to the main command line."""
    parent.command()(up)


def up(
    fleet: str = typer.Argument("two", help="Fleet name, file or number of vehicles."),
    path: str = typer.Option("", help="Test, path name or file to follow; without it the fleet holds station."),
    seconds: float = typer.Option(0.0, "--for", min=0.0, max=604_800.0, help="Simulated seconds; 0: until Ctrl-C."),
    record: Path | None = typer.Option(None, help="Folder for a rosbag2 recording."),
    plant: str = typer.Option("builtin", help="builtin, or none: Gazebo or real vehicles bring odometry."),
    rate: float = typer.Option(1.0, min=0.0, max=100.0, help="Times real time; 0: as fast as it goes, in lock step."),
    condition: str = typer.Option("default", help="Water, sensors, link and what is believed: name or file."),
    seed: int = typer.Option(0, min=0, help="Of everything that is drawn."),
    lockstep: bool = typer.Option(False, "--lockstep", help="The clock waits for the controllers."),
    relay: bool | None = typer.Option(
        None, "--relay/--no-relay", help="Plans through the link model; as the condition has it."
    ),
    display: bool = typer.Option(False, "--display", help="Also markers and tf for RViz and Foxglove."),
    ready: float | None = typer.Option(
        None, "--ready", min=0.0, max=604_800.0, help="Seconds all must be in place before a test starts."
    ),
    controller: str = typer.Option("", help="Name, file or package.module:Name; without it the fleet file's."),
    task: str = typer.Option("", help="Task that gives the start: name or package.module:Name."),
    once: bool = typer.Option(False, "--once", help="A node that crashes is not started again: all the others end."),
    network: bool = typer.Option(False, "--network", help="Be reachable from other machines."),
    keystore: Path | None = typer.Option(None, help="SROS 2 key store: only nodes with keys may talk."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show what would be started."),
) -> None:
    """Start plant, controllers and guidance of a fleet as ROS 2 nodes."""
    import shlex
    import tempfile

    from shoal.config.atomic import check_folder
    from shoal.errors import ShoalError
    from shoal_ros.domain import chosen_domain
    from shoal_ros.node_list import fleet_nodes
    from shoal_ros.reach import check_keystore
    from shoal_ros.up import run_fleet

    if plant not in ("builtin", "none"):
        raise ShoalError(f"plant = '{plant}'; expected builtin or none")
    if record is not None:
        check_folder(record, f"--record {record}")
    with tempfile.TemporaryDirectory(prefix="shoal-up-") as scratch:
        nodes = fleet_nodes(
            _fleet_file(fleet, Path(scratch)),
            path=path,
            plant=plant,
            condition=condition,
            seed=seed,
            rate=rate,
            lockstep=lockstep or rate == 0,
            duration_s=seconds if plant == "builtin" else 0.0,
            record=str(record) if record else "",
            use_relay=relay,
            display=display,
            ready_s=ready,
            controller=controller,
            task=task,
            state_dir=str(Path(scratch) / "state"),
        )
        if keystore is not None:
            check_keystore(keystore, nodes)
            nodes = [node.secured() for node in nodes]
        if dry_run:
            for node in nodes:
                print(shlex.join(node.command()))
            return
        wall_s = seconds if seconds and plant == "none" else None
        code = run_fleet(nodes, chosen_domain(), network, wall_s, keystore, again=not once)
    raise typer.Exit(code)


def _fleet_file(fleet: str, scratch: Path) -> str:
    """Nodes load names and files: a number that has no shipped fleet becomes a file."""
    import yaml

    from shoal.fleet.generate import BY_SIZE, resolve_fleet

    if not fleet.isdigit() or int(fleet) in BY_SIZE:
        return fleet
    made = scratch / f"ring{fleet}.yaml"
    made.write_text(yaml.safe_dump(resolve_fleet(fleet).model_dump(mode="json")), encoding="utf-8")
    return str(made)
