"""Standard tests one after the other: glide to the start, wait until all are ready, run, next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ShoalError
from shoal.guidance.pace import Lag, SlowedPath, Swimmers, TimeBase, slowed
from shoal.guidance.path_file import load_path
from shoal.guidance.paths import STANDARD_PATHS, Path
from shoal.guidance.replan import Motion, go, stop
from shoal.guidance.splines import SAME_POINT_M, MotionLimits
from shoal.guidance.timeline import Piece, Timeline
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


class State(str, Enum):
    """Of the sequence, as `/fleet/test_status` says it."""

    IDLE = "idle"
    GLIDING = "gliding"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True)
class Trial:
    """One test; `duration_s` may be shorter than the path's."""

    name: str
    path: Path
    duration_s: float


def slowed_trial(trial: Trial, swimmers: Swimmers) -> Trial:
    """The same, slowed in time where its path is too fast for somebody."""
    path = slowed(trial.path, swimmers)
    if not isinstance(path, SlowedPath):
        return trial
    return Trial(trial.name, path, min(path.time_of(trial.duration_s), path.duration_s))


@dataclass(frozen=True)
class Status:
    """Where a sequence is."""

    state: State = State.IDLE
    test: str = ""
    t_s: float = 0.0  # of the running path
    duration_s: float = 0.0
    countdown_s: float | None = None  # until the start, while all are ready
    waiting_for: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    index: int = 0
    round: int = 0
    rounds: int = 0


def make_trials(names: str, duration_s: float = 0.0) -> tuple[Trial, ...]:
    """From `circle`, `line,circle`, `all` or path files; `duration_s` > 0 ends each early."""
    wanted = [n.strip() for n in names.split(",") if n.strip()]
    if wanted == ["all"]:
        wanted = list(STANDARD_PATHS)
    if not wanted:
        raise ShoalError(f"test = '{names}'; expected names of paths, with commas between them, or 'all'")
    if not (np.isfinite(duration_s) and duration_s >= 0):
        raise ShoalError(f"test_duration_s = {duration_s}; expected 0 (the path's) or more")
    paths = [(name, load_path(name)) for name in wanted]
    return tuple(Trial(n, p, min(p.duration_s, duration_s or np.inf)) for n, p in paths)


