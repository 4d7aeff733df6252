"""One vessel into one berth: line up, approach, contact and search along the hull, verify; retries with back-off.

All in the berth's own frame: `out` along the way in (0 when the hulls meet as drawn, positive outside) and `aside`
across it. Nobody reports whether the magnets hold: it shows in the relative motion alone (S13). Contact makes `out`
stand still, but a vessel in contact follows a reference along the hull and away from it; a latched one does neither.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum

from pydantic import Field

from shoal.config.file_model import FileModel

SLOW_M = 0.03  # gap from which on the approach is as slow as it gets: frames are off by up to two centimetres
SWING_S, SWING_M = 0.8, 0.010  # that a vessel goes on for when it is told to turn round, at most
CONTACT_S, CONTACT_M = 0.6, 0.003  # nearer by less than this in that time
# Any corner that closes faster than this times the slowest speed, over that time, so near the hull: brake.
HASTE, HASTE_S, NEAR_M = 1.6, 0.35, 0.045
LEAD_M = 0.05  # of the reference on the approach, at most
TURNING = 0.5  # of the stillness of a latch: a vessel that turns round in the search is slow for a second, too
SHORT_M = 0.005  # of its own place: a platform that is further off follows a vessel that is pulled away
TUGS = 3  # times as long as it takes to verify, at most, until the platform has come to its place
OFF_HULL_M = 0.004  # further out than where the hull was felt: not in contact
NEVER_M = 0.12  # from the stand-off: who was never nearer while lining up does not swim


class Phase(Enum):
    """Of a berthing."""

    LINE_UP = "line up"
    APPROACH = "approach"
    SEARCH = "search"
    VERIFY = "verify"
    BACK_OFF = "back off"
    LATCHED = "latched"
    FAILED = "failed"


class BerthSettings(FileModel):
    """Distances, speeds and patience."""

    stand_off_m: float = Field(default=0.09, gt=0, description="gap while lining up")
    aligned_m: float = Field(default=0.008, gt=0, description="sideways, to leave the stand-off")
    aligned_rad: float = Field(default=0.03, gt=0)
    aligned_s: float = Field(default=0.3, ge=0, description="for so long")
    funnel: float = Field(default=0.15, ge=0, description="more may be off sideways, by distance from the hull")
    from_m: float = Field(default=0.30, gt=0, description="gap from which on a vessel in the funnel approaches at once")
    fastest_mps: float = Field(default=0.08, gt=0, description="of the approach")
    gain_ps: float = Field(default=0.5, gt=0, description="speed of the approach by the gap that is left")
    slowest_mps: float = Field(default=0.012, gt=0, description="at contact")
    overlap_m: float = Field(default=0.012, gt=0, description="how far it may fall short of the reference: contact")
    press_m: float = Field(default=0.007, gt=0, description="reference beyond where contact was felt, while searching")
    clear_m: float = Field(default=0.03, ge=0, description="kept from a hull beside the way in until contact")
    search_m: float = Field(default=0.020, gt=0, description="along the hull, each way; at first half of it")
    search_mps: float = Field(default=0.015, gt=0)
    lead_m: float = Field(default=0.022, gt=0, description="of the reference along the hull")
    still_s: float = Field(default=1.2, gt=0, description="window of the detection")
    still_m: float = Field(default=0.002, gt=0, description="S13: range of the relative position, latched")
    still_rad: float = Field(default=0.010, gt=0, description="S13: range of the relative heading, latched")
    near_m: float = Field(default=0.035, gt=0, description="S13: off the drawing, at most, latched")
    tug_m: float = Field(default=0.07, gt=0, description="reference pulled away, to verify")
    come_away_m: float = Field(default=0.008, gt=0, description="so far out while pulled: contact only")
    tug_s: float = Field(default=2.5, gt=0)
    line_up_s: float = Field(default=40.0, gt=0, description="time-out")
    approach_s: float = Field(default=40.0, gt=0, description="time-out")
    search_s: float = Field(default=30.0, gt=0, description="time-out")
    tries: int = Field(default=4, ge=1, description="then the vessel is replaced")


@dataclass(frozen=True)
class Relative:
    """A vessel against its berth, as measured."""

    out_m: float
    aside_m: float
    turn_rad: float
    short_m: float = 0.0  # how far the platform's own controller still takes it after the vessel, along the way out


@dataclass(frozen=True)
class Wanted:
    """Where it is to go, and how fast that moves."""

    out_m: float
    aside_m: float
    out_mps: float = 0.0
    aside_mps: float = 0.0


class Berth:
    """Call `step` with what is measured; `phase` says how far it is."""

    def __init__(self, settings: BerthSettings, beside_hull: bool, half_m: float) -> None:
        """`beside_hull`: a filled cell lies beside the way in, where `aside` is negative.

        `half_m`: half of the side that meets the hull; its corners close faster than its middle while it turns.
        """
        self._s, self._beside, self._half_m = settings, beside_hull, half_m
        self.phase, self.tries = Phase.LINE_UP, 1
        self._since_s: float | None = None
        self._aligned_s: float | None = None
        self._wanted = Wanted(settings.stand_off_m, self._clear_m)
        self._contact_m = 0.0  # where the hull was felt
        self._off_m = math.inf  # from the stand-off while lining up, at best
        self._sweep = -1.0  # direction of the search; a hull beside is searched first
        self._turns = 0  # of the search
        self._window: deque[tuple[float, Relative, float]] = deque()
        self._last_s: float | None = None
        # On from the first contact on: over the last millimetres they would speed up a vessel that is still coming.
        self.magnets = False

    @property
    def _clear_m(self) -> float:
        return self._s.clear_m if self._beside else 0.0

    def step(self, t_s: float, now: Relative | None) -> Wanted:
        """One tick; without a measurement nothing moves on, and time-outs count."""
        if self._since_s is None:
            self._since_s = t_s
        dt_s = 0.0 if self._last_s is None else max(0.0, t_s - self._last_s)
        self._last_s = t_s
        if now is not None:
            self._window.append((t_s, now, self._wanted.aside_m))
            while t_s - self._window[0][0] > self._s.still_s + 1e-9:
                self._window.popleft()
            getattr(self, f"_{self.phase.name.lower()}")(t_s, dt_s, now)
        self._patience(t_s)
        return self._wanted

    def stopped(self, t_s: float) -> None:
        """Emergency stop, or the vessel was lost from sight: start over from the stand-off when it goes on."""
        if self.phase not in (Phase.LATCHED, Phase.FAILED):
            self._go(t_s, Phase.BACK_OFF)

    def _go(self, t_s: float, phase: Phase) -> None:
        self.phase, self._since_s, self._aligned_s = phase, t_s, None
        self._window.clear()
        if phase is Phase.APPROACH:
            self._off_m = 0.0
        if phase in (Phase.SEARCH, Phase.LINE_UP):  # in between whoever has latched stays latched
            self.magnets = phase is Phase.SEARCH

    @property
    def never(self) -> bool:
        """It was seen, and in all its time for lining up it did not come near the stand-off."""
        return NEVER_M < self._off_m < math.inf

    def _patience(self, t_s: float) -> None:
        assert self._since_s is not None
        limits = {Phase.LINE_UP: self._s.line_up_s, Phase.APPROACH: self._s.approach_s, Phase.SEARCH: self._s.search_s,
                  Phase.BACK_OFF: self._s.line_up_s}  # fmt: skip
        if t_s - self._since_s <= limits.get(self.phase, math.inf):
            return
        if self.phase is Phase.LINE_UP and self.tries < self._s.tries and not self.never:
            self.tries += 1
            self._go(t_s, Phase.LINE_UP)
        elif self.tries >= self._s.tries or self.phase is Phase.BACK_OFF or self.never:
            self._go(t_s, Phase.FAILED)
        else:
            self._go(t_s, Phase.BACK_OFF)

    # -- phases ---------------------------------------------------------------------------------------------------

    def _line_up(self, t_s: float, dt_s: float, now: Relative) -> None:
        s = self._s
        self._wanted = Wanted(s.stand_off_m, self._clear_m)
        self._off_m = min(self._off_m, math.hypot(now.out_m - s.stand_off_m, now.aside_m - self._clear_m))
        near = 0.5 * s.stand_off_m < now.out_m < s.from_m
        if not near or not self._in_funnel(now) or abs(now.turn_rad) > s.aligned_rad:
            self._aligned_s = None
            return
        self._aligned_s = t_s if self._aligned_s is None else self._aligned_s
        if t_s - self._aligned_s >= s.aligned_s:
            self._wanted = Wanted(now.out_m, self._clear_m)
            self._go(t_s, Phase.APPROACH)

    def _in_funnel(self, now: Relative) -> bool:
        """Sideways; the nearer the hull, the narrower."""
        s = self._s
        return abs(now.aside_m - self._clear_m) <= s.aligned_m + s.funnel * max(now.out_m - 0.02, 0.0)

    def _approach(self, t_s: float, dt_s: float, now: Relative) -> None:
        s, out_m = self._s, self._wanted.out_m
        speed = min(s.fastest_mps, max(s.slowest_mps, s.gain_ps * (now.out_m - SLOW_M)))
        if not self._in_funnel(now) or out_m < now.out_m - LEAD_M:  # wait for it
            speed = 0.0
        if now.out_m < NEAR_M and self._closing_mps(t_s) > HASTE * s.slowest_mps:
            speed, out_m = 0.0, max(out_m, now.out_m)  # another one pushes the platform towards us, or somebody turns
        out_m = max(-s.near_m, out_m - speed * dt_s)
        self._wanted = Wanted(out_m, self._clear_m, -speed)
        asked_m = math.hypot(now.out_m - out_m, now.aside_m - self._clear_m)
        held = asked_m > s.still_m and self._still(t_s, now)  # touches already, or the magnets have caught it
        if held or (now.out_m - out_m > s.overlap_m and now.out_m < s.near_m and self._no_nearer(t_s)):
            self._contact_m = now.out_m
            self._go(t_s, Phase.SEARCH)

    def _search(self, t_s: float, dt_s: float, now: Relative) -> None:
        """Pressed against the hull wherever that was felt: the tracked frames are off by millimetres.

        The reference leads by a fixed distance: one that moves on its own turns round before a vessel that friction
        holds back has moved.
        """
        s = self._s
        wide_m = s.search_m * (0.5 if self._turns < 2 else 1.0)  # most offsets are small
        low_m, high_m = -wide_m, self._clear_m + wide_m
        swing_m = 0.0 if self._beside and self._sweep < 0 else SWING_S * self._aside_mps(t_s)  # the hull stops it
        soon_m = now.aside_m + min(max(swing_m, -SWING_M), SWING_M)
        if (soon_m <= low_m and self._sweep < 0) or (soon_m >= high_m and self._sweep > 0):
            self._sweep, self._turns = -self._sweep, self._turns + 1
        self._contact_m = min(self._contact_m, now.out_m)
        if now.out_m > self._contact_m + OFF_HULL_M:  # come away: to the hull first, magnets catch nobody who is off it
            if not self._no_nearer(t_s, 0.9 * s.still_s):
                self._wanted = Wanted(self._contact_m - s.press_m, now.aside_m)
                return
            self._contact_m = now.out_m  # felt further out: with a new member the platform's frame is another mean
        aside_m = now.aside_m + self._sweep * s.lead_m
        self._wanted = Wanted(self._contact_m - s.press_m, aside_m, 0.0, self._sweep * s.search_mps)
        pushed_m = [self._sweep * (wanted - relative.aside_m) for _, relative, wanted in self._window]
        # All the time, and the same way; more so than when it turns round, or it is pulled off for nothing.
        if self._still(t_s, now, TURNING) and min(pushed_m) > 0.5 * s.lead_m:
            self._go(t_s, Phase.VERIFY)

    def _verify(self, t_s: float, dt_s: float, now: Relative) -> None:
        s = self._s
        self._wanted = Wanted(s.tug_m, now.aside_m)
        if now.out_m - self._window[0][1].out_m > s.come_away_m or abs(now.aside_m) > s.near_m:  # contact only
            self._wanted = Wanted(self._contact_m - s.press_m, now.aside_m)
            self._go(t_s, Phase.SEARCH)
            return
        assert self._since_s is not None
        tugged_s, still = t_s - self._since_s, self._is_still(now)
        # A platform on its way to its place comes after the vessel and pushes it: nothing moves between them either.
        follows = any(relative.short_m > SHORT_M for _, relative, _ in self._window)
        if tugged_s >= s.tug_s and not (still and follows and tugged_s < TUGS * s.tug_s):
            self._go(t_s, Phase.LATCHED if still and not follows else Phase.SEARCH)

    def _back_off(self, t_s: float, dt_s: float, now: Relative) -> None:
        s = self._s
        self._wanted = Wanted(s.stand_off_m, self._clear_m)
        if self._still(t_s, now):  # asked to come away, it stays: the magnets hold, since before somebody stopped us
            self._go(t_s, Phase.VERIFY)
        elif now.out_m > 0.7 * s.stand_off_m:
            self.tries += 1
            self._go(t_s, Phase.LINE_UP)

    def _latched(self, t_s: float, dt_s: float, now: Relative) -> None:
        self._wanted = Wanted(0.0, 0.0)

    def _failed(self, t_s: float, dt_s: float, now: Relative) -> None:
        self._wanted = Wanted(3 * self._s.stand_off_m, self._clear_m)

    def _aside_mps(self, t_s: float) -> float:
        """Of late."""
        return _slope([(t, relative.aside_m) for t, relative, _ in self._window if t_s - t <= CONTACT_S])

    def _closing_mps(self, t_s: float) -> float:
        """Of late, towards the hull: of the corner that does so fastest."""
        lately = [(t, relative) for t, relative, _ in self._window if t_s - t <= HASTE_S]
        turning = abs(_slope([(t, relative.turn_rad) for t, relative in lately]))
        return -_slope([(t, relative.out_m) for t, relative in lately]) + self._half_m * turning

    def _no_nearer(self, t_s: float, lately_s: float = CONTACT_S) -> bool:
        """It does not come nearer, though it is asked to: contact."""
        lately = [relative.out_m for t, relative, _ in self._window if t_s - t <= lately_s]
        return t_s - self._window[0][0] >= lately_s and max(lately) - min(lately) < CONTACT_M

    def _still(self, t_s: float, now: Relative, share: float = 1.0) -> bool:
        return t_s - self._window[0][0] >= 0.9 * self._s.still_s and self._is_still(now, share)

    def _is_still(self, now: Relative, share: float = 1.0) -> bool:
        s, seen = self._s, [relative for _, relative, _ in self._window]
        ranges = [max(v) - min(v) for v in ([r.out_m for r in seen], [r.aside_m for r in seen])]
        turns = [r.turn_rad for r in seen]
        near = abs(now.out_m) < s.near_m and abs(now.aside_m) < s.near_m
        return near and max(ranges) < share * s.still_m and max(turns) - min(turns) < s.still_rad


def _slope(series: list[tuple[float, float]]) -> float:
    (t0, a0), (t1, a1) = series[0], series[-1]
    return (a1 - a0) / (t1 - t0) if t1 > t0 else 0.0
