"""Waypoints an operator changes while the fleet swims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ShoalError
from shoal.guidance.replan import Motion, go, stop
from shoal.guidance.splines import SAME_POINT_M, MotionLimits
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Waypoint:
    """A place to pass, and the average speed on the way to it."""

    position_m: Array  # (3,) NED
    speed_mps: float


class WaypointQueue:
    """A setpoint on its way through waypoints; every change goes on from its motion at that moment.

    It stops at the last waypoint and waits there for more. `t_s` is absolute and does not go back.
    """

    def __init__(self, t_s: float, motion: Motion, speed_mps: float, limits: MotionLimits) -> None:
        """Take a setpoint over as it moves (from the joystick, say) and bring it to rest until waypoints come."""
        self.speed_mps = speed_mps
        self.limits = limits
        self.holding = False
        self._waypoints: list[Waypoint] = []
        self._plan(t_s, motion)

    def motion(self, t_s: float) -> Motion:
        """Of the setpoint."""
        t = t_s - self._start_s
        return Motion(self._path.position(t), self._path.velocity(t), self._path.acceleration(t))

    def preview(self, t_s: float, horizon_times_s: ArrayLike) -> Preview:
        """The setpoint at `t_s + horizon_times_s`."""
        times_s = t_s + np.atleast_1d(np.asarray(horizon_times_s, dtype=float))
        return Preview(
            times_s, self._path.position(times_s - self._start_s), self._path.velocity(times_s - self._start_s)
        )

    def remaining(self, t_s: float) -> tuple[Waypoint, ...]:
        """Those not passed yet."""
        passed = int(np.sum(self._arrivals_s <= t_s))
        return tuple(self._waypoints[passed:])

    def append(self, t_s: float, position_m: ArrayLike, speed_mps: float | None = None) -> None:
        """Go there last."""
        self.insert(t_s, len(self.remaining(t_s)), position_m, speed_mps)

    def insert(self, t_s: float, index: int, position_m: ArrayLike, speed_mps: float | None = None) -> None:
        """Go there before the remaining waypoint of that index (0: next)."""
        point = Waypoint(np.array(position_m, dtype=float), self.speed_mps if speed_mps is None else speed_mps)
        ahead = list(self.remaining(t_s))
        if point.position_m.shape != (3,) or not np.all(np.isfinite(point.position_m)):
            raise ShoalError(f"waypoint: position {position_m!r}; expected three finite numbers")
        if not 0 < point.speed_mps < np.inf:
            raise ShoalError(f"waypoint: speed_mps = {speed_mps}; expected more than 0")
        if not 0 <= index <= len(ahead):
            raise ShoalError(f"waypoint: index = {index}; expected 0 to {len(ahead)}")
        for other in ahead[max(index - 1, 0) : index + 1]:
            if np.linalg.norm(other.position_m - point.position_m) < SAME_POINT_M:
                raise ShoalError(
                    f"waypoint: {position_m!r} is next to itself; expected a place away from its neighbours"
                )
        self._change(t_s, [*ahead[:index], point, *ahead[index:]])

    def clear(self, t_s: float) -> None:
        """Forget all waypoints and brake."""
        self._change(t_s, [])

    def hold(self, t_s: float) -> None:
        """Brake, wait, keep the waypoints."""
        self.holding, ahead = True, list(self.remaining(t_s))
        self._change(t_s, ahead)

    def resume(self, t_s: float) -> None:
        """Go on after a hold."""
        self.holding, ahead = False, list(self.remaining(t_s))
        self._change(t_s, ahead)

    def _change(self, t_s: float, waypoints: list[Waypoint]) -> None:
        self._waypoints = waypoints
        self._plan(t_s, self.motion(t_s))

    def _plan(self, t_s: float, now: Motion) -> None:
        """A new path from the present motion through `_waypoints`."""
        self._start_s = t_s
        if self.holding or not self._waypoints:
            self._path, self._arrivals_s = stop(now, self.limits), np.empty(0)
            return
        places = np.array([w.position_m for w in self._waypoints])
        speeds = np.array([w.speed_mps for w in self._waypoints])
        self._path, arrivals_s = go(now, places, speeds, self.limits)
        self._arrivals_s = t_s + arrivals_s
