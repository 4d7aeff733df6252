"""What one vehicle sees of another, compared with the fleet's limits. No Qt, no ROS."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.messages.health import Severity
from shoal.messages.limits import Limits


@dataclass(frozen=True)
class NeighbourView:
    """One neighbour, from one vehicle. None: not known. The severity is a warning beyond the soft limit."""

    other: str
    must_see: bool
    angle_deg: float | None
    distance_m: float | None
    limits: Limits
    near_allowed: bool = False  # joined, about to be, or just parted: neither distance nor sight counts

    @property
    def sight_severity(self) -> Severity:
        """An angle matters only to a vehicle that must keep the other in sight."""
        if not self.must_see or self.angle_deg is None or self.near_allowed:
            return Severity.OK
        return Severity((self.angle_deg > self.limits.sight_soft_deg) + (self.angle_deg > self.limits.sight_hard_deg))

    @property
    def distance_severity(self) -> Severity:
        """A distance matters to all but those who are meant to touch."""
        if self.distance_m is None or self.near_allowed:
            return Severity.OK
        return Severity(
            (self.distance_m < self.limits.distance_soft_m) + (self.distance_m < self.limits.distance_hard_m)
        )

    @property
    def violates_hard_limit(self) -> bool:
        """Sight or distance."""
        return Severity.ERROR in (self.sight_severity, self.distance_severity)

    def sentence(self) -> str:
        """For a card and for screen readers."""
        angle = "–" if self.angle_deg is None else f"{self.angle_deg:.0f}°"
        distance = "–" if self.distance_m is None else f"{self.distance_m:.2f} m"
        parts = [f"{self.other}: {angle} off the bow, {distance} away"]
        parts += ["out of sight"] * (self.sight_severity is Severity.ERROR)
        parts += ["TOO CLOSE"] * (self.distance_severity is Severity.ERROR)
        return ", ".join(parts)
