"""Docking: what is ordered, and what the follower reports of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
