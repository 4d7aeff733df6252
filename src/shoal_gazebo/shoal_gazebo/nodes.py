"""What runs beside Gazebo for a fleet, as the same kind of list that `shoal_ros.node_list` makes. No ROS import."""

from __future__ import annotations

from shoal_gazebo.bringup import Preparation
from shoal_ros.node_list import NodeSpec, Value, fleet_name, fleet_nodes


def gazebo_nodes(ready: Preparation) -> list[NodeSpec]:
    """Bridges, clock and watchdog; all on from the start, so that no vehicle swims unwatched."""
    nodes = [
        NodeSpec("ros_gz_bridge", "parameter_bridge", f"bridge_{name}", parameters={"config_file": str(path)})
        for name, path in ready.bridge_files.items()
    ]
    nodes.append(NodeSpec("shoal_gazebo", "clock_relay", "clock_relay"))
    watched: dict[str, Value] = {"fleet": fleet_name(ready.fleet_file), "use_sim_time": True}
    nodes.append(NodeSpec("shoal_gazebo", "thrust_watchdog", "thrust_watchdog", parameters=watched))
    return nodes


def swimming_nodes(ready: Preparation, **options: object) -> list[NodeSpec]:
    """Controllers, guidance, display, recorder: those of `fleet.launch.py`, with Gazebo for a plant."""
    return fleet_nodes(ready.fleet_file, plant="none", use_sim_time=True, **options)
