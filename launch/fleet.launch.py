"""A fleet with the built-in plant: ros2 launch shoal_bringup fleet.launch.py fleet:=two path:=circle

The same nodes as `shoal up`. With plant:=none clock and odometry come from elsewhere: Gazebo or real vehicles.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from shoal_ros.launch_arguments import KEYSTORE, NETWORK, YES_NO, Arguments, chosen, describe

ARGUMENTS: Arguments = {
    "fleet": ("two", "Fleet name, file or number of vehicles.", None),
    "path": ("", "Standard test, path name or file to follow; empty to hold station.", None),
    "plant": ("builtin", "builtin, or none where others bring odometry.", ["builtin", "none"]),
    "use_sim_time": ("auto", "auto: with the built-in plant.", ["auto", *YES_NO]),
    "condition": ("default", "Water, sensors, link and what is believed: name or file.", None),
    "seed": ("0", "Of everything that is drawn.", None),
    "rate": ("1.0", "Times real time; 0 as fast as it goes.", None),
    "duration": ("0.0", "Simulated seconds to run; 0 until stopped.", None),
    "relay": ("auto", "Plans through the link model; auto: when the condition asks for it.", ["auto", *YES_NO]),
    "display": ("true", "Markers and tf for RViz and Foxglove.", YES_NO),
    "record": ("", "Folder for the recording; empty for none.", None),
    "controller": ("", "Name, file or package.module:Name; empty for the fleet file's.", None),
    "task": ("", "Task that gives the start: name or package.module:Name.", None),
    "state_dir": ("", "Folder that remembers STOP over restarts; empty: new for a simulated run.", None),
    "network": NETWORK,
    "keystore": KEYSTORE,
}


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` calls."""
    return describe(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Any]:
    """The nodes, once the arguments are known. Imports wait until here, so that --show-args works without them."""
    from shoal_ros.launching import launch_actions, run_state, switch
    from shoal_ros.node_list import fleet_nodes

    given = chosen(context, ARGUMENTS)
    rate, duration_s = float(given["rate"]), float(given["duration"])
    nodes = fleet_nodes(
        given["fleet"],
        path=given["path"],
        plant=given["plant"],
        use_sim_time=switch(given, "use_sim_time"),
        condition=given["condition"],
        seed=int(given["seed"]),
        rate=rate,
        lockstep=rate == 0.0,
        duration_s=duration_s,
        use_relay=switch(given, "relay"),
        display=given["display"] == "true",
        record=given["record"],
        controller=given["controller"],
        task=given["task"],
        state_dir=run_state(given["state_dir"], simulated=given["plant"] == "builtin"),
    )
    return launch_actions(nodes, given["network"] == "true", given["keystore"], ends_with_plant=duration_s > 0)
