"""`shoal identify`: from recorded motion to a vehicle's numbers, with intervals."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.identification.fit import Fit
    from shoal.identification.motion_data import MotionData
    from shoal.vehicles.description import Vehicle


def identify(
    recordings: list[Path] = typer.Argument(None, help="Run directories, rosbag2 folders (MCAP, SQLite), CSV files."),
    vehicle: str = typer.Option("bluerov2_heavy", help="Vehicle type or file: where the fit starts from."),
    parameter_set: str = typer.Option(None, "--set", "-s", help="Parameter set; the file's default if not given."),
    name: str = typer.Option(None, "--name", "-n", help="Which vehicle of the recording; needed if there are several."),
    columns: Path = typer.Option(None, "--columns", "-c", help="Column map (YAML) of CSV files."),
    fly: bool = typer.Option(False, "--fly", help="Excite a vehicle in the simulator for a minute first, then fit."),
    condition: str = typer.Option("default", help="With --fly: the condition."),
    seed: int = typer.Option(0, help="With --fly: the seed."),
    level: float = typer.Option(
        0.7, min=0.05, max=0.8, help="With --fly: largest level, as a share of an axis's thrust."
    ),
    seeds: int = typer.Option(
        0, min=0, help="With --fly: so many plants from --seed on; prints errors against the truth and coverage."
    ),
    thrust_scale: float = typer.Option(
        0.0, help="One sigma of the common thrust scale; 0.05 to 0.1 where no battery voltage is known."
    ),
    sag: float = typer.Option(
        0.0, help="One sigma of the share of thrust lost per 100 N of all thrusters (battery sag); 0: none."
    ),
    current: float = typer.Option(0.0, help="One sigma of an unknown steady current, m/s; 0: still water."),
    axes: str = typer.Option(
        None, help="Axes to fit, e.g. surge,sway,heave,yaw where an autopilot holds roll and pitch unlogged; else all."
    ),
    window_s: float = typer.Option(1.0, "--window", min=0.5, max=8.0, help="Length of the shooting windows, seconds."),
    hold_out: float = typer.Option(
        0.0, min=0.0, max=0.6, help="Share of each recording's end that is left out of the fit, for the free runs."
    ),
    page: Path = typer.Option(None, "--page", "-p", help="Write an HTML page: residuals, correlation, free runs."),
    out_file: Path = typer.Option(None, "--out", "-o", help="Write a vehicle file with the fitted parameter set."),
) -> None:
    """Mass, inertia, drag and thruster timing from recordings, beside the vehicle file's numbers."""
    from rich.console import Console

    from shoal.console import out
    from shoal.errors import ShoalError
    from shoal.identification.fit import FitSettings, fit
    from shoal.identification.parameter_set import check_writable, write_parameter_set
    from shoal.identification.sources import read_motion
    from shoal.vehicles.description import load_vehicle

    if bool(recordings) == fly:
        raise ShoalError("identify: expected either recordings or --fly")
    if seeds:
        if not fly or out_file is not None or page is not None:
            raise ShoalError(f"identify: --seeds {seeds}; expected with --fly, and without --out and --page")
        _precision(vehicle, parameter_set, condition, range(seed, seed + seeds), level)
        return
    fitted_axes = _axes(axes)
    prior = load_vehicle(vehicle, parameter_set)
    if out_file is not None:
        check_writable(out_file)
    if fly:
        data = [_flown(prior.name, vehicle, parameter_set, condition, seed, level)]
    else:
        data = [piece for path in recordings for piece in read_motion(path, prior, name, columns)]
    settings = FitSettings(
        window_s=window_s, thrust_scale_sigma=thrust_scale, current_sigma_mps=current, sag_sigma=sag, axes=fitted_axes
    )

    err = Console(stderr=True)

    def progress(iteration: int, size: float) -> None:
        err.print(f"iteration {iteration}: largest step {size:.2g} sigma", highlight=False)

    fitted, kept = _split(data, hold_out)
    found = fit(fitted, prior, settings=settings, progress=progress)
    console = out()
    console.print(_table(found, prior))
    console.print(f"misfit s² = {found.misfit:.2f}" + (" (expected about 1)" if found.misfit > 1.3 else ""))
    if found.unexcited:
        console.print(f"not excited, left at the file's values: {', '.join(found.unexcited)}")
    if found.misfit > 2:
        raise ShoalError(
            f"{fitted[0].source}: misfit s² is {found.misfit:.2f}; expected at most 2. The model cannot explain the "
            "motion: try --current, check thruster order and signs, or leave out tumbling"
        )
    if page is not None:
        _write_page(page, found, prior, kept or fitted, held_out=bool(kept))
        console.print(f"page: {page}", highlight=False, soft_wrap=True)
    if out_file is not None:
        write_parameter_set(found, prior, vehicle, fitted, out_file, datetime.date.today().isoformat())
        console.print(f"written: {out_file} (use it as `type: {out_file}` in a fleet file)")


