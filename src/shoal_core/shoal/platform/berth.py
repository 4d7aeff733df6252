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

    stand_off_m: float = Field(default=0.12, gt=0, description="gap while lining up")
    aligned_m: float = Field(default=0.008, gt=0, description="sideways, to leave the stand-off")
    aligned_rad: float = Field(default=0.03, gt=0)
    aligned_s: float = Field(default=0.5, ge=0, description="for so long")
    fastest_mps: float = Field(default=0.05, gt=0, description="of the approach")
    slowest_mps: float = Field(default=0.008, gt=0, description="at contact")
    overlap_m: float = Field(default=0.010, gt=0, description="how far beyond contact the reference goes: presses")
    clear_m: float = Field(default=0.02, ge=0, description="kept from a hull beside the way in until contact")
    search_m: float = Field(default=0.014, gt=0, description="along the hull, each way")
    search_mps: float = Field(default=0.008, gt=0)
    still_s: float = Field(default=1.5, gt=0, description="window of the detection")
    still_m: float = Field(default=0.002, gt=0, description="S13: range of the relative position, latched")
    still_rad: float = Field(default=0.010, gt=0, description="S13: range of the relative heading, latched")
    near_m: float = Field(default=0.02, gt=0, description="S13: off the drawing, at most, latched")
    tug_m: float = Field(default=0.06, gt=0, description="reference pulled away, to verify")
    tug_s: float = Field(default=3.0, gt=0)
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


@dataclass(frozen=True)
class Wanted:
    """Where it is to go, and how fast that moves."""

    out_m: float
    aside_m: float
    out_mps: float = 0.0
    aside_mps: float = 0.0


class Berth:
    """Call `step` with what is measured; `phase` says how far it is."""

    def __init__(self, settings: BerthSettings, beside_hull: bool) -> None:
        """`beside_hull`: a filled cell lies beside the way in, where `aside` is negative."""
        self._s, self._beside = settings, beside_hull
        self.phase, self.tries = Phase.LINE_UP, 1
        self._since_s: float | None = None
        self._aligned_s: float | None = None
        self._wanted = Wanted(settings.stand_off_m, self._clear_m)
        self._sweep = -1.0  # direction of the search; a hull beside is searched first
        self._window: deque[tuple[float, Relative, float]] = deque()
        self._last_s: float | None = None

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

    def _patience(self, t_s: float) -> None:
        assert self._since_s is not None
        limits = {Phase.LINE_UP: self._s.line_up_s, Phase.APPROACH: self._s.approach_s, Phase.SEARCH: self._s.search_s,
                  Phase.BACK_OFF: self._s.line_up_s}  # fmt: skip
        if t_s - self._since_s <= limits.get(self.phase, math.inf):
            return
        if self.phase is Phase.LINE_UP and self.tries < self._s.tries:
            self.tries += 1
            self._go(t_s, Phase.LINE_UP)
        elif self.tries >= self._s.tries or self.phase is Phase.BACK_OFF:
            self._go(t_s, Phase.FAILED)
        else:
            self._go(t_s, Phase.BACK_OFF)

    # -- phases ---------------------------------------------------------------------------------------------------

    def _line_up(self, t_s: float, dt_s: float, now: Relative) -> None:
        s = self._s
        self._wanted = Wanted(s.stand_off_m, self._clear_m)
        off = abs(now.aside_m - self._clear_m) > s.aligned_m or abs(now.out_m - s.stand_off_m) > 5 * s.aligned_m
        if off or abs(now.turn_rad) > s.aligned_rad:
            self._aligned_s = None
            return
        self._aligned_s = t_s if self._aligned_s is None else self._aligned_s
        if t_s - self._aligned_s >= s.aligned_s:
            self._go(t_s, Phase.APPROACH)

    def _approach(self, t_s: float, dt_s: float, now: Relative) -> None:
        s, out_m = self._s, self._wanted.out_m
        speed = min(s.fastest_mps, max(s.slowest_mps, 0.3 * (now.out_m - 0.02)))
        funnel_m = s.aligned_m + 0.1 * max(now.out_m, 0.0)
        if abs(now.aside_m - self._clear_m) > funnel_m or out_m < now.out_m - 0.05:  # wait for it
            speed = 0.0
        out_m = max(-s.overlap_m, out_m - speed * dt_s)
        self._wanted = Wanted(out_m, self._clear_m, -speed if out_m > -s.overlap_m else 0.0)
        asked_m = math.hypot(now.out_m - out_m, now.aside_m - self._clear_m)
        held = asked_m > s.still_m and self._still(t_s, now)  # touches already, or the magnets have caught it
        if held or out_m <= -s.overlap_m + 1e-9:
            self._go(t_s, Phase.SEARCH)

    def _search(self, t_s: float, dt_s: float, now: Relative) -> None:
        s, aside_m = self._s, self._wanted.aside_m + self._sweep * self._s.search_mps * dt_s
        high_m = self._clear_m + s.search_m
        low_m = -s.search_m
        if aside_m <= low_m or aside_m >= high_m:
            self._sweep = -self._sweep
            aside_m = min(max(aside_m, low_m), high_m)
        self._wanted = Wanted(-s.overlap_m, aside_m, 0.0, self._sweep * s.search_mps)
        asked_m = [wanted for _, _, wanted in self._window]
        if self._still(t_s, now) and max(asked_m) - min(asked_m) > s.still_m:
            self._go(t_s, Phase.VERIFY)

    def _verify(self, t_s: float, dt_s: float, now: Relative) -> None:
        s = self._s
        self._wanted = Wanted(s.tug_m, now.aside_m)
        if now.out_m > s.near_m or abs(now.aside_m) > s.near_m:  # it came away: contact only
            self._wanted = Wanted(-s.overlap_m, now.aside_m)
            self._go(t_s, Phase.SEARCH)
            return
        assert self._since_s is not None
        if t_s - self._since_s >= s.tug_s:
            self._go(t_s, Phase.LATCHED) if self._is_still(now) else self._go(t_s, Phase.SEARCH)

    def _back_off(self, t_s: float, dt_s: float, now: Relative) -> None:
        s = self._s
        self._wanted = Wanted(s.stand_off_m, self._clear_m)
        if now.out_m > 0.7 * s.stand_off_m:
            self.tries += 1
            self._go(t_s, Phase.LINE_UP)

    def _latched(self, t_s: float, dt_s: float, now: Relative) -> None:
        self._wanted = Wanted(0.0, 0.0)

    def _failed(self, t_s: float, dt_s: float, now: Relative) -> None:
        self._wanted = Wanted(3 * self._s.stand_off_m, self._clear_m)

    def _still(self, t_s: float, now: Relative) -> bool:
        return t_s - self._window[0][0] >= 0.9 * self._s.still_s and self._is_still(now)

    def _is_still(self, now: Relative) -> bool:
        s, seen = self._s, [relative for _, relative, _ in self._window]
        ranges = [max(v) - min(v) for v in ([r.out_m for r in seen], [r.aside_m for r in seen])]
        turns = [r.turn_rad for r in seen]
        near = abs(now.out_m) < s.near_m and abs(now.aside_m) < s.near_m
        return near and max(ranges) < s.still_m and max(turns) - min(turns) < s.still_rad
