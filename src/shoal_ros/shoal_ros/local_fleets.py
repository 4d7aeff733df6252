"""Fleets that run on this machine: `shoal up` takes a ROS domain of its own and marks it as taken."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shoal.errors import ShoalError
from shoal_ros.domain import chosen_domain
from shoal_ros.reach import RANGE, reach_environment

SOCKETS = Path("/proc/net/unix")


def running_domains(sockets: Path = SOCKETS) -> list[int]:
    """Domains claimed by Shoal processes here (see `shoal_ros.domain`)."""
    try:
        text = sockets.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({int(number) for number in re.findall(r"@shoal-ros-domain-(\d+)", text)})


def choose_domain(given: int | None, network: bool = False, keystore: Path | None = None) -> int | None:
    """As given, else $ROS_DOMAIN_ID, else the one fleet that runs here; None: what the environment says.

    Sets this process's reach as well: this machine only, unless asked for the network or the user's own environment
    has chosen a discovery range. Call it before the first node is made.
    """
    if network or keystore is not None or not os.environ.get(RANGE):
        os.environ |= reach_environment(network, keystore)
    if given is not None:
        os.environ["ROS_DOMAIN_ID"] = str(given)
        return given
    if os.environ.get("ROS_DOMAIN_ID"):
        return None
    found = running_domains()
    if len(found) > 1:
        raise ShoalError(
            f"ROS domain: {len(found)} fleets run here ({', '.join(map(str, found))}); expected --domain N"
        )
    if not found:
        return None
    os.environ["ROS_DOMAIN_ID"] = str(found[0])  # our children's as well
    return found[0]


def find_fleet(domain: int | None, network: bool, keystore: Path | None) -> int:
    """The domain's number; says where it looks, and when no fleet of this machine is there."""
    choose_domain(domain, network, keystore)
    if not os.environ.get("ROS_DOMAIN_ID"):
        os.environ["ROS_DOMAIN_ID"] = "0"
    number = chosen_domain().number
    found = running_domains()
    here = " (a fleet of `shoal up` runs there)" if number in found else ""
    none = "" if found else "; no fleet of `shoal up` runs on this machine"
    print(f"ROS_DOMAIN_ID={number}{here}{none}", flush=True)
    return number
