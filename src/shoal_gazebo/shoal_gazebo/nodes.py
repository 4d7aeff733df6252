"""What runs beside Gazebo for a fleet, as the same kind of list that `shoal_ros.node_list` makes. No ROS import."""

from __future__ import annotations

from shoal_gazebo.bringup import Preparation
from shoal_ros.node_list import NodeSpec, Value, fleet_name, fleet_nodes

# What the controllers assume of Gazebo's time. Its Thruster applies a command in the next physics step: no lag, where
# the vehicle description has 0.15 s for the real ones; a controller that overdrives a lag that is not there tumbles.
# From odometry to thrust it takes two hops through the bridge: 5 ms swims smoothly in Gazebo, 50 ms oscillates.
THRUSTER_LAG_S = 0.0
ACTUATION_DELAY_S = 0.005


def gazebo_nodes(ready: Preparation, state_dir: str = "") -> list[NodeSpec]:
    """Bridges, clock and watchdog; all on from the start, so that no vehicle swims unwatched."""
    nodes = [
        NodeSpec("ros_gz_bridge", "parameter_bridge", f"bridge_{name}", parameters={"config_file": str(path)})
        for name, path in ready.bridge_files.items()
    ]
    nodes.append(NodeSpec("shoal_gazebo", "clock_relay", "clock_relay"))
    watched: dict[str, Value] = {"fleet": fleet_name(ready.fleet_file)}
    if state_dir:
        watched["state_dir"] = state_dir
    nodes.append(NodeSpec("shoal_gazebo", "thrust_watchdog", "thrust_watchdog", parameters=watched))
    if ready.latches:
        kept = {**watched, "use_sim_time": True}
        nodes.append(NodeSpec("shoal_gazebo", "port_keeper", "port_keeper", parameters=kept))
    return nodes


def swimming_nodes(
    ready: Preparation,
    thruster_lag_s: float = THRUSTER_LAG_S,
    actuation_delay_s: float = ACTUATION_DELAY_S,
    **options: object,
) -> list[NodeSpec]:
    """Controllers, guidance, display, recorder: those of `fleet.launch.py`, with Gazebo for a plant."""
    nodes = fleet_nodes(ready.fleet_file, plant="none", use_sim_time=True, **options)
    return [
        node.changed(thruster_lag_s=thruster_lag_s, actuation_delay_s=actuation_delay_s)
        if node.executable == "mpc"
        else node
        for node in nodes
    ]
