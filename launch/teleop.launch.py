"""A game pad for the fleet: ros2 launch shoal_bringup teleop.launch.py layout:=xbox driver:=joy"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from shoal_ros.launch_arguments import KEYSTORE, YES_NO, Arguments, chosen, describe

ARGUMENTS: Arguments = {
    "layout": ("xbox", "Joystick file, or the name of one in config/joysticks.", None),
    "driver": ("shoal", "Who reads the pad: shoal's own driver, the joy package, or none.", ["shoal", "joy", "none"]),
    "device": ("0", "Which pad, counted from 0.", None),
    "network": ("false", "The fleet runs on other machines.", YES_NO),
    "keystore": KEYSTORE,
}


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` calls."""
    return describe(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Any]:
    """Everything, once the arguments are known. Imports wait until here, so that --show-args works without them."""
    from shoal_ros.launching import launch_actions
    from shoal_teleop.nodes import teleop_nodes

    given = chosen(context, ARGUMENTS)
    nodes = teleop_nodes(given["layout"], given["driver"], int(given["device"]))
    return launch_actions(nodes, given["network"] == "true", given["keystore"])
