"""Who can reach our nodes: this machine only unless asked otherwise, and with a key store only who has a key."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from shoal.errors import ShoalError
from shoal_ros.node_list import NodeSpec

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # older and newer Fast DDS
LOOPBACK_PROFILE = Path(__file__).with_name("loopback.xml")


def reach_environment(
    network: bool = False, keystore: Path | None = None, now: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Variables for a process that makes ROS nodes, beside those it has `now`.

    Discovery on LOCALHOST alone leaves sockets open on every interface: a host that names this one as a static peer
    could join. With Fast DDS a profile binds them to 127.0.0.1 instead; a profile file of the user's own is kept.
    """
    now = os.environ if now is None else now
    if network:
        chosen = {RANGE: "SUBNET"}
    elif own_profile(now) or not _fast_dds(now):
        chosen = {RANGE: "LOCALHOST"}
    else:
        chosen = {RANGE: "SYSTEM_DEFAULT"} | dict.fromkeys(PROFILE_VARIABLES, str(LOOPBACK_PROFILE))
    if keystore is not None:
        chosen |= {
            "ROS_SECURITY_ENABLE": "true",
            "ROS_SECURITY_STRATEGY": "Enforce",
            "ROS_SECURITY_KEYSTORE": str(keystore.resolve()),
        }
    return chosen


def describe_reach(network: bool = False, now: Mapping[str, str] | None = None) -> str:
    """For the first line of a log."""
    now = os.environ if now is None else now
    if network:
        return "open to the network"
    if not _fast_dds(now):
        return f"on this machine by discovery only: {now['RMW_IMPLEMENTATION']} listens on all interfaces"
    if file := own_profile(now):
        return f"with the Fast DDS profiles of {file}"
    return "on this machine only"


def own_profile(now: Mapping[str, str]) -> str:
    """The user's profile file, empty if there is none or it is ours."""
    files = [now.get(name, "") for name in PROFILE_VARIABLES]
    return next((file for file in files if file and file != str(LOOPBACK_PROFILE)), "")


def check_keystore(keystore: Path, nodes: Iterable[NodeSpec]) -> None:
    """Before anything starts: an enclave for each node."""
    if not (keystore / "enclaves").is_dir():
        raise ShoalError(f"{keystore}: no folder 'enclaves' inside; expected a key store of `ros2 security`")
    lacking = [n.full_name for n in nodes if not (keystore / "enclaves" / n.full_name.strip("/")).is_dir()]
    if lacking:
        raise ShoalError(
            f"{keystore}: no enclave for {', '.join(lacking)}; expected one each from "
            f"`ros2 security create_enclave {keystore} {lacking[0]}`"
        )


def _fast_dds(now: Mapping[str, str]) -> bool:
    """ROS 2's default where nothing is chosen."""
    return now.get("RMW_IMPLEMENTATION", "").startswith(("rmw_fastrtps", "rmw_fastdds")) or not now.get(
        "RMW_IMPLEMENTATION"
    )
