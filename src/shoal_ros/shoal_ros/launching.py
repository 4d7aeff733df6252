"""The list of nodes for `ros2 launch`. Imports launch_ros where it is used: it is not among the PyPI wheels."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal_ros.node_list import NodeSpec
from shoal_ros.reach import check_keystore, reach_environment

RESPAWN_S = 1.0
NEVER_AGAIN = ("dynamics", "recorder")  # a plant that comes back is another run; a recorder would write over the first


def launch_actions(
    specs: Sequence[NodeSpec], network: bool, keystore: str = "", ends_with_plant: bool = False
) -> list[Any]:
    """One launch_ros Node for each, kept to this machine unless asked otherwise, in its enclave with a key store."""
    if keystore:
        check_keystore(Path(keystore), specs)
        specs = [spec.secured() for spec in specs]
    return [
        *reach_actions(network, keystore),
        *(_action(spec, ends_with_plant and spec.executable == "dynamics") for spec in specs),
    ]


def reach_actions(network: bool, keystore: str = "") -> list[Any]:
    """For whatever is started after them."""
    from launch.actions import SetEnvironmentVariable

    chosen = reach_environment(network, Path(keystore) if keystore else None)
    return [SetEnvironmentVariable(name, value) for name, value in chosen.items()]


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
        ros_arguments=["--enclave", spec.enclave] if spec.enclave else [],
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
