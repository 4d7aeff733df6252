"""The autopilot's estimate as odometry: its messages, its clock against ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.frames import from_euler, multiply, rotation_matrix
from shoal.messages.odometry import Odometry

Array = NDArray[np.float64]
DRIFT = 1e-3  # by which the smallest offset may grow: clocks that run apart, in s/s
RESTART_S = 1.0  # the autopilot's clock went back by more
OLD_S = 0.2  # an attitude older than the position by more belongs to another moment


class BootClock:
    """Our time of the autopilot's stamps: the least delay seen so far is taken for none."""

    def __init__(self) -> None:
        self._offset_s = math.inf
        self._at_s = self._boot_s = -math.inf

    def update(self, boot_s: float, now_s: float) -> bool:
        """A stamp has arrived; True: the autopilot has started anew."""
        restarted = boot_s < self._boot_s - RESTART_S
        if restarted:
            self._offset_s = math.inf
        allowed_s = self._offset_s + DRIFT * max(0.0, now_s - self._at_s) if math.isfinite(self._offset_s) else math.inf
        self._offset_s = min(now_s - boot_s, allowed_s)
        self._at_s, self._boot_s = now_s, boot_s
        return restarted

    def time_s(self, boot_s: float) -> float:
        """On our clock."""
        return boot_s + self._offset_s


class Estimate:
    """Attitude and position messages in, odometry out with each position."""

    def __init__(self, origin_ned_m: Array | None = None) -> None:
        """`origin_ned_m`: where the autopilot's origin lies in the map."""
        self.clock = BootClock()
        self.restarted = False
        self._origin_m = np.zeros(3) if origin_ned_m is None else origin_ned_m
        self._attitude: tuple[float, Array, Array] | None = None  # boot time, quaternion, rates

    def take(self, message: Any, now_s: float) -> Odometry | None:
        """None unless it makes a new odometry. `restarted` is set when the autopilot's clock went back."""
        kind = message.get_type()
        if kind not in ("ATTITUDE", "ATTITUDE_QUATERNION", "LOCAL_POSITION_NED"):
            return None
        boot_s = message.time_boot_ms * 1e-3
        if self.clock.update(boot_s, now_s):
            self.restarted, self._attitude = True, None
        if kind == "LOCAL_POSITION_NED":
            return self._odometry(message, boot_s)
        rates = np.array([message.rollspeed, message.pitchspeed, message.yawspeed])
        if kind == "ATTITUDE":
            turn = from_euler(message.roll, message.pitch, message.yaw)
        else:
            turn = np.array([message.q1, message.q2, message.q3, message.q4])
        self._attitude = (boot_s, turn / max(float(np.linalg.norm(turn)), 1e-9), rates)
        return None

    def _odometry(self, message: Any, boot_s: float) -> Odometry | None:
        if self._attitude is None or abs(boot_s - self._attitude[0]) > OLD_S:
            return None
        then_s, turn, rates = self._attitude
        half = 0.5 * (boot_s - then_s) * rates  # turned on to the position's moment
        turn = multiply(turn, np.array([1.0, *half]))
        turn = turn / np.linalg.norm(turn)
        velocity = rotation_matrix(turn).T @ np.array([message.vx, message.vy, message.vz])
        position = np.array([message.x, message.y, message.z]) + self._origin_m
        return Odometry.of_parts(self.clock.time_s(boot_s), position, turn, velocity, rates)
