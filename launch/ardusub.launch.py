"""A fleet of ArduSub vehicles: ros2 launch shoal_bringup ardusub.launch.py fleet:=two path:=circle

Bridges, controllers and guidance. Nothing is armed: that is asked for with the service /<vehicle>/mavlink_bridge/arm.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from shoal_ros.launch_arguments import KEYSTORE, NETWORK, YES_NO, Arguments, chosen, describe

ARGUMENTS: Arguments = {
    "fleet": ("two", "Fleet name or file.", None),
    "links": ("", "NAME=LINK pairs separated by commas; else UDP 14550, 14551 … in the fleet's order.", None),
    "position_source": ("vehicle", "The autopilot's own, or one from outside.", ["vehicle", "pose", "odometry"]),
    "bridge": ("", "NAME=VALUE pairs separated by commas: parameters of all bridges, such as route=outputs.", None),
    "path": ("", "Standard test, path name or file to follow; empty to hold station.", None),
    "condition": ("default", "What is believed of the vehicles: name or file.", None),
    "display": ("true", "Markers and tf for RViz and Foxglove.", YES_NO),
    "record": ("", "Folder for the recording; empty for none.", None),
    "controller": ("", "Name, file or package.module:Name; empty for the fleet file's.", None),
    "state_dir": ("", "Folder that remembers STOP over restarts; empty: the user's state folder.", None),
    "network": NETWORK,
    "keystore": KEYSTORE,
}


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` calls."""
    return describe(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Any]:
    """The nodes, once the arguments are known."""
    from shoal_mavlink.nodes import ardusub_nodes
    from shoal_ros.launching import launch_actions

    given = chosen(context, ARGUMENTS)
    nodes = ardusub_nodes(
        given["fleet"],
        given["links"],
        given["position_source"],
        given["bridge"],
        path=given["path"],
        condition=given["condition"],
        display=given["display"] == "true",
        record=given["record"],
        controller=given["controller"],
        state_dir=given["state_dir"],
    )
    return launch_actions(nodes, given["network"] == "true", given["keystore"])
