"""A game pad for the fleet: ros2 launch shoal_bringup teleop.launch.py layout:=xbox driver:=joy"""

from __future__ import annotations

from typing import Any

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from launch import LaunchContext, LaunchDescription

ARGUMENTS: dict[str, tuple[str, str, list[str] | None]] = {
    "layout": ("xbox", "Joystick file, or the name of one in config/joysticks.", None),
    "driver": ("shoal", "Who reads the pad: shoal's own driver, the joy package, or none.", ["shoal", "joy", "none"]),
    "device": ("0", "Which pad, counted from 0.", None),
    "network": ("false", "The fleet runs on other machines.", ["true", "false"]),
    "keystore": ("", "SROS 2 key store: only nodes with keys may talk.", None),
}


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` calls."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)
        for name, (default, text, choices) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[Any]:
    """Everything, once the arguments are known. Imports wait until here, so that --show-args works without them."""
    from shoal_ros.launching import launch_actions
    from shoal_teleop.nodes import teleop_nodes

    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    nodes = teleop_nodes(given["layout"], given["driver"], int(given["device"]))
    return launch_actions(nodes, given["network"] == "true", given["keystore"])
