"""A stand-in for `launch` and `launch_ros` where ROS 2 is not installed: every name that is asked for is a class that
remembers its arguments. Enough to run a launch file's own code; whether ROS accepts it is tried with the real ones."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

MODULES = (
    "launch", "launch.actions", "launch.event_handlers", "launch.launch_description_sources", "launch.substitutions",
    "launch_ros", "launch_ros.actions", "launch_ros.substitutions",
)  # fmt: skip


class Action:
    """Anything."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.arguments, self.options = arguments, options

    def perform(self, context: Any) -> str:
        """As a LaunchConfiguration does."""
        return str(context.launch_configurations[self.arguments[0]])


class StandIn(ModuleType):
    """A module of such classes."""

    def __getattr__(self, name: str) -> type[Action]:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Action,), {})
        setattr(self, name, made)
        return made


def install(monkeypatch: Any) -> None:
    """For the time of one test."""
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, StandIn(name))
