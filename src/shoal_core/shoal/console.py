"""Where the command line writes: results to stdout, complaints to stderr, one sentence each."""

from __future__ import annotations

import sys
import warnings
from typing import TextIO

from rich.console import Console

from shoal.errors import ShoalWarning


def out() -> Console:
    """For results. Piped output is given room, so that tables are not cut to 80 columns."""
    return Console(width=None if sys.stdout.isatty() else 140)


def print_error(message: str) -> None:
    """`error: …` for every line of the message."""
    _print("error", "bold red", message)


def print_warning(message: str) -> None:
    """`warning: …`."""
    _print("warning", "bold yellow", message)


def _print(word: str, style: str, message: str) -> None:
    err = Console(stderr=True, soft_wrap=True)
    for line in message.splitlines():
        err.print(f"[{style}]{word}:[/] ", end="")
        err.print(line, markup=False, highlight=False)


def show_warnings_as_sentences() -> None:
    """Shoal's own warnings come once each, without file and line of the Python code; others stay as they are."""
    usual = warnings.showwarning
    shown: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, ShoalWarning):
            usual(message, category, filename, lineno, file, line)
        elif str(message) not in shown:
            shown.add(str(message))
            print_warning(str(message))

    warnings.simplefilter("always", ShoalWarning)
    warnings.showwarning = show
