"""`shoal bench plant | … | all`: how fast, measured here and now."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shoal.commands._bench_solver import add_commands
from shoal.commands._outputs import ANY

if TYPE_CHECKING:
    from shoal.benchmarks.result import Result

# Name → "module:function", function(quick: bool) -> shoal.benchmarks.result.Result. A line here makes a command.
BENCHES = {
    "plant": "shoal.benchmarks.plant:run",
    "solver": "shoal.benchmarks.solver:run",
    "growth": "shoal.benchmarks.growth:run",
    "exchange": "shoal.benchmarks.exchange:run",
    "fleet": "shoal.benchmarks.fleet:run",
    "allocation": "shoal.benchmarks.allocation:run",
    "patrol": "shoal.benchmarks.patrol:run",
    "env": "shoal.benchmarks.env:run",
    "assembly": "shoal.benchmarks.assembly:run",
    "ros": "shoal_ros.bench:run",
}
WITH_OPTIONS = ("solver", "growth")  # whose commands are in _bench_solver, with options of their own

app = typer.Typer(no_args_is_help=True, help="Benchmarks; `all` runs every one.")


def _bench(names: list[str], quick: bool, json_file: Path | None) -> None:
    results = []
    for name in names:
        module, function = BENCHES[name].split(":")
        result: Result = getattr(importlib.import_module(module), function)(quick)
        _show(result)
        results.append(result)
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps([r.as_json() for r in results], indent=2) + "\n", encoding="utf-8")


def _show(result: Result) -> None:
    from rich import box
    from rich.table import Table

    from shoal.console import out

    table = Table("", title=result.title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("value", justify="right")
    table.add_column("unit")
    table.add_column("")
    for row in result.rows:
        big = abs(row.value) >= 1000
        table.add_row(row.label, f"{row.value:,.0f}" if big else f"{row.value:.3g}", row.unit, row.note)
    console = out()
    console.print(table)
    for note in result.notes:
        console.print(note)


def _command(name: str, names: list[str]) -> None:
    def command(
        quick: bool = typer.Option(False, "--quick", help="A rough figure in a second."),
        json_file: Path = typer.Option(None, "--json", callback=ANY, help="Also write the figures to this file."),
    ) -> None:
        _bench(names, quick, json_file)

    help_text = "All of them." if name == "all" else f"The {name}."
    app.command(name, help=help_text)(command)


for _name in BENCHES:
    if _name not in WITH_OPTIONS:
        _command(_name, [_name])
add_commands(app)
_command("all", list(BENCHES))


def register(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(app, name="bench")
