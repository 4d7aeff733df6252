"""Whether a vessel swims at all: one whose thrusters are dead does not report it, it is asked to move and does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.platform.model import PlanarPose

Array = NDArray[np.float64]
# m: asked to go further than this, and not moved by that much: stuck. Hulls beside the way may keep it off its end.
UNDER_WAY = 0.35, 0.03
BERTHING = 0.04, 0.01  # the same; in contact nobody is asked to go that far


class Watch:
    """Whether a vessel that is asked to go somewhere moves at all."""

    def __init__(self, asked_m: float = UNDER_WAY[0], moved_m: float = UNDER_WAY[1]) -> None:
        self._asked_m, self._moved_m = asked_m, moved_m
        self._since: tuple[float, Array] | None = None  # where it was last seen to move

    def stuck_s(self, t_s: float, pose: PlanarPose | None, goal: PlanarPose) -> float:
        """For how long it has not moved though its goal is elsewhere; 0: it moves, or need not."""
        if pose is None or float(np.linalg.norm(goal.position_m - pose.position_m)) < self._asked_m:
            self._since = None
            return 0.0
        if self._since is None or float(np.linalg.norm(pose.position_m - self._since[1])) > self._moved_m:
            self._since = t_s, pose.position_m
        return t_s - self._since[0]

    def begin_again(self) -> None:
        """Nobody was asked to move for a while."""
        self._since = None
