"""`shoal docs …`: pages of the manual that are made from the code."""

from __future__ import annotations

from pathlib import Path

import typer

from shoal.commands._outputs import ANY

docs = typer.Typer(no_args_is_help=True, help="Pages of the manual that are made from the code.")


@docs.command("topics")
def topics(
    out: Path = typer.Option(None, "--out", "-o", callback=ANY, help="File to write; printed if not given."),
) -> None:
    """The table of topics: names, types, QoS, who publishes and who subscribes."""
    from shoal.config import atomic
    from shoal.reports.topics_page import topics_page

    if out is None:
        print(topics_page(), end="")
    else:
        atomic.write_text(out, topics_page())


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(docs, name="docs")
