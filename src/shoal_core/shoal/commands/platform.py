"""`shoal platform steps`: step responses of vessels and platforms, the thesis's controller beside ours."""

from __future__ import annotations

from collections.abc import Sequence
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

    cells = load_blueprint(blueprint).cells
    if into is not None:
        shift, moves = reshaping(cells, load_blueprint(into).cells)
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
) -> None:
    """Vessels assemble themselves, without an operator: time, contact speed, tries, for each seed."""
    import numpy as np
    from rich.table import Table

    from shoal.console import out
    from shoal.tasks.assemble import Assemble
    from shoal.tasks.run import RunSpec, build_run

    table = Table("seed", r"complete after \[s]", r"hardest contact \[cm/s]", "rounds", "given up", "missing",
                  title=f"{blueprint} by {fleet}, {controller}, {condition}", title_justify="left")  # fmt: skip
    times_s: list[float] = []
    chosen = _seeds(seeds)
    for seed in chosen:
        settings = {"blueprint": blueprint, "duration_s": duration_s}
        run = build_run(
            RunSpec(fleet=fleet, condition=condition, controller=controller, seed=seed, task="assemble",
                    task_settings=settings)
        )  # fmt: skip
        task, world = run.task, run.simulator.world
        assert isinstance(task, Assemble)
        run.simulator.run(None, lambda t_s, task=task, world=world: task.finished(t_s, world.states))  # type: ignore[misc]
        outcome, manager = run.recording().outcome, task.manager
        reached_s = None if outcome is None else outcome.reached_s
        if reached_s is not None:
            times_s.append(reached_s)
        missing = len(manager.cells) - len(manager.members)
        cells = "–" if reached_s is None else f"{reached_s:.1f}", f"{100 * task.hardest_contact_mps:.1f}"
        table.add_row(str(seed), *cells, str(manager.rounds_begun), str(len(manager.failed)), str(missing))
    console = out()
    console.print(table)
    median = f"median {np.median(times_s):.1f} s" if times_s else "no time"
    console.print(f"{len(times_s)} of {len(chosen)} complete, {median}")


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
