"""What the thrusters are commanded: commands act after a delay, and not for ever."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.messages.joining import Ownership

Array = NDArray[np.float64]
EDGE = 1e-9  # seconds; times are sums of steps


class CommandQueue:
    """One vehicle's. A delay counts from the odometry that the command answers; none acts before it has arrived."""

    def __init__(
        self, thrusters: int, delay_s: float, timeout_s: float, late_s: Callable[[float], float] | None = None
    ) -> None:
        """`late_s`: by how much more what arrives at a time is delayed; without it, by nothing."""
        self._delay_s, self._timeout_s, self._late_s = delay_s, timeout_s, late_s
        self._wanted_N = np.zeros(thrusters)
        self._waiting: deque[tuple[float, Array]] = deque()  # (acts from, thrust)
        self._acting_N = np.zeros(thrusters)
        self._arrived_s: float | None = None
        self.owner: Ownership | None = None  # the newest that has commanded
        self.refused = 0  # commands of somebody who does not own the vehicle any more

    def command(self, arrived_s: float, answers_s: float, thrust_N: Array, by: Ownership | None = None) -> None:
        """All thrusters at once; `answers_s` is the stamp of the odometry that was answered.

        `by`: an older owner than the last one, or another one of the same count, is not obeyed.
        """
        if by is not None and self.owner is not None and by != self.owner and by.count <= self.owner.count:
            self.refused += 1
            return
        self.owner = by or self.owner
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
        delay_s = self._delay_s if self._late_s is None else self._delay_s + self._late_s(arrived_s)
        acts_s = max(answers_s + delay_s, arrived_s) if delay_s > 0 else arrived_s
        # The eight messages of one command may come in two ticks; a command that overtakes others makes them void.
        while self._waiting and self._waiting[-1][0] > acts_s - EDGE:
            self._waiting.pop()
        self._waiting.append((acts_s, self._wanted_N))

    @property
    def arrived_s(self) -> float | None:
        """When the last command came."""
        return self._arrived_s

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
