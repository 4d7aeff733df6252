"""What the thrusters are told: commands act after a delay, and not for ever. No ROS."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EDGE = 1e-9  # seconds; times are sums of steps


class CommandQueue:
    """One vehicle's. A delay counts from the odometry that the command answers, as in the lock-step simulator."""

    def __init__(self, thrusters: int, delay_s: float, timeout_s: float) -> None:
        self._delay_s, self._timeout_s = delay_s, timeout_s
        self._wanted_N = np.zeros(thrusters)
        self._waiting: deque[tuple[float, Array]] = deque()  # (acts from, thrust)
        self._acting_N = np.zeros(thrusters)
        self._heard_s: float | None = None

    def hear(self, t_s: float, odometry_s: float, forces_N: dict[int, float]) -> None:
        """New commands for some thrusters. What is not a number is no command: it counts as silence."""
        good = {index: force for index, force in forces_N.items() if np.isfinite(force)}
        if not good:
            return
        for index, force in good.items():
            self._wanted_N[index] = force
        self._heard_s = t_s
        acts_s = odometry_s + self._delay_s if self._delay_s > 0 else t_s
        if self._waiting and abs(self._waiting[-1][0] - acts_s) < EDGE:
            self._waiting.pop()  # the eight messages of one command may come in two ticks
        self._waiting.append((acts_s, self._wanted_N.copy()))

    def silent(self, t_s: float) -> bool:
        """Whether nothing was heard for the timeout, or ever."""
        return self._heard_s is None or t_s - self._heard_s > self._timeout_s + EDGE

    def acting(self, t_s: float) -> Array:
        """The thrust (n,) at `t_s`; zero after the timeout: a missing message must not leave thrusters running."""
        while self._waiting and self._waiting[0][0] <= t_s + EDGE:
            self._acting_N = self._waiting.popleft()[1]
        if self.silent(t_s):
            self._acting_N = np.zeros_like(self._acting_N)
            self._wanted_N = np.zeros_like(self._wanted_N)
            self._waiting.clear()
        return self._acting_N
