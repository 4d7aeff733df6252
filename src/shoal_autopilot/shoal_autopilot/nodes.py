"""Which nodes make up a pilot's input; the launch file and the command read this. No ROS import."""

from __future__ import annotations

from pathlib import Path

from shoal.autopilot.dive import load_dive
from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal_ros.node_list import NodeSpec, Value, fleet_name
from shoal_teleop.layout import load_layout

SOURCES = ("web", "pad", "csv", "keyboard")


def pilot_nodes(
    source: str,
    fleet: str = "one",
    vehicle: str = "",
    layout: str = "xbox",
    device: int = 0,
    course: str = "pilot",
    address: str = "127.0.0.1",
    port: int = 8765,
    token_file: str = "",
    use_sim_time: bool = False,
) -> list[NodeSpec]:
    """One source for one vehicle; empty: the fleet's first. A typing error is reported before anything starts."""
    if source not in SOURCES:
        raise ShoalError(f"source = '{source}'; expected one of: {', '.join(SOURCES)}")
    found = fleet_name(fleet)
    names = load_fleet(found).names
    who = vehicle or names[0]
    if who not in names:
        raise ShoalError(f"vehicle = '{who}': not in fleet '{fleet}'; expected one of: {', '.join(names)}")
    about: dict[str, Value] = {"fleet": found, "vehicle": who}
    if source == "pad":
        load_layout(layout)
        about["layout"] = _file(layout)
    elif source == "csv":
        load_dive(course)
        about |= {"course": _file(course), "use_sim_time": use_sim_time}
    elif source == "web":
        about |= {"address": address, "port": port, "token_file": str(Path(token_file).resolve()) if token_file else ""}
    nodes = [NodeSpec("shoal_autopilot", f"pilot_{source}", f"pilot_{source}", f"/{who}", about)]
    if source == "pad":
        nodes.append(NodeSpec("shoal_teleop", "joystick", "joystick", parameters={"device": device}))
    return nodes


def _file(name: str) -> str:
    return str(Path(name).resolve()) if Path(name).is_file() else name
