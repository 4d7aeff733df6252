"""`shoal platform steps`: step responses of vessels and platforms, the thesis's controller beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from shoal.evaluation.step_response import StepInfo

app = typer.Typer(no_args_is_help=True, help="Platforms of joined vessels: step responses, blueprints.")
# Boogmans 2021, Tables 6.2 to 6.7, means: rise, settling (s), overshoot (%), peak (s).
MEASURED = {
    ("vessel", "surge"): (2.5876, 27.132, 36.0721, 7.2288),
    ("vessel", "sway"): (4.3006, 33.2841, 32.2873, 11.0471),
    ("vessel", "yaw"): (1.0107, 6.1164, 35.829, 2.3432),
    ("vessels_3x1", "surge"): (2.9232, 38.2453, 37.437, 7.6737),
    ("vessels_3x1", "sway"): (3.9512, 32.8209, 32.2865, 10.4886),
    ("vessels_3x1", "yaw"): (1.3138, 15.5119, 37.7811, 2.8033),
}
RISE_S, SETTLING_S, OVERSHOOT = 10.0, 40.0, 0.50  # criteria of its Table 5.1


@app.callback()
def _group() -> None:
    pass


@app.command("steps")
def steps(
    fleets: str = typer.Option("vessel,vessels_3x1", help="Fleets of one vehicle, separated by commas."),
    controllers: str = typer.Option("platform_pid,nmpc_vessel", help="Controllers, separated by commas."),
    condition: str = typer.Option("tank", help="Condition of the runs."),
    seeds: str = typer.Option("10-12", help="Seeds, such as 10-12; the worst of them is shown."),
) -> None:
    """Steps ahead, sideways and in heading: worst values over the seeds, and the thesis's measured ones."""
    from rich.table import Table

    from shoal.console import out
    from shoal.evaluation.step_response import step_of
    from shoal.tasks.run import RunSpec, simulate

    chosen = _seeds(seeds)
    table = Table(
        "fleet", "axis", "controller", r"rise \[s]", r"settling \[s]", r"overshoot \[%]", r"peak \[s]", "steady error",
        "Table 5.1", title=f"Step responses, condition {condition}, seeds {seeds}: worst", title_justify="left",
    )  # fmt: skip
    for fleet in fleets.split(","):
        for axis in ("surge", "sway", "yaw"):
            if (fleet, axis) in MEASURED:
                rise, settling, overshoot, peak = MEASURED[fleet, axis]
                numbers = f"{rise:.2f}", f"{settling:.1f}", f"{overshoot:.1f}", f"{peak:.1f}"
                table.add_row(fleet, axis, "measured (Boogmans 2021)", *numbers, "", "")
            for controller in controllers.split(","):
                found: list[StepInfo] = []
                for seed in chosen:
                    spec = RunSpec(
                        fleet=fleet, condition=condition, controller=controller, seed=seed, task="step_response",
                        task_settings={"axis": axis},
                    )  # fmt: skip
                    info = step_of(simulate(spec))
                    assert info is not None
                    found.append(info)
                table.add_row(fleet, axis, controller, *_row(found, "rad" if axis == "yaw" else "m"))
    out().print(table)


@app.command("plan")
def plan(
    blueprint: str = typer.Argument(help="Name of a blueprint, or a file."),
    into: str = typer.Option(None, help="Another blueprint: how the one is reshaped into the other."),
) -> None:
    """In which rounds a platform is built, or which vessels move to reshape it."""
    from rich.table import Table

    from shoal.console import out
    from shoal.platform.blueprint import load_blueprint
    from shoal.platform.planner import building_order, reshaping

    found = load_blueprint(blueprint)
    cells = found.cells
    if into is not None:
        shift, moves = reshaping(found.type_of, load_blueprint(into).type_of)
        table = Table("move", "from", "to", title=f"{blueprint} into {into}, shifted by {shift}", title_justify="left")
        for i, move in enumerate(moves, 1):
            table.add_row(str(i), str(move.out.cell), str(move.into.cell))
    else:
        founder, rounds = building_order(cells)
        title = f"{blueprint}: {len(cells)} vessels, founder {founder}"
        table = Table("round", "cells (row, column)", title=title, title_justify="left")
        for i, group in enumerate(rounds, 1):
            table.add_row(str(i), "  ".join(str(step.cell) for step in group))
    out().print(table)


