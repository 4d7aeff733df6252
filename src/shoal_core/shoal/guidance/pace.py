"""Paths slowed in time to what the fleet can swim, and a reference that waits for those who fall behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.guidance.paths import Path
from shoal.vehicles.effort import MotionEffort

Array = NDArray[np.float64]
STEP_S = 0.1  # of the path's own time
USABLE = 0.75  # of the thrust, for the path; the rest is for water, errors and a fifth more drag than believed
START_MPS = 0.3  # a path that sets out faster is begun slowly
GAIN_MPS2 = 0.2  # by which a slowed path gains or loses speed
LEAST = 1e-3  # nothing is slowed to a standstill
Swimmers = Sequence[tuple[MotionEffort, float]]  # of each vehicle, and its yaw (rad, NED)


class SlowedPath:
    """A path run on a time of its own: between the knots its rate rises or falls evenly with time."""

    def __init__(self, path: Path, own_s: Array, rates: Array, share: float) -> None:
        """`rates` (K,) in (0, 1] at the path's own times (K,), from 0 to its duration."""
        self.path, self._own_s, self._rates = path, own_s, rates
        self.share = share  # of its speed that the slowest vehicle can swim, where it is hardest; 1: it is begun slowly
        steps_s = np.diff(own_s)
        # dτ/dt = r with r² straight in τ: each step takes 2 Δτ / (r₀ + r₁), and r gains (r₁² - r₀²) / (2 Δτ) a second.
        self._times_s = np.concatenate([[0.0], np.cumsum(2 * steps_s / (rates[1:] + rates[:-1]))])
        self._gains = np.append(np.diff(rates**2) / (2 * steps_s), 0.0)

    @property
    def duration_s(self) -> float:
        return float(self._times_s[-1])

    def time_of(self, own_s: float) -> float:
        """When it is as far as the path is at `own_s`."""
        k = int(np.clip(np.searchsorted(self._own_s, own_s, side="right") - 1, 0, len(self._own_s) - 2))
        past, gain, rate = own_s - self._own_s[k], self._gains[k], self._rates[k]
        then = np.sqrt(max(rate**2 + 2 * gain * past, LEAST**2))
        return float(self._times_s[k] + 2 * past / (rate + then))

    def position(self, t_s: ArrayLike) -> Array:
        return self.path.position(self._at(t_s)[0])

    def velocity(self, t_s: ArrayLike) -> Array:
        own_s, rate, _ = self._at(t_s)
        return np.asarray(self.path.velocity(own_s) * rate[..., None])

    def acceleration(self, t_s: ArrayLike) -> Array:
        own_s, rate, gain = self._at(t_s)
        return np.asarray(
            self.path.acceleration(own_s) * (rate**2)[..., None] + self.path.velocity(own_s) * gain[..., None]
        )

    def _at(self, t_s: ArrayLike) -> tuple[Array, Array, Array]:
        """The path's own time, the rate and its slope; before and after it the path's own rest."""
        t = np.asarray(t_s, dtype=float)
        k = np.clip(np.searchsorted(self._times_s, t, side="right") - 1, 0, len(self._times_s) - 2)
        past = np.clip(t, 0.0, self.duration_s) - self._times_s[k]
        rate, gain = self._rates[k], self._gains[k]
        own = np.minimum(self._own_s[k] + rate * past + gain * past**2 / 2, self._own_s[-1])
        own = own + np.minimum(t, 0.0) + np.maximum(t - self.duration_s, 0.0)
        return own, rate + gain * past, gain


def slowed(path: Path, swimmers: Swimmers) -> Path:
    """The path itself where everybody can follow it, else slowed where somebody cannot: the slowest decides.

    Also begun slowly, if it sets out at more than `START_MPS`: nobody gets from rest to a swim at once.
    """
    own_s = np.linspace(0.0, path.duration_s, max(3, int(np.ceil(path.duration_s / STEP_S)) + 1))
    velocity, acceleration = path.velocity(own_s), path.acceleration(own_s)
    speed = np.maximum(np.linalg.norm(velocity, axis=1), 1e-9)
    rates = np.min([np.ones(len(own_s)), *(_rates(e, yaw, velocity, acceleration) for e, yaw in swimmers)], axis=0)
    share = float(rates.min())
    rates[0] = min(rates[0], START_MPS / speed[0])
    if (rates >= 1.0).all():
        return path
    squares, step_s = rates**2, own_s[1] - own_s[0]
    change = 2 * GAIN_MPS2 / speed * step_s  # of r² in a step
    for k in range(1, len(squares)):
        squares[k] = min(squares[k], squares[k - 1] + change[k])
    for k in range(len(squares) - 2, -1, -1):
        squares[k] = min(squares[k], squares[k + 1] + change[k])
    return SlowedPath(path, own_s, np.sqrt(squares), share)


