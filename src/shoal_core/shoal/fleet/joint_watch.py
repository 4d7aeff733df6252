"""Whether a joint still holds, from the odometry of both its vehicles.

They are joined a little off the drawing, which turns with them, and their navigation differs by a constant, which does
not, drifts slowly and may jump when a map is corrected. What none of these does is to part steadily at centimetres a
second and more, seen from the vehicles and in the world alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.frames import matrix
from shoal.messages.joining import DrawnJoint
from shoal.messages.odometry import Odometry

Array = NDArray[np.float64]
LEARN_S = 1.0  # of a new joint, until it is known how it lies
SMOOTH_S = 0.3
FORGET_S = 60.0  # in which what is taken for normal follows the drift of navigation
APART_M, APART_RAD = 0.15, np.radians(12.0)
JUMP_M, JUMP_RAD = 0.25, np.radians(20.0)  # within a step: navigation, not the vehicle


def joint_gap(joint: DrawnJoint, a: Odometry, b: Odometry) -> Array:
    """(9,) of B's end from A's: metres in A's body frame, the same in the world, and a small rotation."""
    turn_a, turn_b = matrix(a.attitude), matrix(b.attitude)
    apart = b.position_m + turn_b @ joint.at_b_m - a.position_m - turn_a @ joint.at_a_m
    off = (turn_a @ matrix(joint.attitude)).T @ turn_b
    half = (off - off.T) / 2
    return np.concatenate([turn_a.T @ apart, apart, [half[2, 1], half[0, 2], half[1, 0]]])


class JointWatch:
    """Of one joint; `broken` once it has come apart."""

    def __init__(self, joint: DrawnJoint) -> None:
        self.joint, self.broken = joint, False
        self._normal: Array | None = None
        self._smooth, self._last = np.zeros(9), np.zeros(9)
        self._began_s = self._last_s = 0.0

    def see(self, odometry: Mapping[str, Odometry]) -> bool:
        """Whether it has broken, by the newest odometry of both."""
        a, b = odometry.get(self.joint.a), odometry.get(self.joint.b)
        if a is None or b is None or abs(a.stamp_s - b.stamp_s) > 0.1 or max(a.stamp_s, b.stamp_s) <= self._last_s:
            return self.broken
        t_s, gap = max(a.stamp_s, b.stamp_s), joint_gap(self.joint, a, b)
        if self._normal is None:
            self._normal, self._smooth, self._last = gap, gap.copy(), gap
            self._began_s = self._last_s = t_s
            return False
        step_s, self._last_s = t_s - self._last_s, t_s
        moved, self._last = gap - self._last, gap
        if _apart_m(moved) > JUMP_M or float(np.linalg.norm(moved[6:])) > JUMP_RAD:
            self._normal, self._smooth = self._normal + moved, self._smooth + moved
        self._smooth = self._smooth + min(1.0, step_s / SMOOTH_S) * (gap - self._smooth)
        forget_s = LEARN_S / 3 if t_s - self._began_s < LEARN_S else FORGET_S
        off = self._smooth - self._normal
        self._normal = self._normal + min(1.0, step_s / forget_s) * off
        self.broken |= _apart_m(off) > APART_M or float(np.linalg.norm(off[6:])) > APART_RAD
        return self.broken


def _apart_m(gap: Array) -> float:
    """The smaller of both views: an offset that turns with them moves in the world alone, navigation's in theirs."""
    return min(float(np.linalg.norm(gap[:3])), float(np.linalg.norm(gap[3:6])))
