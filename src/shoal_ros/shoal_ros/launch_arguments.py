"""Arguments of our launch files: declared, and read when a launch begins. Imports nothing else of ours: --show-args
shall answer where a dependency is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Arguments = dict[str, tuple[str, str, list[str] | None]]  # name: default, meaning, choices

YES_NO = ["true", "false"]
KEYSTORE = ("", "SROS 2 key store: only nodes with keys may talk.", None)
NETWORK = ("false", "Be reachable from other machines.", YES_NO)


def describe(arguments: Arguments, start: Callable[[Any], list[Any]]) -> Any:
    """The LaunchDescription: `start(context)` makes the actions once the arguments are known."""
    from launch.actions import DeclareLaunchArgument, OpaqueFunction

    from launch import LaunchDescription  # type: ignore[attr-defined]  # our own folder has the same name

    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, (default, text, choices) in arguments.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def chosen(context: Any, arguments: Iterable[str]) -> dict[str, str]:
    """What was given for each, or its default."""
    from launch.substitutions import LaunchConfiguration

    return {name: LaunchConfiguration(name).perform(context) for name in arguments}
