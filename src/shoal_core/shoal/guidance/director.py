"""Who moves the setpoint: hold, a stick, waypoints or tests. One owner at a time, and none begins with a jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ShoalError
from shoal.guidance.pace import Lag, Swimmers
from shoal.guidance.replan import Motion
from shoal.guidance.sequence import State, Status, TestSequence, Trial, slowed_trial
from shoal.guidance.splines import SAME_POINT_M, MotionLimits
from shoal.guidance.timeline import Timeline, hold
from shoal.guidance.velocity_setpoint import TurnLimits, VelocitySetpoint
from shoal.guidance.waypoints import Waypoint, WaypointQueue
from shoal.messages.health import Code, Issue, Severity
from shoal.messages.preview import Preview

Array = NDArray[np.float64]
MOST_WAYPOINTS = 1000  # planning takes 0.3 ms for each
PREVIEW_S = 4.0  # how far ahead a reference looks
POINT_STEP_S = 0.1  # between its points
PLANNED_PERIOD_S = 0.2  # between two references whose future is known


class Mode(str, Enum):
    """Who owns the reference; in hold nobody does."""

    HOLD = "hold"
    MANUAL = "manual"
    WAYPOINTS = "waypoints"
    TEST = "test"
    TASK = "task"  # a task of the core orders the fleet about

    @staticmethod
    def named(text: str) -> Mode:
        """By name; a ShoalError when there is none of that name."""
        try:
            return Mode(text.strip())
        except ValueError:
            known = ", ".join(mode.value for mode in Mode)
            raise ShoalError(f"mode: '{text}' is unknown; expected one of: {known}") from None


class ReferenceSchedule:
    """When a reference goes out and how far ahead it looks: often while a stick moves it, seldom along a path."""

    def __init__(self, preview_s: float = PREVIEW_S) -> None:
        self.horizon_s = np.arange(0.0, preview_s + POINT_STEP_S / 2, POINT_STEP_S)
        self._last_s, self._last_mode = -np.inf, Mode.HOLD

    def due(self, t_s: float, mode: Mode) -> bool:
        """Whether one is due; whoever asks sends it."""
        waited_s = t_s - self._last_s
        if mode is self._last_mode and mode is not Mode.MANUAL and 0 <= waited_s < PLANNED_PERIOD_S - 1e-9:
            return False
        self._last_s, self._last_mode = t_s, mode
        return True


@dataclass(frozen=True)
class DirectorSettings:
    """May change while the fleet swims."""

    speed_mps: float
    limits: MotionLimits
    turn: TurnLimits
    ready_s: float
    stick_timeout_s: float


class Director:
    """`t_s` is absolute and does not go back; NED. Refusals are ShoalErrors and change nothing."""

    def __init__(self, t_s: float, position_m: ArrayLike, settings: DirectorSettings, yaw_rad: float = 0.0) -> None:
        self.settings = settings
        self.mode = Mode.HOLD
        self.swimmers: Swimmers = ()  # who follows: paths of tests are slowed to what the slowest of them can do
        self._ahead: tuple[Waypoint, ...] = ()  # waypoints kept while somebody else owns the reference
        self._status = Status()  # of the last tests
        rest = Motion(np.array(position_m, dtype=float), np.zeros(3), np.zeros(3))
        self._owner: Timeline | VelocitySetpoint | WaypointQueue | TestSequence = hold(t_s, rest, settings.limits)
        # The formation's yaw outlives its owner: whoever takes over must not stop a turn with a jerk.
        self._turning = self._stick(t_s, rest, yaw_rad)

    # -- where the setpoint is ----------------------------------------------------------------------------------

    def motion(self, t_s: float) -> Motion:
        """Of the common point."""
        return self._owner.motion(t_s)

    def yaw_rad(self, t_s: float) -> float:
        """Of the formation."""
        return self._turning.yaw_rad(t_s)

    def preview(self, t_s: float, horizon_times_s: ArrayLike) -> Preview:
        """The common point over the horizon; the headings are the formation's yaw."""
        found = self._owner.preview(t_s, horizon_times_s)
        headings = self._turning.headings_rad(t_s, found.times_s)
        return Preview(found.times_s, found.positions_m, found.velocities_mps, headings)

    def waypoints(self, t_s: float) -> tuple[Waypoint, ...]:
        """Those not passed yet, in force or kept for later."""
        return self._owner.remaining(t_s) if isinstance(self._owner, WaypointQueue) else self._ahead

    def status(self, t_s: float) -> Status:
        """Of the tests."""
        return self._owner.status(t_s) if isinstance(self._owner, TestSequence) else self._status

    def course_mps(self, t_s: float) -> Array | None:
        """The velocity (3,) against which somebody may be behind; None: nothing is waited for."""
        return self._owner.course_mps(t_s) if isinstance(self._owner, TestSequence) else None

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Why the reference does not run as its path says."""
        if not isinstance(self._owner, TestSequence):
            return ()
        found: list[Issue] = []
        if (share := self._owner.slowed_to) < 1.0:
            found.append(Issue(Code.PATH_SLOWED, Severity.WARNING, value=100 * share))
        if (lag := self._owner.waiting_for) is not None:
            found.append(Issue(Code.REFERENCE_WAITS, Severity.WARNING, lag.vehicle, lag.behind_m))
        return tuple(found)

    # -- what operators ask -------------------------------------------------------------------------------------

    def set_mode(self, t_s: float, mode: Mode) -> None:
        """Hand the reference over; tests are started with `start_tests`."""
        if mode in (Mode.TEST, Mode.TASK):
            raise ShoalError(f"mode: '{mode.value}' cannot be set; expected a start of it")
        if mode is self.mode:
            return
        motion = self._leave(t_s)
        if mode is Mode.HOLD:
            self._owner = hold(t_s, motion, self.settings.limits)
        elif mode is Mode.MANUAL:
            self._owner = self._stick(t_s, motion)
        else:
            self._owner = self._queue(t_s, motion, self._ahead)
            self._ahead = ()
        self.mode = mode

    def start_tests(self, t_s: float, trials: Sequence[Trial], rounds: int = 1) -> None:
        """From wherever the setpoint is; tests that are on already start again from the first."""
        if not trials or rounds < 1:
            raise ShoalError(f"tests: {len(trials)} of them, {rounds} times; expected at least one, once")
        motion, s = self._leave(t_s), self.settings
        trials = [slowed_trial(trial, self.swimmers) for trial in trials]
        self._owner = TestSequence(t_s, motion, trials, rounds, s.ready_s, s.speed_mps, s.limits)
        self.mode = Mode.TEST

    def stick(self, t_s: float, velocity_mps: ArrayLike, yaw_rate_radps: float = 0.0) -> None:
        """A velocity command; one that asks for motion takes the reference from hold."""
        wanted = np.append(np.asarray(velocity_mps, dtype=float), yaw_rate_radps)
        if wanted.shape != (4,) or not np.all(np.isfinite(wanted)):
            raise ShoalError(f"joystick: command {wanted.tolist()}; expected three velocities and a yaw rate, finite")
        if self.mode is not Mode.MANUAL:
            if not np.any(wanted):  # a stick let go of asks for nothing
                return
            self._ask(t_s, Mode.MANUAL, "joystick")
        assert isinstance(self._owner, VelocitySetpoint)
        self._owner.command(t_s, wanted[:3])
        self._turning.command(t_s, np.zeros(3), float(wanted[3]))

    def add_waypoint(self, t_s: float, position_m: ArrayLike) -> None:
        """Go there last."""
        self._check_places([position_m])
        if len(self.waypoints(t_s)) >= MOST_WAYPOINTS:
            raise ShoalError(f"waypoint: {MOST_WAYPOINTS} are waiting already; expected fewer")
        self._ask(t_s, Mode.WAYPOINTS, "waypoint")
        assert isinstance(self._owner, WaypointQueue)
        self._owner.append(t_s, position_m)

    def set_waypoints(
        self, t_s: float, positions_m: Sequence[ArrayLike], legs_s: Sequence[float | None] | None = None
    ) -> None:
        """Go there instead of where it was to go. None at all: the same as `clear`.

        `legs_s`: how long the way to each of them takes; None: at the usual speed. The limits hold all the same.
        """
        places = self._check_places(positions_m)
        steps = [np.linalg.norm(b - a) for a, b in pairwise(places)]
        if any(step < SAME_POINT_M for step in steps):
            raise ShoalError("waypoints: two that follow each other are the same place; expected different ones")
        if places:
            self._ask(t_s, Mode.WAYPOINTS, "waypoints")
            motion = self._owner.motion(t_s)
            speeds = self._speeds([motion.position_m, *places], legs_s or [None] * len(places))
            new = tuple(Waypoint(place, speed) for place, speed in zip(places, speeds, strict=True))
            self._owner = self._queue(t_s, motion, new)
        else:
            self.clear(t_s)

    def clear(self, t_s: float) -> None:
        """Forget all waypoints; brakes if they were being followed."""
        self._ahead = ()
        if isinstance(self._owner, WaypointQueue):
            self._owner.clear(t_s)

    def apply(self, t_s: float, settings: DirectorSettings) -> None:
        """New speeds and limits, from the present motion on. Tests that are on heed them from the next start on."""
        if settings == self.settings:
            return
        self.settings = settings
        motion, ahead = self.motion(t_s), self.waypoints(t_s)
        self._turning.turn = settings.turn
        if self.mode is Mode.HOLD:
            self._owner = hold(t_s, motion, settings.limits)
        elif self.mode is Mode.MANUAL:
            self._owner = self._stick(t_s, motion)
        elif self.mode is Mode.WAYPOINTS:
            new = tuple(replace(waypoint, speed_mps=settings.speed_mps) for waypoint in ahead)
            self._owner = self._queue(t_s, motion, new)

    def advance(self, t_s: float, missing: Sequence[str], lag: Lag | None = None) -> None:
        """Once a tick: tests go on, and give the reference back when they are over; they wait for who lags."""
        if isinstance(self._owner, TestSequence):
            self._owner.advance(t_s, missing, lag)
            if self._owner.state is State.DONE:
                self.set_mode(t_s, Mode.HOLD)

    # -- handing over -------------------------------------------------------------------------------------------

    def _ask(self, t_s: float, mode: Mode, who: str) -> None:
        if self.mode not in (Mode.HOLD, mode):
            raise ShoalError(f"{who}: the reference belongs to mode '{self.mode.value}'; expected hold or {mode.value}")
        self.set_mode(t_s, mode)

    def _leave(self, t_s: float) -> Motion:
        """What the owner leaves behind."""
        motion = self._owner.motion(t_s)
        if isinstance(self._owner, WaypointQueue):
            self._ahead = self._owner.remaining(t_s)
        elif isinstance(self._owner, TestSequence):
            stopped = self._owner.status(t_s)
            self._status = stopped if stopped.state is State.DONE else replace(stopped, state=State.IDLE)
        elif isinstance(self._owner, VelocitySetpoint):
            self._turning.release(t_s)
        return motion

    def _stick(self, t_s: float, motion: Motion, yaw_rad: float = 0.0) -> VelocitySetpoint:
        s = self.settings
        return VelocitySetpoint(t_s, motion, s.limits, yaw_rad, s.turn, s.stick_timeout_s)

    def _queue(self, t_s: float, motion: Motion, waypoints: Sequence[Waypoint]) -> WaypointQueue:
        queue = WaypointQueue(t_s, motion, self.settings.speed_mps, self.settings.limits)
        queue.holding = True  # one plan at the end instead of one for each waypoint
        for waypoint in waypoints:
            queue.append(t_s, waypoint.position_m, waypoint.speed_mps)
        queue.resume(t_s)
        return queue

    def _speeds(self, places: Sequence[Array], legs_s: Sequence[float | None]) -> list[float]:
        """Average speeds between places; a leg of no length or no time has the usual one."""
        usual, most = self.settings.speed_mps, self.settings.limits.speed_mps
        speeds = []
        for (a, b), leg_s in zip(pairwise(places), legs_s, strict=True):
            length_m = float(np.linalg.norm(b - a))
            given = leg_s is not None and np.isfinite(leg_s) and leg_s > 0 and length_m > SAME_POINT_M
            speeds.append(min(length_m / leg_s, most) if given and leg_s else usual)
        return speeds

    @staticmethod
    def _check_places(positions_m: Sequence[ArrayLike]) -> list[Array]:
        if len(positions_m) > MOST_WAYPOINTS:
            raise ShoalError(f"waypoints: {len(positions_m)} of them; expected at most {MOST_WAYPOINTS}")
        places = [np.array(place, dtype=float) for place in positions_m]
        for place in places:
            if place.shape != (3,) or not np.all(np.isfinite(place)):
                raise ShoalError(f"waypoint: position {place.tolist()}; expected three finite numbers")
        return places
