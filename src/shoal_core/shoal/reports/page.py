"""A self-contained page of figures, tables and pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from shoal.config import atomic


@dataclass(frozen=True)
class Part:
    """One section: what it shows, and a table, a picture or both."""

    title: str
    explain: str
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    picture: str = field(default="", repr=False)  # of `png`


def png(figure: Any) -> str:
    """A matplotlib figure as text."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return base64.b64encode(buffer.getvalue()).decode()


def write_page(
    file: Path, title: str, subtitle: str, figures: Sequence[tuple[str, str, str]], parts: Sequence[Part]
) -> None:
    """`figures`: value, meaning, and good, bad or nothing."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                     undefined=jinja2.StrictUndefined)  # fmt: skip
    page = environment.get_template("page.html.j2")
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(file, page.render(title=title, subtitle=subtitle, figures=figures, parts=parts))
