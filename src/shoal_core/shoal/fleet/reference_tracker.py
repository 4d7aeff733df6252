"""Where to go: the common setpoint and the formation, made into one's own place; without them, where one is. No ROS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from shoal.frames import yaw_of
from shoal.guidance.slots import FormationMotion, Slots
from shoal.messages.odometry import Odometry
from shoal.messages.preview import Preview

AHEAD_S = 1.0  # a stamp further in the future is from before the clock went back


class Places(Mapping[str, Preview]):
    """Where the formation has each vehicle, worked out for those that are asked for, once for each reference."""

    def __init__(self, slots: Slots | None, reference: Preview | None, names: Iterable[str] = ()) -> None:
        self._slots, self._reference = slots, reference
        self._names = tuple(names)
        self._made: dict[str, Preview] = {}
        self._swing: FormationMotion | None = None

    def __getitem__(self, name: str) -> Preview:
        if name not in self._names or self._slots is None or self._reference is None:
            raise KeyError(name)
        if name not in self._made:
            if self._swing is None:
                self._swing = self._slots.swing(self._reference)
            self._made[name] = self._slots.place(name, self._reference, self._swing)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def without(self, names: Iterable[str]) -> Places:
        """The same for fewer; what is worked out is shared."""
        left = Places(self._slots, self._reference, [n for n in self._names if n not in set(names)])
        left._made, left._swing = self._made, self._swing
        return left


NOWHERE = Places(None, None)


@dataclass(frozen=True)
class Goal:
    """For one step."""

    own: Preview
    places: Places  # where the formation has the neighbours
    reason: str = ""  # why we hold instead of following; empty: following


class ReferenceTracker:
    """Keeps the newest reference and formation."""

    def __init__(self, name: str, patience_s: float) -> None:
        """`patience_s`: an older reference is not followed."""
        self._name, self._patience_s = name, patience_s
        self._reference: Preview | None = None
        self._slots: Slots | None = None
        self._places = NOWHERE
        self._held: Preview | None = None

    def clear(self) -> None:
        """The clock went back; the formation has no times and stays."""
        self._reference, self._held = None, None

    def take(self, reference: Preview) -> None:
        """A new setpoint preview; it begins when it was made."""
        self._reference = reference
        self._renew()

    def form(self, slots: Slots) -> None:
        """A new formation."""
        self._slots = slots
        self._renew()

    def _renew(self) -> None:
        if self._slots is not None:
            self._places = Places(self._slots, self._reference, self._slots.offsets)

    def goal(self, t_s: float, odometry: Odometry | None) -> Goal:
        """Follow, or hold with the reason."""
        reason = self._missing(t_s)
        if reason:
            return Goal(self._hold(t_s, odometry), NOWHERE, reason)
        self._held = None
        return Goal(self._places[self._name], self._places)

    def _missing(self, t_s: float) -> str:
        if self._reference is None:
            return "no reference"
        age = t_s - float(self._reference.times_s[0])
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
            yaw = np.array([yaw_of(odometry.attitude)])
            self._held = Preview(np.array([t_s]), odometry.position_m[None].copy(), np.zeros((1, 3)), yaw)
        return self._held