def _axes(given: str | None) -> tuple[int, ...]:
    from shoal.errors import ShoalError
    from shoal.vehicles.description import AXES

    if given is None:
        return tuple(range(6))
    names = [name.strip() for name in given.split(",")]
    if stray := [name for name in names if name not in AXES]:
        raise ShoalError(f"identify: --axes names '{stray[0]}'; expected some of {', '.join(AXES)}")
    return tuple(sorted({AXES.index(name) for name in names}))


def _split(data: list[MotionData], share: float) -> tuple[list[MotionData], list[MotionData]]:
    """For the fit, and held out."""
    if share == 0:
        return data, []
    cuts = [(d, (1 - share) * d.duration_s) for d in data]
    return [d.part(0, cut) for d, cut in cuts], [d.part(cut, d.duration_s) for d, cut in cuts]


def _write_page(page: Path, found: Fit, prior: Vehicle, data: list[MotionData], held_out: bool) -> None:
    from shoal.identification.validation import FREE_RUN_S, replay_of_fit, replay_of_vehicle, validate_replay
    from shoal.reports.identification_page import write_fit_page

    runs = []
    if any(d.duration_s > FREE_RUN_S + 2 for d in data):
        replays = replay_of_fit(found), replay_of_vehicle(prior, f"{prior.parameter_set} (file)")
        runs = [validate_replay(replay, data, FREE_RUN_S) for replay in replays]
    write_fit_page(page, found, prior, list(dict.fromkeys(d.source for d in data)), runs, held_out)


def _precision(vehicle: str, parameter_set: str | None, condition: str, seeds: range, level: float) -> None:
    import numpy as np
    from rich.table import Table

    from shoal.console import out
    from shoal.identification.precision import NAMES, trials

    found = []
    for trial in trials(vehicle, parameter_set, condition, seeds, level):
        found.append(trial)
        out().print(
            f"seed {trial.seed}: s² {trial.misfit:.2f}, {trial.iterations} iterations, largest error "
            f"{100 * abs(trial.errors).max():.1f} %, free run {trial.free_run:.2f} x that of the true numbers "
            f"(file {trial.free_run_file:.1f} x)", highlight=False, soft_wrap=True,
        )  # fmt: skip
    errors, inside = np.array([t.errors for t in found]), np.array([t.inside for t in found])
    table = Table("quantity", "RMS error", "largest", "inside 95 %", title=f"{len(found)} plants", title_justify="left")
    for i, quantity in enumerate(NAMES):
        column = 100 * np.abs(errors[:, i])
        rms = float(np.sqrt(np.mean(column**2)))
        table.add_row(quantity, f"{rms:.2f} %", f"{column.max():.2f} %", f"{inside[:, i].sum()} of {len(found)}")
    out().print(table)
    out().print(f"coverage: {inside.sum()} of {inside.size}", highlight=False)


def _flown(kind: str, vehicle: str, parameter_set: str | None, condition: str, seed: int, level: float) -> MotionData:
    from rich.console import Console

    from shoal.control.registry import ControllerFile
    from shoal.fleet.file import Fleet
    from shoal.identification.motion_data import from_recording
    from shoal.tasks.run import RunSpec, simulate

    Console(stderr=True).print(f"exciting {kind} for 60 s in the simulator ({condition}, seed {seed})", highlight=False)
    member = {"name": "rov", "type": vehicle, "start_m": [0, 0, 5]}
    if parameter_set is not None:
        member["parameter_set"] = parameter_set
    fleet = Fleet.model_validate({"version": 1, "name": "excited", "vehicles": [member]})
    excitation = ControllerFile(version=1, name="excitation", controller="excitation", settings={"level": level})
    run = simulate(RunSpec(fleet=fleet, controller=excitation, condition=condition, duration_s=60.0, seed=seed))
    return from_recording(run, "rov", f"simulated, {condition}, seed {seed}")


def _table(found: Fit, prior: Vehicle) -> Table:
    from rich.table import Table

    from shoal.identification.summary import summarise_fit

    table = Table("quantity", "unit", "file", "found", "95 % interval", title="Fit", title_justify="left")
    for row in summarise_fit(found, prior):
        low, high = row.interval
        table.add_row(row.name, row.unit, f"{row.prior:.4g}", f"{row.value:.4g}", f"{low:.4g} … {high:.4g}")
    return table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(identify)
