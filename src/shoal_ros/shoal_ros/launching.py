"""The list of nodes for `ros2 launch`. Imports launch_ros where it is used: it is not among the PyPI wheels."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from shoal_ros.node_list import NodeSpec

RESPAWN_S = 1.0
NEVER_AGAIN = ("dynamics", "recorder")  # a plant that comes back is another run; a recorder would write over the first


def launch_actions(specs: Sequence[NodeSpec], network: bool, ends_with_plant: bool = False) -> list[Any]:
    """One launch_ros Node for each, kept to this machine unless asked otherwise."""
    from launch.actions import SetEnvironmentVariable

    reach = "SUBNET" if network else "LOCALHOST"
    return [
        SetEnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", reach),
        *(_action(spec, ends_with_plant and spec.executable == "dynamics") for spec in specs),
    ]


def _action(spec: NodeSpec, ends_all: bool) -> Any:
    from launch.actions import Shutdown
    from launch_ros.actions import Node

    again = spec.executable not in NEVER_AGAIN
    return Node(
        package=spec.package,
        executable=spec.executable,
        name=spec.name,
        namespace=spec.namespace,
        parameters=[dict(spec.parameters)],
        remappings=list(spec.remappings),
        output="screen",
        emulate_tty=True,
        respawn=again,
        respawn_delay=RESPAWN_S if again else None,
        on_exit=[Shutdown(reason="the plant has ended")] if ends_all else None,
    )


def run_state(given: str, simulated: bool) -> str:
    """A folder for what must survive a crash of a node. Simulated runs get a new one each: a STOP ends with its run."""
    return given or (tempfile.mkdtemp(prefix="shoal-state-") if simulated else "")


def switch(given: Mapping[str, str], name: str) -> bool | None:
    """`true`, `false`, or `auto` for None."""
    return {"true": True, "false": False}.get(given[name].lower())
