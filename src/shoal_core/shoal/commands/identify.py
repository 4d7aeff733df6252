"""`shoal identify`: from recorded motion to a vehicle's numbers, with intervals."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shoal.commands._outputs import ANY, PAGE

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.control.registry import ControllerFile
    from shoal.identification.excited import Flown
    from shoal.identification.fit import Fit
    from shoal.identification.motion_data import MotionData
    from shoal.identification.validation import Validation
    from shoal.vehicles.description import Vehicle


def identify(
    recordings: list[Path] = typer.Argument(None, help="Run directories, rosbag2 folders (MCAP, SQLite), CSV files."),
    vehicle: str = typer.Option("bluerov2_heavy", help="Vehicle type or file: where the fit starts from."),
    parameter_set: str = typer.Option(None, "--set", "-s", help="Parameter set; the file's default if not given."),
    name: str = typer.Option(None, "--name", "-n", help="Which vehicle of the recording; needed if there are several."),
    columns: Path = typer.Option(None, "--columns", "-c", help="Column map (YAML) of CSV files."),
    fly: bool = typer.Option(False, "--fly", help="Excite a vehicle for a minute first, then fit."),
    plant: str = typer.Option(
        "simulator",
        help="With --fly: simulator; builtin or none: ROS nodes as of `shoal up`, none for Gazebo or water.",
    ),
    fleet: str = typer.Option("one", "--fleet", "-f", help="With --plant builtin or none: fleet file of the vehicle."),
    excitation: str = typer.Option(
        "excitation", help="With --fly: controller file of the excitation: room, depths, distance, holds."
    ),
    record: Path = typer.Option(None, help="With --plant builtin or none: folder for the recording; else thrown away."),
    condition: str = typer.Option("default", help="With --fly: the condition."),
    seed: int = typer.Option(0, help="With --fly: the seed."),
    level: float = typer.Option(
        None, min=0.05, max=0.8, help="With --fly: largest level, as a share of an axis's thrust; the file's, else 0.6."
    ),
    seeds: int = typer.Option(
        0, min=0, help="With --fly: so many plants from --seed on; prints errors against the truth and coverage."
    ),
    closed_loop: bool = typer.Option(
        False,
        "--closed-loop",
        help="With --seeds: path error, thrust and top speeds with the file's numbers and the fit's.",
    ),
    thrust_scale: float = typer.Option(
        0.0, help="One sigma of the common thrust scale; 0.05 to 0.1 where no battery voltage is known."
    ),
    sag: float = typer.Option(
        0.0, help="One sigma of the share of thrust lost per 100 N of all thrusters (battery sag); 0: none."
    ),
    current: float = typer.Option(0.0, help="One sigma of an unknown steady current, m/s; 0: still water."),
    point: float = typer.Option(
        0.0, min=0.0, max=1.0, help="One sigma of where the odometry is measured, m from the origin; 0: at the origin."
    ),
    axes: str = typer.Option(
        None,
        help="Axes to fit, e.g. surge,sway,heave,yaw where an autopilot holds roll and pitch unlogged; else all.",
    ),
    tilt_measured: bool = typer.Option(
        False, "--tilt-measured", help="With --axes: roll and pitch as measured, also within a window."
    ),
    uncoupled: bool = typer.Option(
        False,
        "--uncoupled",
        help="Fit without the Coriolis force of the added mass (as the set ng2024 has it).",
    ),
    delay: float = typer.Option(0.08, min=0.001, max=1.0, help="One sigma of the delay of thrust or log, s."),
    unexcited: float = typer.Option(
        0.5, min=0.0, max=1.0, help="Unknowns whose interval stays wider than this share of the file's are left alone."
    ),
    converged: float = typer.Option(
        0.02, min=1e-4, max=0.5, help="The fit ends when no step exceeds this share of an unknown's own interval."
    ),
    window_s: float = typer.Option(1.0, "--window", min=0.5, max=8.0, help="Length of the shooting windows, seconds."),
    hold_out: float = typer.Option(
        0.0, min=0.0, max=0.6, help="Share of each recording's end that is left out of the fit, for the free runs."
    ),
    test: list[Path] = typer.Option(
        None, "--test", "-t", help="Recordings that are not fitted; R² of free runs of 8 s over them is printed."
    ),
    page: Path = typer.Option(
        None, "--page", "-p", callback=PAGE, help="Write an HTML page: residuals, correlation, free runs."
    ),
    out_file: Path = typer.Option(
        None, "--out", "-o", callback=ANY, help="Write a vehicle file with the fitted parameter set."
    ),
) -> None:
    """Mass, inertia, drag and thruster timing from recordings, beside the vehicle file's numbers."""
    from dataclasses import replace

    from rich.console import Console

    from shoal.console import out
    from shoal.errors import ShoalError
    from shoal.identification.excited import LEVEL, excitation_file, type_of_one
    from shoal.identification.fit import FitSettings, fit
    from shoal.identification.parameter_set import write_parameter_set
    from shoal.identification.sources import read_motion
    from shoal.identification.validation import FREE_RUN_S, TEST_RUN_S
    from shoal.reports.identification_page import write_fit_page
    from shoal.vehicles.description import load_vehicle

    if bool(recordings) == fly:
        raise ShoalError("identify: expected either recordings or --fly")
    if seeds:
        if not fly or out_file is not None or page is not None:
            raise ShoalError(f"identify: --seeds {seeds}; expected with --fly, and without --out and --page")
        plants = range(seed, seed + seeds)
        if closed_loop:
            _closed_loop(vehicle, parameter_set, condition, plants, level)
        else:
            _precision(vehicle, parameter_set, condition, plants, level or LEVEL)
        return
    if closed_loop:
        raise ShoalError("identify: --closed-loop; expected with --fly and --seeds")
    fitted_axes = _axes(axes)
    if plant not in ("simulator", "builtin", "none"):
        raise ShoalError(f"--plant {plant}; expected simulator, builtin or none")
    on_ros = fly and plant != "simulator"
    if on_ros:
        vehicle, described = type_of_one(fleet)
        if described is not None and parameter_set is None:
            parameter_set = described
    prior = load_vehicle(vehicle, parameter_set)
    if fly:
        file = excitation_file(excitation, level)
        if on_ros:
            data = _flown_on_ros(prior, fleet, plant, file, condition, seed, record)
        else:
            data = _flown(prior, vehicle, parameter_set, file, condition, seed)
    else:
        data = [piece for path in recordings for piece in read_motion(path, prior, name, columns)]
    settings = FitSettings(
        window_s=window_s, thrust_scale_sigma=thrust_scale, current_sigma_mps=current, sag_sigma=sag, axes=fitted_axes,
        delay_sigma_s=delay, tilt_measured=tilt_measured, unexcited=unexcited, converged=converged,
        point_sigma_m=point,
    )  # fmt: skip

    err = Console(stderr=True)

    def progress(iteration: int, size: float) -> None:
        err.print(f"iteration {iteration}: largest step {size:.2g} sigma", highlight=False)

    fitted, kept = _split(data, hold_out)
    kept += [piece for path in test or [] for piece in read_motion(path, prior, name, columns)]
    found = fit(
        fitted, replace(prior, added_mass_coriolis=False) if uncoupled else prior, settings=settings, progress=progress
    )
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
    run_s = TEST_RUN_S if test else FREE_RUN_S
    runs = _free_runs(found, prior, kept or fitted, tilt_measured, run_s) if kept or page is not None else []
    if kept:
        for line in _held_out(runs):
            console.print(line, highlight=False, soft_wrap=True)
    if page is not None:
        sources = list(dict.fromkeys(d.source for d in kept or fitted))
        write_fit_page(page, found, prior, sources, runs, bool(kept))
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
        return list(data), []
    cuts = [(d, (1 - share) * d.duration_s) for d in data]
    return [d.part(0, cut) for d, cut in cuts], [d.part(cut, d.duration_s) for d, cut in cuts]


