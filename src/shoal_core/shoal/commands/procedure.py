"""`shoal procedure NAME`: a thesis's identification procedure on synthetic data, beside the true numbers."""

from __future__ import annotations

import typer

NAMES = (
    "bollard_pull", "free_decay", "heave_least_squares", "kinematic_filter", "open_loop_yaw", "rules",
    "thruster_inflow", "towing_tank",
)  # fmt: skip


def procedure(
    name: str = typer.Argument(help=f"One of {', '.join(NAMES)}."),
    seed: int = typer.Option(0, min=0, help="Of the synthetic data's noise."),
) -> None:
    """What the procedures of Nielsen 2018 and Ng 2024 make of data whose numbers are known, and what biases them."""
    import importlib

    from rich.table import Table

    from shoal.config.files import unknown
    from shoal.console import out
    from shoal.errors import ShoalError

    if name not in NAMES:
        raise ShoalError(f"procedure: {unknown(name, NAMES, 'a procedure')}")
    table = Table("quantity", "unit", "true", "found", "beware", title=name, title_justify="left")
    for f in importlib.import_module(f"shoal.identification.procedures.{name}").demonstrate(seed):
        table.add_row(f.name, f.unit, f"{f.true:.4g}", f"{f.found:.4g}", f.caution)
    out().print(table)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(procedure)
