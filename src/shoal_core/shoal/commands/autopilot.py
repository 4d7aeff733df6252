"""`shoal autopilot gains | step | sweep | frequency | compare | dive | report`: attitude laws by their figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from shoal.commands._outputs import PAGE

app = typer.Typer(no_args_is_help=True, help="Attitude laws: gains, steps, frequency response, a pilot's dive.")
VEHICLE = typer.Argument("bluerov2_heavy", help="Name of a vehicle type, or a file.")
SET = typer.Option("ng2024", "--set", "-s", help="Parameter set.")
OMEGA = typer.Option(3.0, "--omega", min=0.2, max=8.0, help="Bandwidth in rad/s.")
MIXER = typer.Option("bounded", "--mixer", help="bounded, quantitative or heuristic (the last two: Ng 2024).")
OUT = typer.Option("autopilot.html", "--out", "-o", callback=PAGE, help="The page to write.")
LAW = typer.Option("pd", "--law", help="pd (Ng 2024) or model (inverse dynamics).")


def _load(name: str, parameter_set: str) -> Any:
    from shoal.config.files import find_config
    from shoal.vehicles.description import load_vehicle
    from shoal.vehicles.vehicle_file_v1 import load_vehicle_file

    sets = load_vehicle_file(find_config("vehicles", name)).sets
    return load_vehicle(name, parameter_set if parameter_set in sets or parameter_set != "ng2024" else None)


def _setup(law: str, mixer: str) -> Any:
    from typing import get_args

    from shoal.autopilot.experiments import Setup
    from shoal.errors import ShoalError
    from shoal.vehicles.mixers import MixerName

    if law not in ("pd", "model"):
        raise ShoalError(f"--law = '{law}', expected pd or model")
    if mixer not in get_args(MixerName):
        raise ShoalError(f"--mixer = '{mixer}', expected one of {', '.join(get_args(MixerName))}")
    return Setup(law, mixer=mixer)  # type: ignore[arg-type]


def _print(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.table import Table

    from shoal.console import out

    table = Table(*(head.replace("[", r"\[") for head in heads))
    for row in rows:
        table.add_row(*row)
    out().print(table)


@app.command("gains")
def gains(vehicle: str = VEHICLE, parameter_set: str = SET, omega: float = OMEGA) -> None:
    """Critically damped gains of roll, pitch and yaw from one knob, with the additional damping κ/ω²."""
    from shoal.autopilot.gains import KAPPA, attitude_gains, effective_damping

    loaded = _load(vehicle, parameter_set)
    plain, total = attitude_gains(loaded, omega, 0.0), attitude_gains(loaded, omega)
    linear = effective_damping(loaded)
    rows = [
        (axis, f"{linear[i]:.2f}", f"{plain.proportional[i]:.2f}", f"{plain.derivative[i]:.2f}",
         f"{KAPPA / omega**2:.2f}", f"{total.derivative[i]:.2f}")
        for i, axis in enumerate(("roll", "pitch", "yaw"))
    ]  # fmt: skip
    _print(("axis", "damping taken [N m s]", "kP [N m/rad]", "kD [N m s/rad]", "κ/ω²", "kD in all"), rows)


@app.command("step")
def step(
    vehicle: str = VEHICLE, parameter_set: str = SET, omega: float = OMEGA, law: str = LAW, mixer: str = MIXER
) -> None:
    """A quarter turn in yaw on the six-degree-of-freedom model: overshoot and 5 % settling."""
    _steps(vehicle, parameter_set, _setup(law, mixer), [omega])


@app.command("sweep")
def sweep(vehicle: str = VEHICLE, parameter_set: str = SET, law: str = LAW, mixer: str = MIXER) -> None:
    """The same for ω from 1.5 to 5 rad/s by 0.25."""
    _steps(vehicle, parameter_set, _setup(law, mixer), [1.5 + 0.25 * k for k in range(15)])


def _steps(vehicle: str, parameter_set: str, setup: Any, omegas: list[float]) -> None:
    from shoal.autopilot import experiments

    loaded = _load(vehicle, parameter_set)
    found = [experiments.step(loaded, setup, omega) for omega in omegas]
    rows = [(f"{s.omega_radps:g}", f"{100 * s.overshoot:.1f}", f"{s.settling_s:.2f}") for s in found]
    _print(("ω [rad/s]", "overshoot [%]", "settling ±5 % [s]"), rows)


@app.command("frequency")
def frequency(
    vehicle: str = VEHICLE, parameter_set: str = SET, omega: float = OMEGA, law: str = LAW, mixer: str = MIXER
) -> None:
    """Gain and phase of yaw for a sine of 30°."""
    import numpy as np

    from shoal.autopilot import experiments

    setup, loaded = _setup(law, mixer), _load(vehicle, parameter_set)
    rows = []
    for share in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0):
        gain, phase = experiments.frequency(loaded, setup, omega, share * omega)
        rows.append((f"{share * omega:.2f}", f"{gain:.2f}", f"{np.degrees(phase):.0f}"))
    _print(("at [rad/s]", "gain", "phase [°]"), rows)


@app.command("compare")
def compare(vehicle: str = VEHICLE, parameter_set: str = SET) -> None:
    """ArduSub's old simulator with its mixer, and the vehicle's model, against a stand-in for the tank (Table 5.1)."""
    from shoal.autopilot import experiments

    loaded, omegas = _load(vehicle, parameter_set), (2.0, 2.5, 3.0, 3.5, 4.0, 4.5)
    hard = experiments.old_and_new(loaded, omegas, experiments.HARD_TANK, experiments.HARD_TANK_DAMPING)
    rows = []
    for column, other in zip(experiments.old_and_new(loaded, omegas), hard, strict=True):
        figures = [f"{100 * c.old:.1f} / {100 * c.new:.1f} / {c.tank_settling_s:.2f}" for c in (column, other)]
        rows.append((f"{column.omega_radps:g}", *figures))
    form = "old [%] / new [%] / settling [s]"
    _print(("ω [rad/s]", f"stand-in for the tank: {form}", f"one with slow thrusters: {form}"), rows)


@app.command("dive")
def dive(
    vehicle: str = VEHICLE,
    parameter_set: str = SET,
    course: str = typer.Option("pilot", "--course", help="A dive's name or CSV file."),
    seed: int = typer.Option(0, "--seed", min=0, help="Of the measurement noise."),
    mixer: str = MIXER,
) -> None:
    """A pilot's dive: angles held, linear axes driven by hand. Error, IAE and effort of each law."""
    from shoal.autopilot import experiments
    from shoal.autopilot.dive import load_dive

    loaded, read = _load(vehicle, parameter_set), load_dive(course)
    cases = [("pd", 2.0, 0.0), ("pd", 3.0, 0.0), ("pd", 4.0, 0.0), ("model", 4.0, 0.0), ("model", 4.0, 0.14)]
    rows = []
    for law, omega, preview_s in cases:
        found = experiments.dive(loaded, read, _setup(law, mixer), omega, preview_s, seed)
        name = law + (f", known {preview_s:g} s ahead" if preview_s else "")
        figures = [" / ".join(f"{v:{f}}" for v in values) for values, f in
                   ((found.rms_deg, ".1f"), (found.iae_deg_s, ".0f"), (found.effort, ".0f"))]  # fmt: skip
        rows.append((name, f"{omega:g}", *figures))
    _print(("law", "ω [rad/s]", "rms roll / pitch / yaw [°]", "IAE [° s]", "effort Σ|u|"), rows)


@app.command("report")
def report(
    vehicle: str = VEHICLE,
    parameter_set: str = SET,
    course: str = typer.Option("pilot", "--course", help="A dive's name or CSV file."),
    seed: int = typer.Option(0, "--seed", min=0, help="Of the measurement noise."),
    out: Path = OUT,
) -> None:
    """All of it on one page, with step and Bode plots beside what Ng 2024 states."""
    from shoal.autopilot.dive import load_dive
    from shoal.console import out as console
    from shoal.reports.autopilot_page import write_autopilot_page

    write_autopilot_page(out, _load(vehicle, parameter_set), load_dive(course), seed)
    console().print(f"written: {out}", highlight=False)


def register(parent: typer.Typer) -> None:
    """Into the main command."""
    parent.add_typer(app, name="autopilot")
