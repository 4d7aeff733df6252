"""One vehicle's controller on its own computer: ros2 launch shoal_bringup vehicle.launch.py vehicle:=rov1

Guidance and the operator run elsewhere; so this one uses the network by default.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from shoal_ros.launch_arguments import KEYSTORE, YES_NO, Arguments, chosen, describe

ARGUMENTS: Arguments = {
    "fleet": ("two", "Fleet name or file, the same on all computers.", None),
    "vehicle": ("", "Our name in the fleet.", None),
    "condition": ("default", "What is believed of the vehicle: name or file.", None),
    "controller": ("", "Name, file or package.module:Name; empty for the fleet file's.", None),
    "state_dir": ("", "Folder that remembers STOP over restarts; empty: the user's state folder.", None),
    "use_sim_time": ("false", "Time from /clock.", YES_NO),
    "relay": ("false", "Receive plans through the relay.", YES_NO),
    "network": ("true", "Be reachable from other machines.", YES_NO),
    "keystore": KEYSTORE,
}


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` calls."""
    return describe(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Any]:
    """The controller, once the arguments are known."""
    from shoal_ros.launching import launch_actions, switch
    from shoal_ros.node_list import vehicle_node

    given = chosen(context, ARGUMENTS)
    node = vehicle_node(
        given["fleet"],
        given["vehicle"],
        plant="none",
        condition=given["condition"],
        controller=given["controller"],
        state_dir=given["state_dir"],
        use_sim_time=given["use_sim_time"] == "true",
        use_relay=switch(given, "relay"),
    )
    return launch_actions([node], given["network"] == "true", given["keystore"])