@app.command("assemble")
def assemble(
    blueprint: str = typer.Argument("row3", help="Name of a blueprint, or a file."),
    fleet: str = typer.Option("vessels3", help="Vessels, at least as many as the blueprint has cells."),
    controller: str = typer.Option("nmpc_vessel", help="Controller of all vessels and of the platform."),
    condition: str = typer.Option("tank_offsets", help="Condition of the runs."),
    seeds: str = typer.Option("100-109", help="Seeds, such as 100-109."),
    duration_s: float = typer.Option(240.0, min=1.0, help="At most."),
    into: str = typer.Option(None, help="Blueprint that it is reshaped into, once built."),
    results: str = typer.Option(None, help="CSV file to which every seed is added when it is done, and resumed from."),
) -> None:
    """Vessels assemble themselves, without an operator: time, contact speed, tries, for each seed."""
    import math

    import numpy as np
    from rich.table import Table

    from shoal.benchmarks.assemblies import Assembled, campaign
    from shoal.console import out

    names = [r"complete after \[s]", *([r"reshaped after \[s]"] if into else []), r"contact \[cm/s]", "hard touches",
             "rounds", r"given up \[s]", "missing", r"all done \[s]"]  # fmt: skip
    table = Table("seed", *names, title=f"{blueprint} by {fleet}, {controller}, {condition}", title_justify="left")
    settings = {"blueprint": blueprint, "duration_s": duration_s, **({"into": into} if into else {})}
    spec = {"fleet": fleet, "condition": condition, "controller": controller, "task": "assemble",
            "task_settings": settings}  # fmt: skip
    found: list[Assembled] = []
    for one in campaign(spec, _seeds(seeds), None if results is None else Path(results)):
        found.append(one)
        times = [one.complete_s, *([one.reshaped_s] if into else [])]
        given_up = "–" if not one.failed else f"{one.failed}: {one.given_up_s:.0f}"
        table.add_row(
            str(one.seed), *map(_seconds, times), f"{100 * one.contact_mps:.1f}", str(one.hard_touches),
            str(one.rounds), given_up, str(one.missing), _seconds(one.over_s),
        )  # fmt: skip
    console = out()
    console.print(table)
    done = [one.complete_s for one in found if one.complete]
    console.print(f"{len(done)} of {len(found)} complete{_spread(done)}")
    if into:
        again = [one.reshaped_s for one in found if math.isfinite(one.reshaped_s)]
        console.print(f"{len(again)} of {len(found)} reshaped{_spread(again)}")
    touches = np.array([100 * one.contact_mps for one in found])
    worst = max(found, key=lambda one: one.contact_mps)
    console.print(
        f"first touches: hardest of each run {np.median(touches):.1f} cm/s (median), {int((touches > 2).sum())} of "
        f"{len(found)} runs above 2 cm/s; the hardest {touches.max():.1f} cm/s, seed {worst.seed} at {worst.contact}"
    )
    away_mm = [one.away_mm for one in found if math.isfinite(one.away_mm)]
    if away_mm:
        console.print(f"relative motion of members once complete: at most {max(away_mm):.3f} mm")


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value == value else "–"


def _spread(times_s: Sequence[float]) -> str:
    import numpy as np

    if not times_s:
        return ""
    low, middle, late, high = np.percentile(times_s, [0, 50, 90, 100])
    return f", median {middle:.1f} s ({low:.1f} to {high:.1f} s, 90 % within {late:.1f} s)"