def _free_runs(
    found: Fit, prior: Vehicle, data: list[MotionData], tilt_measured: bool, run_s: float
) -> list[Validation]:
    """Of the fit and of the file; none where the motion is too short."""
    from shoal.identification.validation import replay_of_fit, replay_of_vehicle, validate_replay

    if not any(d.duration_s > run_s + 2 for d in data):
        return []
    replays = replay_of_fit(found), replay_of_vehicle(prior, f"{prior.parameter_set} (file)")
    return [validate_replay(replay, data, run_s, tilt_measured) for replay in replays]


def _held_out(runs: list[Validation]) -> list[str]:
    """R² of free runs over motion that the fit has not seen."""
    if not runs:
        return ["not fitted: too short for free runs"]
    return [
        f"not fitted, free runs of {run.times_s[-1]:g} s, {run.name}: R² "
        + ", ".join(f"{axis.axis} {axis.r2:.2f}" if axis.moved else f"{axis.axis} at rest" for axis in run.axes)
        for run in runs
    ]


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
    known = np.array([t.inside_known_gains for t in found])
    relative = 100 * np.sqrt(np.mean(np.array([t.errors_known_gains for t in found]) ** 2))
    out().print(
        f"coverage: {inside.sum()} of {inside.size}; were the thrusters' gains known: {known.sum()} of {known.size}, "
        f"RMS error {relative:.2f} %", highlight=False, soft_wrap=True,
    )  # fmt: skip


