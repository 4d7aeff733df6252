"""`shoal sitl`: our plant behind ArduSub SITL. Needs no ROS. `shoal ardusub trial`: what the way through it costs."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.errors import ShoalError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sitl)
    group = typer.Typer(no_args_is_help=True, help="ArduSub vehicles: what the way through the autopilot costs.")
    group.command("trial")(trial)
    group.callback()(lambda: None)  # a group with one command stays a group
    app.add_typer(group, name="ardusub")


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


def trial(
    fleet: str = typer.Option("two", "--fleet", "-f", help="Fleet name or file."),
    path: str = typer.Option("circle", "--path", help="Path to follow."),
    condition: str = typer.Option("current_05_waves", "--condition", help="Water and sensors."),
    seed: int = typer.Option(0, "--seed", min=0),
    seconds: float = typer.Option(40.0, "--for", min=15.0, help="Of the path."),
    cases: str = typer.Option("direct,axes,axes@14,outputs", help="Any of direct, axes, outputs; @V: the battery's."),
    late: bool = typer.Option(
        False, "--late", help="Overrides come later by the condition's control delay, beside what the way itself takes."
    ),
    out: Path = typer.Option(Path("runs/ardusub"), "--out", help="Folder for recordings and logs."),
) -> None:
    """The fleet on the path as real processes, in lock step: direct, and through bridges and stand-in autopilots."""
    from rich.table import Table

    from shoal.console import out as console
    from shoal_mavlink.trial import BELIEVED_V, Found, Trial, direct, through

    out.mkdir(parents=True, exist_ok=True)
    wanted = Trial(fleet, path, condition, seed, seconds, late)
    found: dict[str, Found] = {}
    for case in filter(None, (part.strip() for part in cases.split(","))):
        route, _, voltage = case.partition("@")
        if route not in ("direct", "axes", "outputs") or (voltage and not voltage.replace(".", "", 1).isdigit()):
            raise ShoalError(f"--cases: '{case}'; expected direct, axes or outputs, with @VOLTS where it differs")
        folder = out / f"{case.replace('@', '_')}-{seed}"
        if folder.exists():
            raise ShoalError(f"{folder} is there already; expected a new folder: --out")
        console().print(f"{case} …", highlight=False)
        volts = float(voltage) if voltage else BELIEVED_V
        found[case] = direct(wanted, folder) if route == "direct" else through(wanted, folder, volts, route)
    table = Table("case", "own error RMS \\[m]", "path error RMS \\[m]", "times direct", "largest tilt \\[°]")
    base = found.get("direct")
    for case, f in found.items():
        ratio = f"{f.own_rms_m / base.own_rms_m:.2f} / {f.path_rms_m / base.path_rms_m:.2f}" if base else "–"
        table.add_row(case, f"{f.own_rms_m:.4f}", f"{f.path_rms_m:.4f}", ratio, f"{f.tilt_max_deg:.0f}")
    console().print(table)
