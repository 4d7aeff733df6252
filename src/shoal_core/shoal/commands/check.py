"""`shoal check FILE…`: is this configuration file right, and if not, what is wrong with it?"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from shoal.errors import ShoalError

_CONDITION_KEYS = (
    *("plant", "controller_model", "link", "sensors", "environment", "start", "formation", "faults", "reference"),
    *("controller_time", "control_delay_periods"),
)


@dataclass(frozen=True)
class Kind:
    """A kind of file, named like its folder."""

    keys: tuple[str, ...]  # that give it away
    checker: str  # "module:function", path -> a few words on what is in the file
    any_key: bool = False  # one of the keys is enough


KINDS = {
    "vehicles": Kind(("thrusters", "sets"), "shoal.commands._checkers:vehicle"),
    "assemblies": Kind(("modules", "joints"), "shoal.commands._checkers:assembly"),
    "fleets": Kind(("vehicles", "sight", "distance"), "shoal.commands._checkers:fleet", any_key=True),
    "controllers": Kind(("controller",), "shoal.commands._checkers:controller"),
    "campaigns": Kind(("paths", "cells", "task", "runs"), "shoal.commands._checkers:campaign", any_key=True),
    "conditions": Kind(_CONDITION_KEYS, "shoal.commands._checkers:condition", any_key=True),
    "paths": Kind(("waypoints",), "shoal.commands._checkers:path"),
    "reference": Kind(("rows", "bounds"), "shoal.commands._checkers:reference"),
    "blueprints": Kind(("rows", "name"), "shoal.commands._checkers:blueprint"),
    "joysticks": Kind(("axes",), "shoal_teleop.layout:check"),
    "thrusters": Kind(("voltages_V", "forces_N"), "shoal.commands._checkers:thruster"),
}


def kind_of(path: Path, data: dict[str, Any]) -> str:
    """By folder, else by content."""
    if path.resolve().parent.name in KINDS:
        return path.resolve().parent.name
    for name, kind in KINDS.items():
        if (any if kind.any_key else all)(key in data for key in kind.keys):
            return name
    raise ShoalError(
        f"{path}: top level = {sorted(data)[:6]}: cannot determine what kind of file this is; expected one of "
        f"{', '.join(KINDS)}, in a folder of that name or with its keys"
    )


def check_file(path: Path) -> str:
    """One line on what the file holds, or a ShoalError."""
    from shoal.config.files import read_yaml

    if path.is_dir():
        raise ShoalError(f"{path}: is a folder; expected a YAML file")
    kind = kind_of(path, read_yaml(path))
    module, function = KINDS[kind].checker.split(":")
    if importlib.util.find_spec(module.partition(".")[0]) is None:  # a sister package that is not installed
        raise ShoalError(f"{path}: is of kind '{kind}', which nothing in this installation reads")
    return str(getattr(importlib.import_module(module), function)(path))


def check(
    files: list[Path] = typer.Argument(None, help="YAML files of any kind; all that ship with Shoal if none is given."),
) -> None:
    """Check configuration files of any kind; exit code 2 if one is wrong."""
    from shoal.config.files import find_config, list_configs
    from shoal.console import out, print_error

    chosen = files or [find_config(kind, name) for kind in KINDS for name in list_configs(kind)]
    wrong = 0
    for path in chosen:
        try:
            found = check_file(path)
        except ShoalError as error:
            wrong += 1
            print_error(str(error))
        else:
            out().print(f"[green]ok[/]     {path}  [dim]{found}[/]", highlight=False, soft_wrap=True)
    if wrong:
        print_error(f"{wrong} of {len(chosen)} file{'s' * (len(chosen) > 1)} wrong")
        raise typer.Exit(2)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)
