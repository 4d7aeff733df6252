"""Where to go: the common setpoint and the formation, made into one's own place; without them, where one is. No ROS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.control.rotations import yaw_of
from shoal.fleet.odometry import Odometry
from shoal.guidance.preview import Preview
from shoal.guidance.slots import Slots

AHEAD_S = 1.0  # a stamp further in the future is from before the clock went back


@dataclass(frozen=True)
class Goal:
    """For one step."""

    own: Preview
    places: dict[str, Preview]  # where the formation has the neighbours
    reason: str = ""  # why we hold instead of following; empty: following


class Course:
    """Keeps the newest reference and formation."""

    def __init__(self, name: str, patience_s: float) -> None:
        """`patience_s`: an older reference is not followed."""
        self._name, self._patience_s = name, patience_s
        self._reference: Preview | None = None
        self._stamp_s = 0.0
        self._slots: Slots | None = None
        self._held: Preview | None = None

    def clear(self) -> None:
        """The clock went back; the formation has no times and stays."""
        self._reference, self._held = None, None

    def take(self, reference: Preview, stamp_s: float) -> None:
        """A new setpoint preview."""
        self._reference, self._stamp_s = reference, stamp_s

    def form(self, slots: Slots) -> None:
        """A new formation."""
        self._slots = slots

    def goal(self, t_s: float, odometry: Odometry | None) -> Goal:
        """Follow, or hold with the reason."""
        reason = self._missing(t_s)
        if reason:
            return Goal(self._hold(t_s, odometry), {}, reason)
        self._held = None
        assert self._reference is not None and self._slots is not None
        places = {name: self._slots.place(name, self._reference) for name in self._slots.offsets}
        return Goal(places[self._name], places)

    def _missing(self, t_s: float) -> str:
        if self._reference is None:
            return "no reference"
        age = t_s - self._stamp_s
        if age > self._patience_s or age < -AHEAD_S:
            return "reference is old"
        if self._slots is None:
            return "no formation"
        return "" if self._name in self._slots.offsets else "formation has no place for this vehicle"

    def _hold(self, t_s: float, odometry: Odometry | None) -> Preview:
        """Where we were when holding began."""
        if self._held is None:
            if odometry is None or not np.isfinite(odometry.state).all():
                return Preview(np.array([t_s]), np.zeros((1, 3)), np.zeros((1, 3)))
            yaw = np.array([yaw_of(odometry.quaternion)])
            self._held = Preview(np.array([t_s]), odometry.position_m[None].copy(), np.zeros((1, 3)), yaw)
        return self._held
