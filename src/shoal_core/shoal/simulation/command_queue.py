"""What the thrusters are commanded: commands act after a delay, and not for ever."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EDGE = 1e-9  # seconds; times are sums of steps


class CommandQueue:
    """One vehicle's. A delay counts from the odometry that the command answers; none acts before it has arrived."""

    def __init__(self, thrusters: int, delay_s: float, timeout_s: float) -> None:
        self._delay_s, self._timeout_s = delay_s, timeout_s
        self._wanted_N = np.zeros(thrusters)
        self._waiting: deque[tuple[float, Array]] = deque()  # (acts from, thrust)
        self._acting_N = np.zeros(thrusters)
        self._arrived_s: float | None = None

    def command(self, arrived_s: float, answers_s: float, thrust_N: Array) -> None:
        """All thrusters at once; `answers_s` is the stamp of the odometry that was answered."""
        if not math.isfinite(float(thrust_N.sum())):
            self.update(arrived_s, answers_s, dict(enumerate(thrust_N.tolist())))
            return
        self._wanted_N = thrust_N
        self._append(arrived_s, answers_s)

    def update(self, arrived_s: float, answers_s: float, forces_N: dict[int, float]) -> None:
        """New commands for some thrusters. What is not a number is no command: it counts as silence."""
        good = {index: force for index, force in forces_N.items() if math.isfinite(force)}
        if not good:
            return
        wanted = self._wanted_N.copy()
        for index, force in good.items():
            wanted[index] = force
        self._wanted_N = wanted
        self._append(arrived_s, answers_s)

    def _append(self, arrived_s: float, answers_s: float) -> None:
        self._arrived_s = arrived_s
        acts_s = max(answers_s + self._delay_s, arrived_s) if self._delay_s > 0 else arrived_s
        if self._waiting and abs(self._waiting[-1][0] - acts_s) < EDGE:
            self._waiting.pop()  # the eight messages of one command may come in two ticks
        self._waiting.append((acts_s, self._wanted_N))

    def silent(self, t_s: float) -> bool:
        """Whether nothing has arrived for the timeout, or ever."""
        return self._arrived_s is None or t_s - self._arrived_s > self._timeout_s + EDGE

    def acting(self, t_s: float) -> Array:
        """The thrust (n,) at `t_s`; zero after the timeout: a missing message must not leave thrusters running."""
        while self._waiting and self._waiting[0][0] <= t_s + EDGE:
            self._acting_N = self._waiting.popleft()[1]
        if self.silent(t_s):
            self._acting_N = np.zeros_like(self._acting_N)
            self._wanted_N = np.zeros_like(self._wanted_N)
            self._waiting.clear()
        return self._acting_N

    def changes_within(self, t_s: float, duration_s: float) -> bool:
        """Whether another command takes effect after the beginning and before the end of that time."""
        return any(t_s + EDGE < acts_s < t_s + duration_s - EDGE for acts_s, _ in self._waiting)