@app.command("paths")
def paths(
    blueprints: str = typer.Argument(
        "single,row2,row3,block2x3,block3x4,block4x5,corner,tee,ring", help="Names, separated by commas."
    ),
    controller: str = typer.Option("nmpc_vessel", help="Controller of all of them."),
    condition: str = typer.Option("tank", help="Condition of the runs."),
    seeds: str = typer.Option("10-11", help="Seeds, such as 10-12; the worst of them is shown."),
) -> None:
    """Platforms of all shapes follow a path and make steps: error, overshoot, settling, time of a control step."""
    from rich.table import Table

    from shoal.benchmarks.platforms import PATH, figures_of
    from shoal.console import out

    table = Table("platform", "vessels", r"error on the path: mean, 95 % \[cm]", "overshoot: surge, sway, yaw \\[%]",
                  r"settling \[s]", r"step: median, 99 % \[ms]",
                  title=f"{controller}, {condition}, seeds {seeds}, path {PATH}", title_justify="left")  # fmt: skip
    console = out()
    for name in blueprints.split(","):
        f = figures_of(name, condition, controller, _seeds(seeds))
        axes = ("surge", "sway", "yaw")
        table.add_row(
            name,
            str(f.vessels),
            f"{100 * f.error_mean_m:.1f}, {100 * f.error_p95_m:.1f}",
            ", ".join(f"{100 * f.overshoot[a]:.1f}" for a in axes),
            ", ".join(f"{f.settling_s[a]:.1f}" for a in axes),
            f"{f.step_ms:.2f}, {f.step_p99_ms:.2f}",
        )
    console.print(table)


@app.command("thesis")
def thesis(
    condition: str = typer.Option("tank_offsets", help="Condition of the runs."),
    seeds: str = typer.Option("1-9", help="Seeds, such as 1-9."),
) -> None:
    """The thesis's own assembly with its controller (E9: limits bypassed): when hulls touch, and when magnets catch."""
    import numpy as np
    from rich.table import Table

    from shoal.console import out
    from shoal.control.registry import load_controller_file
    from shoal.tasks.assemble_thesis import AssembleThesis
    from shoal.tasks.run import RunSpec, build_run

    file = load_controller_file("platform_pid").model_copy(update={"settings": {"legacy": {"limits_bypassed": True}}})
    held: list[tuple[float, float]] = []  # lasting contact, latched
    missed = 0
    table = Table("seed", "vessel", r"first touch \[s]", r"lasting contact \[s]", r"latched \[s]",
                  title=f"After the approach is ordered, {condition}; in the tank 13 s and 69 s")  # fmt: skip
    for seed in _seeds(seeds):
        run = build_run(
            RunSpec(fleet="vessels3", condition=condition, controller=file, seed=seed, task="assemble_thesis")
        )
        task, world = run.task, run.simulator.world
        assert isinstance(task, AssembleThesis)
        run.simulator.run(None, lambda t_s, task=task, world=world: task.finished(t_s, world.states))  # type: ignore[misc]
        recording = run.recording()
        for outer in (world.names[0], world.names[2]):
            times_s = task.contact_s(outer), task.lasting_s(outer, recording), task.latched_s.get(outer)
            table.add_row(str(seed), outer, *("–" if t_s is None else f"{t_s:.1f}" for t_s in times_s))
            _, lasting_s, latched_s = times_s
            if lasting_s is None or latched_s is None:
                missed += 1
            else:
                held.append((min(lasting_s, latched_s), latched_s))
    console = out()
    console.print(table)
    if held:
        lasting, latched = np.median(held, axis=0)
        console.print(
            f"{len(held)} latched, {missed} not; medians: lasting contact {lasting:.1f} s, latched {latched:.1f} s"
        )


def _row(found: Sequence[StepInfo], unit: str) -> list[str]:
    import numpy as np

    def worst(name: str) -> float:
        return float(np.max([getattr(info, name) for info in found]))  # not-a-number stays

    def meets(info: StepInfo) -> bool:
        rise, settling, over = (float(getattr(info, n)) for n in ("rise_s", "settling_s", "overshoot"))
        return rise < RISE_S and settling < SETTLING_S and over < OVERSHOOT

    met = sum(meets(info) for info in found)
    settling = worst("settling_s")
    return [
        f"{worst('rise_s'):.2f}",
        "never" if np.isnan(settling) else f"{settling:.1f}",
        f"{100 * worst('overshoot'):.1f}",
        f"{worst('peak_s'):.1f}",
        f"{worst('steady_error'):.4f} {unit}",
        f"{met} of {len(found)}",
    ]


def _seeds(text: str) -> range:
    from shoal.errors import ShoalError

    first, _, last = text.partition("-")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        raise ShoalError(f"seeds = '{text}': expected a number or a range such as 10-12") from None
    if not found:
        raise ShoalError(f"seeds = '{text}': is empty; expected a range such as 10-12")
    return found


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="platform")
