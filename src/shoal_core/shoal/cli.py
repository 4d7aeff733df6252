"""`shoal …`: the command line.

Commands live in `shoal/commands/*.py` and in the sister packages named below; each module has `register(app)`. They
import what is heavy (CasADi, matplotlib, …) inside their functions, so that `shoal --help` answers at once.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import warnings
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

import shoal.commands
from shoal.console import print_error, print_warning, show_warnings_as_sentences
from shoal.errors import ShoalError

# Packages that may bring a `commands` module.
SISTERS = (
    "shoal_ros", "shoal_autopilot", "shoal_gazebo", "shoal_mavlink", "shoal_recorder", "shoal_rqt", "shoal_teleop",
)  # fmt: skip


class _Sentences(TyperGroup):
    """Bad input is one sentence on stderr and exit code 2, as for a wrong option."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            show_warnings_as_sentences()
            try:
                return super().invoke(ctx)
            except ShoalError as error:
                print_error(str(error))
                raise typer.Exit(2) from None


app = typer.Typer(
    name="shoal",
    cls=_Sentences,
    help="Fleets of underwater robots: vehicles, control, simulation, experiments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a bug deserves a plain traceback
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _modules() -> Iterator[str]:
    for info in pkgutil.iter_modules(shoal.commands.__path__, "shoal.commands."):
        if not info.name.rpartition(".")[2].startswith("_"):
            yield info.name
    for package in SISTERS:
        if importlib.util.find_spec(package) and importlib.util.find_spec(f"{package}.commands"):
            yield f"{package}.commands"


def _version(wanted: bool) -> None:
    if wanted:
        print(f"shoal {shoal.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def _register_all() -> None:
    for name in _modules():
        try:
            importlib.import_module(name).register(app)
        except ImportError as error:  # one command's missing library must not take the others along
            print_warning(f"{name}: not available ({error}); expected its libraries to be installed")


_register_all()


def main() -> None:
    """Entry point of the `shoal` script."""
    app()


if __name__ == "__main__":
    main()
