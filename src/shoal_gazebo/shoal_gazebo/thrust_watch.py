"""When must a thruster be stopped? Gazebo's Thruster keeps the last command for ever. No ROS here.

Only thrusters whose last command was not zero matter: a zero, whoever sent it, needs no watching. So the watchdog
never reacts to its own zeros on the same topic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Thruster = tuple[str, str]  # vehicle, thruster


@dataclass(frozen=True)
class Moment:
    """An instant on both clocks."""

    sim_s: float
    wall_s: float


class ThrustWatch:
    """Last commands and their age.

    The limit is in simulation time, so that a slow simulation is no fault. Should that clock stop or run back, the wall
    clock's limit applies.
    """

    def __init__(self, timeout_s: float, wall_timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.wall_timeout_s = wall_timeout_s
        self._pushing: dict[Thruster, Moment] = {}

    def on_command(self, thruster: Thruster, thrust_N: float, now: Moment) -> None:
        """A command was received. Gazebo takes NaN for zero."""
        if is_push(thrust_N):
            self._pushing[thruster] = now
        else:
            self._pushing.pop(thruster, None)

    def overdue(self, now: Moment) -> list[Thruster]:
        """Thrusters to be stopped now; they stay in the list until their zero is received."""
        return [thruster for thruster, then in self._pushing.items() if self._too_old(then, now)]

    def _too_old(self, then: Moment, now: Moment) -> bool:
        age = now.sim_s - then.sim_s
        return not 0 <= age <= self.timeout_s or now.wall_s - then.wall_s > self.wall_timeout_s

    def pushing(self) -> list[Thruster]:
        """Every thruster whose last command was not zero."""
        return list(self._pushing)


def is_push(thrust_N: float) -> bool:
    """Whether a command moves anything."""
    return thrust_N != 0 and not math.isnan(thrust_N)
