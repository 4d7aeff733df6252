"""Controllers by name, with their files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.config.files import find_config, list_configs, load_yaml, unknown, validate
from shoal.control.base import Controller
from shoal.errors import ShoalError, in_file
from shoal.plugins import find, is_dotted

CONTROLLERS = {
    "nmpc": "shoal.control.nmpc.controller:NmpcController",
    "pid": "shoal.control.pid:PidController",
    "excitation": "shoal.control.excitation:ExcitationController",
    "autopilot": "shoal.autopilot.autopilot:AutopilotController",
    "platform_pid": "shoal.platform.controller:PlatformPidController",
    "dompc": "shoal.baselines.dompc:DompcController",
}


class ControllerFile(FileModel):
    """`config/controllers/*.yaml`: a class, its settings, and those of what is around it."""

    version: int = Field(ge=1, le=1)
    name: str = ""  # from the file name
    description: str = ""
    controller: str = Field(description="shipped name or package.module:Name")
    settings: dict[str, Any] = Field(default_factory=dict, description="the controller's own")
    runtime: dict[str, Any] = Field(default_factory=dict, description="of estimator, gate, monitor, neighbours")


def load_controller_file(name_or_path: str | Path) -> ControllerFile:
    """By shipped name, by file, or a class of one's own with its defaults. Its class and settings are checked."""
    text = str(name_or_path)
    if is_dotted(text):
        file = ControllerFile(version=1, name=text, controller=text)
        controller_settings(file)
        return file
    try:
        path = find_config("controllers", text)
    except ShoalError:
        if Path(text).suffix in {".yaml", ".yml"}:
            raise
        words = unknown(text, list_configs("controllers"), "a file, your own package.module:Name")
        raise ShoalError(f"controller: {words}") from None
    file = load_yaml(path, ControllerFile)
    file = file if file.name else file.model_copy(update={"name": path.stem})
    with in_file(path):
        controller_settings(file)
    return file


def controller_class(file: ControllerFile) -> type[Controller]:
    """The class that the file names."""
    found = find("controller", file.controller, CONTROLLERS)
    if not (isinstance(found, type) and issubclass(found, Controller)):
        raise ShoalError(f"controller = '{file.controller}': expected a class derived from shoal.Controller")
    return found


def controller_settings(file: ControllerFile, given: Mapping[str, Any] | None = None) -> FileModel:
    """The class's own settings, with `given` on top of the file's."""
    data = {**file.settings, **(given or {})}
    return validate(Path(f"controller {file.name or file.controller}"), data, controller_class(file).Settings)
