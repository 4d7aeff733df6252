"""What is remembered of a pilot: sticks and setpoints with their age, and rates where none are sent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.messages.pilot import PilotInput

Array = NDArray[np.float64]
AHEAD_S = 0.4  # a setpoint is carried on by its rate no longer than this
SMOOTH = 0.5  # of each new difference, where rates are not sent
LARGEST = np.repeat([2.0, 6.0], 3)  # m/s² and rad/s² of a setpoint's motion; more is a step of its rate


class PilotMemory:
    """The newest message counts, until it is too old: then sticks are centred and setpoints stand still."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._last: PilotInput | None = None
        self._rates, self._accelerations = np.zeros(6), np.zeros(6)

    @property
    def heard(self) -> bool:
        """Whether there has ever been a pilot."""
        return self._last is not None

    def take(self, message: PilotInput) -> None:
        """One that was overtaken on its way is dropped."""
        last = self._last
        if last is not None and message.stamp_s < last.stamp_s:
            return
        self._accelerations = self._changes(last, message)
        self._rates = np.where(np.isnan(message.rates), self._differences(last, message), message.rates)
        self._last = message

    def _differences(self, last: PilotInput | None, new: PilotInput) -> Array:
        """Rates (6,) of setpoints that come without: a turning headset that is only copied lags by 2/ω."""
        if last is None or not 1e-3 < new.stamp_s - last.stamp_s <= self._timeout_s:
            return np.zeros(6)
        change = new.setpoints - last.setpoints
        change[3:] = (change[3:] + np.pi) % (2 * np.pi) - np.pi
        rates = change / (new.stamp_s - last.stamp_s)
        usable = np.abs(rates) < np.array([2.0, 2.0, 2.0, 4.0, 4.0, 4.0])  # a larger one is a step, not a motion
        rates = np.where(usable, rates, 0.0)
        return np.asarray(self._rates + SMOOTH * (rates - self._rates))

    def _changes(self, last: PilotInput | None, new: PilotInput) -> Array:
        """Accelerations (6,) from rates that are sent; a second difference of setpoints would be noise."""
        if last is None or not 1e-3 < new.stamp_s - last.stamp_s <= self._timeout_s:
            return np.zeros(6)
        found = (new.rates - last.rates) / (new.stamp_s - last.stamp_s)
        return np.where(np.abs(found) < LARGEST, found, 0.0)  # NaN, too

    def fresh(self, t_s: float) -> bool:
        """Whether the last message may still be acted upon."""
        return self._last is not None and t_s - self._last.stamp_s <= self._timeout_s

    def silent_s(self, t_s: float) -> float | None:
        """How long a pilot who was there has sent nothing, if too long."""
        return None if self._last is None or self.fresh(t_s) else t_s - self._last.stamp_s

    def sticks(self, t_s: float) -> Array:
        """(6,), centred when the pilot is silent."""
        return self._last.sticks if self._last is not None and self.fresh(t_s) else np.zeros(6)

    def setpoint(self, t_s: float, at_s: Array) -> tuple[Array, Array, Array]:
        """Setpoints, rates and accelerations (6,) expected at `at_s` (6,); NaN where there are none."""
        if self._last is None:
            return np.full(6, np.nan), np.zeros(6), np.zeros(6)
        if not self.fresh(t_s):  # where it was last expected, and no further
            return self._last.setpoints + self._rates * AHEAD_S, np.zeros(6), np.zeros(6)
        ahead_s, found = np.clip(at_s - self._last.stamp_s, 0.0, AHEAD_S), self._accelerations
        target = self._last.setpoints + (self._rates + found * ahead_s / 2) * ahead_s
        return target, self._rates + found * ahead_s, found
