"""A pilot for one vehicle: ros2 launch shoal_bringup pilot.launch.py source:=pad fleet:=one vehicle:=rov1

The vehicle's autopilot is started by fleet.launch.py, vehicle.launch.py or ardusub.launch.py, controller:=autopilot.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from shoal_ros.launch_arguments import KEYSTORE, YES_NO, Arguments, chosen, describe

ARGUMENTS: Arguments = {
    "source": ("web", "What the pilot holds; the keyboard needs a terminal: ros2 run.", ["web", "pad", "csv"]),
    "fleet": ("one", "Fleet name or file.", None),
    "vehicle": ("", "Its name in the fleet; empty: the first.", None),
    "layout": ("xbox", "Joystick file, or the name of one in config/joysticks.", None),
    "device": ("0", "Which pad, counted from 0.", None),
    "course": ("pilot", "Dive: CSV file, or the name of one in config/dives.", None),
    "address": ("127.0.0.1", "The WebSocket's; other than this machine's own: with a token.", None),
    "port": ("8765", "The WebSocket's.", None),
    "token_file": ("", "File whose first line every front end has to send.", None),
    "use_sim_time": ("false", "The vehicle is simulated.", YES_NO),
    "network": ("false", "The vehicle is on another machine.", YES_NO),
    "keystore": KEYSTORE,
}


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` calls."""
    return describe(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Any]:
    """The nodes, once the arguments are known."""
    from shoal_autopilot.nodes import pilot_nodes
    from shoal_ros.launching import launch_actions

    given = chosen(context, ARGUMENTS)
    nodes = pilot_nodes(
        given["source"],
        given["fleet"],
        given["vehicle"],
        given["layout"],
        int(given["device"]),
        given["course"],
        given["address"],
        int(given["port"]),
        given["token_file"],
        given["use_sim_time"] == "true",
    )
    return launch_actions(nodes, given["network"] == "true", given["keystore"])
