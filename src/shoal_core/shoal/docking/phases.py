"""How far apart the follower's reference keeps the two ports, and when it gives up.

Approach to a stand-off, align there, close through a funnel that narrows towards the port, latched. Outside the
funnel it waits, far outside it backs off; a lost partner, a lost camera or too long a time aborts to the
stand-off from any phase, and there is another try until they are used up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """Of one docking."""

    APPROACH = "approach"
    ALIGN = "align"
    CLOSE = "close"
    LATCHED = "latched"
    ABORT = "abort"  # back to the stand-off
    FAILED = "failed"  # tries used up; stays at the stand-off


@dataclass(frozen=True)
class DockingSettings:
    """Separations are between the ports along the port's direction."""

    approach_mps: float = 0.35
    close_mps: float = 0.08
    stand_off_m: float = 1.1
    beyond_m: float = 0.03  # the reference ends this far through the port, so that contact is made
    align_lateral_m: float = 0.06
    align_deg: float = 3.0
    funnel_m: float = 0.04  # lateral error at contact; more of it further out
    funnel_share: float = 0.1  # of the gap
    back_off: float = 2.0  # so many funnels wide: away from the port again
    partner_s: float = 2.5  # without its plan
    camera_s: float = 1.0  # without a sighting, while closing
    longest_s: float = 60.0  # of one try
    tries: int = 3


@dataclass(frozen=True)
class Seen:
    """What the follower knows now."""

    gap_m: float  # between the ports, along the port's direction
    lateral_m: float
    angle_deg: float
    partner_age_s: float
    camera_age_s: float
    latched: bool = False


class DockingPhases:
    """Of the follower. `separation_m` is what its reference keeps."""

    def __init__(self, settings: DockingSettings, gap_m: float) -> None:
        """`gap_m`: between the ports at the start."""
        self.settings, self.phase, self.separation_m = settings, Phase.APPROACH, gap_m
        self.tries, self.reason = 1, ""  # of the last abort
        self._began_s: float | None = None
        self._last_s: float | None = None

    def step(self, t_s: float, seen: Seen) -> Phase:
        """On to `t_s`."""
        elapsed_s = 0.0 if self._last_s is None else max(0.0, t_s - self._last_s)
        self._last_s = t_s
        self._began_s = t_s if self._began_s is None else self._began_s
        if self.phase in (Phase.LATCHED, Phase.FAILED):
            return self.phase
        if seen.latched:
            self.phase = Phase.LATCHED
        elif self.phase is Phase.ABORT:
            self._retreat(t_s, elapsed_s, seen)
        elif reason := self._broken(t_s, seen):
            self.phase, self.reason = Phase.ABORT, reason
        else:
            self._proceed(elapsed_s, seen)
        return self.phase

    def funnel_m(self, gap_m: float) -> float:
        """Lateral error allowed at this gap."""
        return self.settings.funnel_m + self.settings.funnel_share * max(gap_m, 0.0)

    def _broken(self, t_s: float, seen: Seen) -> str:
        s = self.settings
        assert self._began_s is not None
        if seen.partner_age_s > s.partner_s:
            return "partner lost"
        if self.phase is Phase.CLOSE and seen.camera_age_s > s.camera_s:
            return "camera lost"
        if t_s - self._began_s > s.longest_s:
            return "time-out"
        return ""

    def _proceed(self, elapsed_s: float, seen: Seen) -> None:
        s = self.settings
        if self.phase is Phase.APPROACH:
            # From nearer than the stand-off it is reached from inside, at the speed of closing.
            if self.separation_m > s.stand_off_m:
                self.separation_m = max(s.stand_off_m, self.separation_m - s.approach_mps * elapsed_s)
            else:
                self.separation_m = min(s.stand_off_m, self.separation_m + s.close_mps * elapsed_s)
            if self.separation_m == s.stand_off_m:
                self.phase = Phase.ALIGN
        elif self.phase is Phase.ALIGN:
            aligned = seen.lateral_m <= s.align_lateral_m and seen.angle_deg <= s.align_deg
            if aligned and seen.camera_age_s <= s.camera_s:
                self.phase = Phase.CLOSE
        elif seen.lateral_m > s.back_off * self.funnel_m(seen.gap_m):
            self.separation_m = min(s.stand_off_m, self.separation_m + s.close_mps * elapsed_s)
        elif seen.lateral_m <= self.funnel_m(seen.gap_m) and seen.angle_deg <= s.align_deg:
            self.separation_m = max(-s.beyond_m, self.separation_m - s.close_mps * elapsed_s)

    def _retreat(self, t_s: float, elapsed_s: float, seen: Seen) -> None:
        s = self.settings
        # From further out it stays where it is: nothing is gained by coming nearer to a partner that is not heard.
        self.separation_m = max(self.separation_m, min(s.stand_off_m, self.separation_m + s.close_mps * elapsed_s))
        if self.separation_m < s.stand_off_m or seen.partner_age_s > s.partner_s:
            return
        if self.tries >= s.tries:
            self.phase = Phase.FAILED
            return
        self.tries, self.phase, self._began_s = self.tries + 1, Phase.APPROACH, t_s
