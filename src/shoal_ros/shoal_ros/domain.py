"""A ROS domain of one's own, so that two runs on one machine do not reach each other."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path

from shoal.errors import ShoalError
from shoal_ros.reach import reach_environment

FIRST, COUNT = 1, 100  # 0 is everybody's; above 101 the ports run into those the kernel hands out


@dataclass
class Domain:
    """Ours until closed, or until the process is gone, however it goes."""

    number: int
    _claim: socket.socket | None = field(default=None, repr=False)

    def close(self) -> None:
        """Give it back."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def environment(self, network: bool = False, keystore: Path | None = None) -> dict[str, str]:
        """For child processes."""
        return {"ROS_DOMAIN_ID": str(self.number), **reach_environment(network, keystore)}


def claim_domain() -> Domain:
    """A number that no other Shoal process on this machine has claimed.

    The claim is a socket in the kernel's abstract name space: it cannot be left behind.
    """
    for i in range(COUNT):
        number = FIRST + (os.getpid() + i) % COUNT
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0shoal-ros-domain-{number}")
        except OSError:
            claim.close()
            continue
        return Domain(number, claim)
    raise ShoalError(f"ROS_DOMAIN_ID: all of {FIRST} to {FIRST + COUNT - 1} are in use; expected a free one")


def chosen_domain() -> Domain:
    """$ROS_DOMAIN_ID when set, else one of our own."""
    given = os.environ.get("ROS_DOMAIN_ID", "")
    if not given:
        return claim_domain()
    if not given.isdigit() or not 0 <= int(given) <= 232:
        raise ShoalError(f"ROS_DOMAIN_ID = '{given}'; expected a number from 0 to 232")
    return Domain(int(given))
