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