class TestSequence:
    """Owns the setpoint while tests are on. Paths run on the time given to `advance`, never on a clock.

    That time is slowed for vehicles that fall behind (`TimeBase`); everything here but its arguments is in slowed time.
    """

    __test__ = False  # pytest: not a test case

    def __init__(
        self,
        t_s: float,
        motion: Motion,
        trials: Sequence[Trial],
        rounds: int,
        ready_s: float,
        speed_mps: float,
        limits: MotionLimits,
    ) -> None:
        self._trials, self._rounds, self._ready_s = tuple(trials), rounds, ready_s
        self._speed_mps, self._limits = speed_mps, limits
        self._base = TimeBase(t_s)
        self._number = 0  # of the current trial, over all rounds
        self._state = State.GLIDING
        self._start_s = self._end_s = t_s  # of the current trial, once they are known
        self._ready_since_s: float | None = None
        self._waiting_for: tuple[str, ...] = ()
        self._way, self._arrival_s = self._way_to_start(t_s, motion, 0)
        self._timeline = Timeline(self._way)

    @property
    def state(self) -> State:
        """What it is doing."""
        return self._state

    @property
    def trial(self) -> Trial:
        """The test that is on, or comes next."""
        return self._trials[min(self._number, self._count - 1) % len(self._trials)]

    def motion(self, t_s: float) -> Motion:
        """Of the setpoint."""
        if self._base.unhurried:
            return self._timeline.motion(self._base.own_s(t_s))
        own_s, rate, slope = (float(x) for x in self._base.at(np.array(t_s)))
        m = self._timeline.motion(own_s)
        return Motion(m.position_m, m.velocity_mps * rate, m.acceleration_mps2 * rate**2 + m.velocity_mps * slope)

    def course_mps(self, t_s: float) -> Array:
        """Where it is bound for: its velocity (3,), were it not waiting."""
        return self._timeline.motion(self._base.own_s(t_s)).velocity_mps

    @property
    def waiting_for(self) -> Lag | None:
        """For whom the reference is slowed."""
        return self._base.waiting_for

    @property
    def slowed_to(self) -> float:
        """The share of its speed at which the running path is run where it is too fast for the vehicles; 1: nowhere."""
        path = self.trial.path
        return path.share if self._state is State.RUNNING and isinstance(path, SlowedPath) else 1.0

    def preview(self, t_s: float, horizon_times_s: ArrayLike) -> Preview:
        """Of the setpoint; while all are ready it shows the start to come, and while a test runs what follows it."""
        own_s = self._base.own_s(t_s)
        if self._base.unhurried and own_s == t_s:
            return self._timeline.preview(t_s, horizon_times_s)
        times_s = t_s + np.atleast_1d(np.asarray(horizon_times_s, dtype=float))
        own, rate, _ = self._base.at(times_s)
        found = self._timeline.preview(own_s, own - own_s)
        return Preview(times_s, found.positions_m, found.velocities_mps * rate[:, None])

    def advance(self, t_s: float, missing: Sequence[str], lag: Lag | None = None) -> None:
        """Go on to `t_s`; `missing`: what stands in the way of starting, now. `lag`: who is furthest behind."""
        self._base.advance(t_s, lag)
        t_s = self._base.own_s(t_s)
        if self._state is State.GLIDING and t_s >= self._arrival_s:
            self._state, self._ready_since_s = State.WAITING, None
        if self._state is State.WAITING:
            self._wait(t_s, tuple(missing))
        if self._state is State.RUNNING and t_s >= self._end_s:
            self._finish()

    def status(self, t_s: float) -> Status:
        """For the operator."""
        t_s = self._base.own_s(t_s)
        trial, running = self.trial, self._state is State.RUNNING
        ready_since = self._ready_since_s if self._state is State.WAITING else None
        return Status(
            state=self._state,
            test=trial.name,
            t_s=min(max(t_s - self._start_s, 0.0), trial.duration_s) if running else 0.0,
            duration_s=trial.duration_s,
            countdown_s=None if ready_since is None else max(0.0, ready_since + self._ready_s - t_s),
            waiting_for=self._waiting_for if self._state is State.WAITING else (),
            sequence=tuple(trial.name for trial in self._trials),
            index=min(self._number, self._count - 1) % len(self._trials),
            round=min(self._number, self._count - 1) // len(self._trials) + 1,
            rounds=self._rounds,
        )

    @property
    def _count(self) -> int:
        return len(self._trials) * self._rounds

    def _wait(self, t_s: float, missing: tuple[str, ...]) -> None:
        self._waiting_for = missing
        if missing:
            if self._ready_since_s is not None:
                self._ready_since_s, self._timeline = None, Timeline(self._way)
            return
        if self._ready_since_s is None:
            self._ready_since_s = t_s
            self._plan_run(t_s + self._ready_s)
        if t_s >= self._start_s:
            self._state = State.RUNNING

    def _plan_run(self, start_s: float) -> None:
        """Rest at the start, then the test, then what follows it: to the next start, or braking."""
        run, length_s = Piece(start_s, self.trial.path), self.trial.duration_s
        self._start_s, self._end_s = start_s, start_s + length_s
        # Asked of the path itself: by absolute times, rounding could ask past the end, where it rests.
        at_end = Piece(0.0, self.trial.path).motion(length_s)
        self._next = self._way_to_start(self._end_s, at_end, self._number + 1)
        self._timeline = Timeline(self._way, run, self._next[0])

    def _finish(self) -> None:
        self._number += 1
        self._way, self._arrival_s = self._next
        self._state = State.DONE if self._number >= self._count else State.GLIDING
        self._timeline = Timeline(self._way)

    def _way_to_start(self, t_s: float, motion: Motion, number: int) -> tuple[Piece, float]:
        """To the first point of that trial, and when it is there; after the last trial it only brakes."""
        if number < self._count:
            start_m = np.asarray(self._trials[number % len(self._trials)].path.position(0.0))
            if np.linalg.norm(start_m - motion.position_m) > SAME_POINT_M or np.any(motion.velocity_mps):
                path, arrivals_s = go(motion, start_m[None], np.array([self._speed_mps]), self._limits)
                return Piece(t_s, path), t_s + float(arrivals_s[-1])
            return Piece(t_s, stop(motion, self._limits)), t_s  # it is there already
        path = stop(motion, self._limits)
        return Piece(t_s, path), t_s + path.duration_s
