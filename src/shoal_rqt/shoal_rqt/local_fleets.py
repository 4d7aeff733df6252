"""Fleets that run on this machine: `shoal up` takes a ROS domain of its own and marks it as taken."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shoal.errors import ShoalError

SOCKETS = Path("/proc/net/unix")


def running_domains(sockets: Path = SOCKETS) -> list[int]:
    """Domains claimed by Shoal processes here (see `shoal_ros.domain`)."""
    try:
        text = sockets.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({int(number) for number in re.findall(r"@shoal-ros-domain-(\d+)", text)})


def choose_domain(given: int | None) -> int | None:
    """As given, else $ROS_DOMAIN_ID, else the one fleet that runs here; None: ROS's own default."""
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
    # A fleet that keeps to this machine is found only by processes that do so too, our children included.
    os.environ |= {"ROS_DOMAIN_ID": str(found[0]), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    return found[0]
