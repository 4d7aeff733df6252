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
class DockingWord:
    """What the two tell each other with their plans, in the sender's navigation (see `docking.yielding`)."""

    counter: int  # of the order
    turn: int  # how often the one who moves has changed
    view_pm: float  # how sharply the sender sees the other: one over a standard deviation; 0: not at all
    # To one that sees nothing: where the sender sees it less where its plan says, NED; and the same of the heading.
    off_m: tuple[float, float, float] | None = None
    off_rad: float = 0.0

    @property
    def payload_bits(self) -> int:
        """8 + 8 + 16, and four of 16 if it is told what is seen: millimetres and tenths of milliradians."""
        return 32 if self.off_m is None else 96


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