def _rates(effort: MotionEffort, yaw_rad: float, velocity: Array, acceleration: Array) -> Array:
    """The largest share (K,) of its speed at which a path is within the vehicle's thrust, by bisection."""
    high, low = np.ones(len(velocity)), np.full(len(velocity), LEAST)
    good = effort.share(velocity, acceleration, yaw_rad) <= USABLE
    if good.all():
        return high
    for _ in range(12):
        middle = (low + high) / 2
        fits = effort.share(velocity * middle[:, None], acceleration * (middle**2)[:, None], yaw_rad) <= USABLE
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.where(good, 1.0, low)


@dataclass(frozen=True)
class Lag:
    """Who is furthest behind its place, along the way."""

    vehicle: str
    behind_m: float


def furthest_behind(positions_m: Mapping[str, Array], places_m: Mapping[str, Array], velocity_mps: Array) -> Lag | None:
    """Along the common velocity; None: nobody is behind, or nothing moves."""
    speed = float(np.linalg.norm(velocity_mps))
    if speed < 1e-3:
        return None
    way = velocity_mps / speed
    lags = [(float((places_m[n] - p) @ way), n) for n, p in positions_m.items() if n in places_m]
    behind_m, name = max(lags, default=(0.0, ""))
    return Lag(name, behind_m) if behind_m > 0 else None


class TimeBase:
    """The time on which a reference runs: as the clock does, slower for those who fall behind, never back.

    Who is behind and gaining is not waited for: it is on its way, as everybody at the start of a test.
    """

    ALLOWED_M, STOP_M = 1.0, 3.0  # behind: where waiting begins, and where the reference stands
    LOOK_BACK_S, GAINING_M = 2.0, 0.1  # not gaining: less than that in so long
    LASTING_S = 0.5
    NAMED_S = 5.0  # two that are equally late are not named in turn
    SLOPE_PER_S = 0.25  # of the rate

    def __init__(self, t_s: float) -> None:
        self._t_s, self._own_s, self._rate, self.target = t_s, t_s, 1.0, 1.0
        self._lags: deque[tuple[float, float]] = deque()
        self.waiting_for: Lag | None = None
        self._named_s = t_s

    def at(self, times_s: ArrayLike) -> tuple[Array, Array, Array]:
        """Own time, rate and the rate's slope at times (K,) from now on."""
        past = np.maximum(np.asarray(times_s, dtype=float) - self._t_s, 0.0)
        before = np.minimum(np.asarray(times_s, dtype=float) - self._t_s, 0.0)
        slope = self.SLOPE_PER_S * np.sign(self.target - self._rate)
        ramp_s = abs(self.target - self._rate) / self.SLOPE_PER_S
        on = np.minimum(past, ramp_s)
        rate = np.where(past < ramp_s, self._rate + slope * on, self.target)
        own = self._own_s + before * self._rate + self._rate * on + slope * on**2 / 2 + self.target * (past - on)
        return own, rate, np.where(past < ramp_s, slope, 0.0)

    def own_s(self, t_s: float) -> float:
        """The reference's time."""
        if self.unhurried and t_s >= self._t_s:
            return t_s - self._t_s + self._own_s
        return float(self.at(np.array(t_s))[0])

    @property
    def unhurried(self) -> bool:
        """Whether it runs as the clock does, and will."""
        return self._rate == 1.0 and self.target == 1.0

    def advance(self, t_s: float, lag: Lag | None) -> None:
        """Once a tick."""
        if not self.unhurried:
            self._anchor(t_s)
        behind_m = 0.0 if lag is None else lag.behind_m
        self._lags.append((t_s, behind_m))
        while len(self._lags) > 1 and t_s - self._lags[1][0] >= self.LOOK_BACK_S:
            self._lags.popleft()
        # One position far off (an outlier of odometry) is no lag: it must have lasted.
        behind_m = min(m for s, m in self._lags if s >= t_s - self.LASTING_S)
        past_s, past_m = self._lags[0]
        if behind_m < self.ALLOWED_M:
            if behind_m < self.ALLOWED_M / 2:
                self._set(t_s, 1.0, None)
        elif t_s - past_s >= self.LOOK_BACK_S - 1e-6 and behind_m > past_m - self.GAINING_M:
            share = (self.STOP_M - behind_m) / (self.STOP_M - self.ALLOWED_M)
            self._set(t_s, min(max(share, 0.0), 1.0), lag)

    def _anchor(self, t_s: float) -> None:
        own, rate, _ = self.at(np.array(t_s))
        self._own_s, self._rate, self._t_s = float(own), float(rate), max(t_s, self._t_s)

    def _set(self, t_s: float, target: float, lag: Lag | None) -> None:
        if target != self.target:
            self._anchor(t_s)
            self.target = target
        if lag is None or self.waiting_for is None or t_s - self._named_s > self.NAMED_S:
            self.waiting_for, self._named_s = lag, t_s
