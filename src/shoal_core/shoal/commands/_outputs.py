"""Files that a command writes: a name that cannot be written is refused before anything starts, not after minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from shoal.config.atomic import check_new_file
from shoal.errors import ShoalError


def output_file(*endings: str) -> Callable[[typer.CallbackParam, Path], Path]:
    """`callback=` of an option; `endings`: of which one is expected; none: any name will do."""

    def check(param: typer.CallbackParam, value: Path) -> Path:
        if value is not None:
            option = f"{param.opts[0]} {value}"
            if endings and value.suffix.lower() not in endings:
                raise ShoalError(f"{option}: ending '{value.suffix}'; expected {', '.join(endings)}")
            check_new_file(value, option)
        return value

    return check


PICTURE = output_file(".png", ".svg", ".pdf")
FILM = output_file(".gif", ".mp4", ".png", ".rrd")
PAGE = output_file(".html")
ANY = output_file()
