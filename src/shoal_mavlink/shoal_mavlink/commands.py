"""`shoal sitl`: our plant behind ArduSub SITL. Needs no ROS."""

from __future__ import annotations

import typer

from shoal.errors import ShoalError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sitl)


def sitl(
    vehicle: str = typer.Argument("bluerov2_heavy", help="Vehicle type or file, with the Heavy's eight thrusters."),
    parameter_set: str = typer.Option(None, "--set", "-s", help="Parameter set; the file's default if not given."),
    voltage: float = typer.Option(16.0, help="V, of the battery."),
    depth: float = typer.Option(0.5, help="m, at the start."),
    port: int = typer.Option(9002, min=1, max=65535, help="UDP port on this machine that SITL sends to."),
) -> None:
    """The built-in plant for ArduSub SITL (`ardusub --model JSON`), until Ctrl-C."""
    from shoal.console import out
    from shoal.messages.state import State
    from shoal.vehicles.curves import load_table
    from shoal.vehicles.description import load_vehicle
    from shoal_mavlink.sitl import JsonPlant, serve
    from shoal_mavlink.thruster_plant import ThrusterPlant

    loaded = load_vehicle(vehicle, parameter_set)
    try:
        load_table("t200").at(voltage)
    except ValueError as error:
        raise ShoalError(f"--voltage: {error}") from None
    start = State.at_rest((0.0, 0.0, depth)).array

    def make(substep_s: float) -> ThrusterPlant:
        return ThrusterPlant(loaded, start, voltage, substep_s=substep_s)

    make(0.0025)  # a vehicle that does not fit is refused before anybody connects
    out().print(
        f"{loaded.name} ({loaded.parameter_set}) waits for SITL on UDP port {port}; Ctrl-C ends it", highlight=False
    )
    try:
        serve(JsonPlant(make), port)
    except KeyboardInterrupt:
        out().print("ended")
