"""No setting that a file may have is left unread by the code."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import shoal
from shoal.config.file_model import FileModel
from shoal.config.files import config_roots

CONFIG = next(iter(config_roots()))
FOR_READERS = {"version", "source", "unit", "authors"}
ROOMS = (
    "campaigns",
    "control",
    "estimation",
    "evaluation",
    "fleet",
    "guidance",
    "messages",
    "simulation",
    "tasks",
    "vehicles",
)


def test_every_setting_that_a_file_may_have_is_read_somewhere() -> None:
    """A gate once had a `blind_s` with a unit, a description and a ROS parameter, which nothing used."""
    for room in ROOMS:
        for module in pkgutil.walk_packages([str(Path(shoal.__path__[0]) / room)], f"shoal.{room}."):
            importlib.import_module(module.name)
    text = "\n".join(f.read_text(encoding="utf-8") for f in (CONFIG.parent / "src").glob("shoal_*/shoal*/**/*.py"))
    unread = [
        f"{model.__name__}.{name}"
        for model in sorted(models(FileModel), key=lambda m: m.__name__)
        for name in model.model_fields
        if name not in FOR_READERS and not re.search(rf"\.{name}\b", text)
    ]
    assert unread == []


def models(base: type[FileModel]) -> Iterator[type[FileModel]]:
    for found in base.__subclasses__():
        if found.__module__.startswith("shoal."):
            yield found
        yield from models(found)
