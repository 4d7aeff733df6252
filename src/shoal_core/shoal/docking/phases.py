"""How far apart the follower's reference keeps the two ports, and when it gives up.

Search at a distance until both cameras have the other in their cones, approach to a stand-off, align there, close
through a funnel that narrows towards the port, latched. Outside the funnel it waits, far outside it backs off; a lost
partner, a lost camera or too long a time aborts to the stand-off from any phase, and there is another try until they
are used up. A port that does not catch, or a hull that leans, ends the closing at once: two that go on pushing beside
the port climb each other and capsize.
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
    leave_mps: float = 0.15  # after undocking, and of an abort
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
    missed_s: float = 3.0  # with the ports together by all that is known, and no latch
    blocked_m: float = 0.12  # gap beyond the separation, near the port: something is in the way
    blocked_s: float = 0.4  # for so long
    near_m: float = 0.5  # separation below which something may be in the way
    lean_deg: float = 6.0  # tilt, while closing, for `lean_s`; waves alone tilt by as much, but not for so long
    lean_s: float = 0.8
    lurch_deg: float = 12.0  # tilt, while closing, at once
    lean_ends: bool = False  # it has no camera: that is a hull, which is not tried again; with one it may be a wave
    longest_s: float = 60.0  # of one try, from when the partner was found
    search_s: float = 90.0  # of one try, before that
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
    tilt_deg: float = 0.0  # our own


class DockingPhases:
    """Of the follower. `separation_m` is what its reference keeps."""

    def __init__(self, settings: DockingSettings, gap_m: float, begin: Phase = Phase.APPROACH) -> None:
        """`gap_m`: between the ports at the start."""
        self.settings, self.phase, self.separation_m = settings, begin, gap_m
        self.rate_mps = 0.0  # of the separation, now
        self.tries, self.reason = 1, ""  # of the last abort
        self._began_s: float | None = None  # of the search, then of what follows it
        self._found = begin is not Phase.SEARCH
        self._reached_s: float | None = None  # since when the reference has been through the port
        self._blocked_s: float | None = None  # since when the gap has not followed it
        self._leaning_s: float | None = None
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
            self._proceed(t_s, elapsed_s, seen)

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
        if self.phase is Phase.CLOSE and (reason := self._beside(t_s, seen)):
            return reason
        if not self._found and t_s - self._began_s > s.search_s:
            return "not found"
        if self._found and t_s - self._began_s > s.longest_s:
            return "time-out"
        return ""

    def _beside(self, t_s: float, seen: Seen) -> str:
        """What tells that the follower pushes at something else than the port: it would load what lets go at once."""
        s = self.settings
        blocked = self.separation_m <= s.near_m and seen.gap_m >= self.separation_m + s.blocked_m
        self._reached_s = _since(self._reached_s, t_s, self.separation_m <= 0)
        self._blocked_s = _since(self._blocked_s, t_s, blocked)
        self._leaning_s = _since(self._leaning_s, t_s, seen.tilt_deg > s.lean_deg)
        if seen.tilt_deg > s.lurch_deg or _for_s(self._leaning_s, t_s) > s.lean_s:
            return "leaning"
        if _for_s(self._reached_s, t_s) > s.missed_s:
            return "port missed"
        return "something in the way" if _for_s(self._blocked_s, t_s) > s.blocked_s else ""

    def _proceed(self, t_s: float, elapsed_s: float, seen: Seen) -> None:
        s = self.settings
        if self.phase is Phase.SEARCH:
            self.separation_m = s.search_m
            if seen.camera_age_s <= s.camera_s and seen.bearing_deg <= s.cone_deg and seen.gap_m > 0:
                self.phase, self.separation_m = Phase.APPROACH, seen.gap_m
                if not self._found:
                    self._found, self._began_s = True, t_s
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
                self._reached_s = self._blocked_s = self._leaning_s = None
        elif seen.lateral_m > s.back_off * self.funnel_m(seen.gap_m):
            self.separation_m = min(s.stand_off_m, self.separation_m + s.close_mps * elapsed_s)
        elif seen.lateral_m <= self.funnel_m(seen.gap_m) and seen.angle_deg <= s.align_deg:
            speed_mps = s.close_mps + s.close_per_s * max(self.separation_m, 0.0)
            self.separation_m = max(-s.beyond_m, self.separation_m - speed_mps * elapsed_s)

    def _retreat(self, t_s: float, elapsed_s: float, seen: Seen) -> None:
        s = self.settings
        # From further out it stays where it is: nothing is gained by coming nearer to a partner that is not heard.
        self.separation_m = max(self.separation_m, min(s.stand_off_m, self.separation_m + s.leave_mps * elapsed_s))
        if self.separation_m < s.stand_off_m or seen.partner_age_s > s.partner_s:
            return
        # Who leans without a camera pushes at a hull; what misled it is the same, and the next push may capsize both.
        if self.tries >= s.tries or (self.reason == "leaning" and s.lean_ends):
            self.phase = Phase.FAILED
            return
        self.tries, self.phase, self._began_s = self.tries + 1, Phase.APPROACH, t_s
        self._found = seen.camera_age_s <= s.lost_s  # else it is a search again


def _since(began_s: float | None, t_s: float, holds: bool) -> float | None:
    """Since when something holds without a break."""
    if not holds:
        return None
    return t_s if began_s is None else began_s


def _for_s(began_s: float | None, t_s: float) -> float:
    return 0.0 if began_s is None else t_s - began_s
