"""Docking: what is ordered, and what the follower reports of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ACCEPTED = "accepted"  # phase of a follower that has the order and has not moved yet


@dataclass(frozen=True)
class DockingOrder:
    """The follower comes to the leader's port, or leaves it; counted, so that nobody acts on an older order."""

    counter: int
    action: Literal["dock", "undock", "cancel"]
    leader: str
    leader_port: str
    follower: str
    follower_port: str
    blind: bool = False  # by both navigations alone, without a camera
    watch_port: str = ""  # whose camera the leader keeps on a place meanwhile; empty: on none
    watch_m: tuple[float, float, float] = (0.0, 0.0, 0.0)  # that place, NED


@dataclass(frozen=True)
class DockingFeedback:
    """By what the follower knows."""

    counter: int  # of the order
    phase: str
    gap_m: float  # between the ports, along the leader's
    lateral_m: float
    angle_deg: float
    bearing_deg: float  # the larger of both cameras'
    tries: int
    reason: str  # of the last abort
    refused: str = ""  # why the order of that number cannot be; what was under way goes on
