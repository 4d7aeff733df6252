"""How far apart the follower's reference keeps the two ports, and when it gives up.

Search at a distance until both cameras have the other in their cones, approach to a stand-off, align there, close
through a funnel that narrows towards the port, latched. Outside the funnel it waits, far outside it backs off; a lost
partner, a lost camera or too long a time aborts to the stand-off from any phase, and there is another try until they
are used up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Phase(Enum):
    """Of one docking."""

    SEARCH = "search"  # to a place before the port, looking for the partner
    APPROACH = "approach"
    ALIGN = "align"
    CLOSE = "close"
    LATCHED = "latched"
    ABORT = "abort"  # back to the stand-off
    FAILED = "failed"  # tries used up; stays at the stand-off
    LEAVE = "leave"  # after undocking
    CLEAR = "clear"  # and far enough away


@dataclass(frozen=True)
class DockingSettings:
    """Separations are between the ports along the port's direction."""

    search_m: float = 2.5
    approach_mps: float = 0.35
    leave_mps: float = 0.15
    cone_deg: float = 18.0  # bearings beyond which it waits for the lateral error to shrink
    close_mps: float = 0.05  # at contact, and of backing off
    close_per_s: float = 0.2  # faster by so much a metre of separation
    stand_off_m: float = 1.1
    beyond_m: float = 0.03  # the reference ends this far through the port, so that contact is made
    align_lateral_m: float = 0.06
    align_deg: float = 3.0
    funnel_m: float = 0.04  # lateral error at contact; more of it further out
    funnel_share: float = 0.1  # of the gap
    back_off: float = 2.0  # so many funnels wide: away from the port again
    partner_s: float = 4.0  # without its plan
    camera_s: float = 1.0  # without a sighting, while closing
    lost_s: float = 3.0  # without a sighting, further out: back to the search
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
    bearing_deg: float = 0.0  # off the axis, the larger of both cameras'


class DockingPhases:
    """Of the follower. `separation_m` is what its reference keeps."""

    def __init__(self, settings: DockingSettings, gap_m: float, begin: Phase = Phase.APPROACH) -> None:
        """`gap_m`: between the ports at the start."""
        self.settings, self.phase, self.separation_m = settings, begin, gap_m
        self.rate_mps = 0.0  # of the separation, now
        self.tries, self.reason = 1, ""  # of the last abort
        self._began_s: float | None = None
        self._last_s: float | None = None

    def step(self, t_s: float, seen: Seen) -> Phase:
        """On to `t_s`."""
        elapsed_s = 0.0 if self._last_s is None else max(0.0, t_s - self._last_s)
        self._last_s = t_s
        self._began_s = t_s if self._began_s is None else self._began_s
        if self.phase in (Phase.LATCHED, Phase.FAILED, Phase.CLEAR):
            self.rate_mps = 0.0
            return self.phase
        before_m = self.separation_m
        self._decide(t_s, elapsed_s, seen)
        self.rate_mps = (self.separation_m - before_m) / elapsed_s if elapsed_s > 0 else 0.0
        return self.phase

    def cancel(self) -> None:
        """By order: back to the stand-off, and stay there."""
        if self.phase not in (Phase.LATCHED, Phase.FAILED, Phase.LEAVE, Phase.CLEAR):
            self.phase, self.reason, self.tries = Phase.ABORT, "cancelled", self.settings.tries

    def _decide(self, t_s: float, elapsed_s: float, seen: Seen) -> None:
        if self.phase is Phase.LEAVE:
            self.separation_m += self.settings.leave_mps * elapsed_s
            if self.separation_m >= self.settings.search_m:
                self.phase, self.separation_m = Phase.CLEAR, self.settings.search_m
        elif seen.latched:
            self.phase = Phase.LATCHED
        elif self.phase is Phase.ABORT:
            self._retreat(t_s, elapsed_s, seen)
        elif reason := self._broken(t_s, seen):
            self.phase, self.reason = Phase.ABORT, reason
        else:
            self._proceed(elapsed_s, seen)

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
        if self.phase is Phase.SEARCH:
            self.separation_m = s.search_m
            if seen.camera_age_s <= s.camera_s and seen.bearing_deg <= s.cone_deg and seen.gap_m > 0:
                self.phase, self.separation_m = Phase.APPROACH, seen.gap_m
            return
        if self.phase is not Phase.CLOSE and seen.camera_age_s > s.lost_s:
            self.phase = Phase.SEARCH
        elif self.phase is Phase.APPROACH:
            if seen.bearing_deg > s.cone_deg and self.separation_m > s.stand_off_m:
                return  # nearer, the bearing would only grow
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
            speed_mps = s.close_mps + s.close_per_s * max(self.separation_m, 0.0)
            self.separation_m = max(-s.beyond_m, self.separation_m - speed_mps * elapsed_s)

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