def _closed_loop(vehicle: str, parameter_set: str | None, condition: str, seeds: range, level: float | None) -> None:
    from rich.table import Table

    from shoal.console import out
    from shoal.identification.closed_loop import closed_loops

    def both(before: float | None, after: float | None, form: str) -> str:
        return " → ".join("–" if x is None else format(x, form) for x in (before, after))

    for found in closed_loops(vehicle, parameter_set, condition, seeds, level):
        columns = "condition", "path", "path error RMS, m", "thrust RMS, N", "thrust change per period, N"
        table = Table(*columns, title=f"seed {found.seed}: file → identified", title_justify="left")
        for run in found.runs:
            cells = zip(run.described, run.identified, (".4f", ".2f", ".2f"), strict=True)
            table.add_row(run.condition, run.path, *(both(*cell) for cell in cells))
        out().print(table)
        speeds = found.speeds_described, found.speeds_identified, found.speeds_true
        words = (
            f"{name} " + "/".join(f"{v:.2f}" for v in s)
            for name, s in zip(("file", "fit", "true"), speeds, strict=True)
        )
        out().print(f"top speeds, surge/sway/heave down, m/s: {', '.join(words)}", highlight=False, soft_wrap=True)


def _flown(
    prior: Vehicle, vehicle: str, parameter_set: str | None, excitation: ControllerFile, condition: str, seed: int
) -> list[MotionData]:
    from shoal.identification.excited import FLOWN_S, fly_simulated

    _tell(f"exciting {prior.name} for {FLOWN_S:g} s in the simulator ({condition}, seed {seed})")
    return _kept(fly_simulated(vehicle, parameter_set, excitation, condition, seed))


def _flown_on_ros(
    prior: Vehicle, fleet: str, plant: str, excitation: ControllerFile, condition: str, seed: int, record: Path | None
) -> list[MotionData]:
    import tempfile

    from shoal.identification.excited import FLOWN_S, fly_on_ros

    where = "the built-in plant" if plant == "builtin" else "whatever brings odometry"
    _tell(f"exciting {prior.name} for {FLOWN_S:g} s on ROS ({where})")
    with tempfile.TemporaryDirectory(prefix="shoal-excited-") as scratch:
        folder = Path(scratch) / "excited" if record is None else record
        return _kept(fly_on_ros(fleet, plant, excitation, condition, seed, folder))


def _kept(flown: Flown) -> list[MotionData]:
    if flown.stopped:
        _tell(f"excitation {flown.stopped}; fitted is what was recorded until then")
    return list(flown.pieces)


def _tell(text: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(text, highlight=False, soft_wrap=True)


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
