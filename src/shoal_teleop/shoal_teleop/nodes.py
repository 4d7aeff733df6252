"""Which nodes make up teleop; the launch file and the tests read this. No ROS import."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import ShoalError
from shoal_ros.node_list import NodeSpec
from shoal_teleop.layout import load_layout

DRIVERS = ("shoal", "joy", "none")


def teleop_nodes(layout: str = "xbox", driver: str = "shoal", device: int = 0) -> list[NodeSpec]:
    """The pad's driver (ours, the `joy` package's, or somebody else's) and the node that gives it a meaning."""
    if driver not in DRIVERS:
        raise ShoalError(f"driver = '{driver}'; expected one of: {', '.join(DRIVERS)}")
    load_layout(layout)  # a typing error is best reported before anything starts
    named = str(Path(layout).resolve()) if Path(layout).is_file() else layout
    nodes = [NodeSpec("shoal_teleop", "teleop", "teleop", parameters={"layout": named})]
    if driver == "shoal":
        nodes.append(NodeSpec("shoal_teleop", "joystick", "joystick", parameters={"device": device}))
    elif driver == "joy":
        # Without its autorepeat a stick held still would look like one that was unplugged.
        about = {"device_id": device, "autorepeat_rate": 20.0}
        nodes.append(NodeSpec("joy", "joy_node", "joy", parameters=about))
    return nodes
