"""The nodes of a fleet of ArduSub vehicles, in the order of starting. No ROS import."""

from __future__ import annotations

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal_ros.node_list import CONTROLLER_NODES, NodeSpec, Value, fleet_name, fleet_nodes

FIRST_PORT = 14550
# From odometry to thrust: half of the bridge's 20 ms, and the autopilot's median of 12 ms.
ACTUATION_DELAY_S = 0.03


# Of every bridge of a fleet; what differs from vehicle to vehicle is set on the vehicle's own.
SHARED: dict[str, type] = {
    "route": str, "map": str, "thruster_table": str, "voltage_V": float, "command_timeout_s": float,
    "latitude_deg": float, "longitude_deg": float,
}  # fmt: skip


def parameters_of(text: str) -> dict[str, Value]:
    """`name=value` pairs separated by commas, for all bridges."""
    found: dict[str, Value] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = pair.partition("=")
        try:
            if not value:
                raise ValueError
            found[name] = SHARED[name](value)
        except (KeyError, ValueError):
            raise ShoalError(f"bridge: '{pair}'; expected NAME=VALUE with NAME one of: {', '.join(SHARED)}") from None
    return found


def links_of(fleet: str, text: str) -> dict[str, str]:
    """`name=link` pairs separated by commas; who is not named listens on UDP 14550, 14551 … in the fleet's order."""
    names = load_fleet(fleet).names
    found = {name: f"udpin:0.0.0.0:{FIRST_PORT + k}" for k, name in enumerate(names)}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, link = pair.partition("=")
        if name not in found or not link:
            raise ShoalError(f"links: '{pair}'; expected NAME=LINK with NAME one of: {', '.join(names)}")
        found[name] = link
    return found


def bridge_nodes(
    fleet: str, links: str = "", position_source: str = "vehicle", state_dir: str = "", bridge: str = ""
) -> list[NodeSpec]:
    """One bridge a vehicle; `bridge`: further parameters of all."""
    name = fleet_name(fleet)
    common: dict[str, Value] = {"fleet": name, "position_source": position_source}
    common |= {"odometry_rate_hz": 1.0 / load_fleet(name).control_period_s}
    common |= {"state_dir": state_dir} if state_dir else {}
    common |= parameters_of(bridge)
    return [
        NodeSpec("shoal_mavlink", "mavlink_bridge", "mavlink_bridge", f"/{vehicle}",
                 {**common, "vehicle": vehicle, "link": link})
        for vehicle, link in links_of(name, links).items()
    ]  # fmt: skip


def ardusub_nodes(
    fleet: str, links: str = "", position_source: str = "vehicle", bridge: str = "", **options: object
) -> list[NodeSpec]:
    """Bridges, then controllers, guidance and the rest of `fleet.launch.py`.

    In real time; with the option `lockstep` in that of a /clock that waits for them.
    """
    state_dir, lockstep = str(options.get("state_dir", "")), bool(options.get("lockstep", False))
    nodes = bridge_nodes(fleet, links, position_source, state_dir, bridge)
    swimming = fleet_nodes(fleet, plant="none", use_sim_time=lockstep, **options)
    if lockstep:
        nodes = [node.changed(use_sim_time=True, lockstep=True) for node in nodes]
    return nodes + [
        node.changed(actuation_delay_s=ACTUATION_DELAY_S) if node.executable in CONTROLLER_NODES else node
        for node in swimming
    ]
