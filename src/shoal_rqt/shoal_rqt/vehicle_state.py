"""All that is known of one vehicle, and how old it is. No Qt, no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.fleet.body_shape import BodyShape
from shoal.frames import rotation_matrix
from shoal.messages.health import Mode
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal_rqt.trail import Trail

Array = NDArray[np.float64]
LOST_S = 2.0  # of wall time without odometry
SILENT_S = 6.0  # of wall time without a line on /diagnostics; they come once a second of ROS time
SATURATED = 0.985  # of a thruster's limit
FOLLOWING = Mode.CONTROLLER.name.lower()  # as in /diagnostics


@dataclass(frozen=True)
class Status:
    """A node's last line on /diagnostics."""

    level: int
    message: str
    values: Mapping[str, str]
    received_s: float  # wall

    def number(self, key: str) -> float | None:
        """One of its values."""
        try:
            return float(self.values[key])
        except (KeyError, ValueError):
            return None


@dataclass
class VehicleState:
    """Changes as updates come in. Wall times are `time.monotonic`."""

    name: str
    odometry: Odometry | None = None
    received_s: float | None = None
    thrust_N: Array = field(default_factory=lambda: np.zeros(0))  # (n,) once its thrusters are known; NaN: no command
    thrust_limits_N: tuple[Array, Array] | None = None  # reverse and forward, (n,) each; None: fleet file not known
    shape: BodyShape | None = None  # None: fleet file not known
    plan: Plan | None = None
    plan_received_s: float | None = None
    status: Status | None = None
    reported: dict[str, tuple[float | None, float | None, float]] = field(default_factory=dict)  # angle, distance, wall
    trail: Trail = field(default_factory=Trail)

    def is_lost(self, wall_s: float) -> bool:
        """Odometry came, and comes no longer."""
        return self.received_s is not None and wall_s - self.received_s > LOST_S

    @property
    def position_m(self) -> Array | None:
        """NED."""
        return None if self.odometry is None else self.odometry.position_m

    @property
    def euler_deg(self) -> Array | None:
        """Roll, pitch, yaw; yaw from 0 to 360 as on a compass."""
        if self.odometry is None:
            return None
        r = rotation_matrix(self.odometry.attitude)
        roll, pitch = np.arctan2(r[2, 1], r[2, 2]), -np.arcsin(np.clip(r[2, 0], -1.0, 1.0))
        return np.degrees([roll, pitch, np.arctan2(r[1, 0], r[0, 0]) % (2 * np.pi)])

    @property
    def speed_mps(self) -> float | None:
        """Over ground."""
        return None if self.odometry is None else float(np.linalg.norm(self.odometry.velocity_mps))

    @property
    def thrust_share(self) -> Array:
        """(n,) of each thruster's limit in its direction; without known limits, of the largest command there is."""
        thrust = self.thrust_N
        with np.errstate(invalid="ignore"):
            if self.thrust_limits_N is not None and len(self.thrust_limits_N[0]) == len(thrust):
                low, high = self.thrust_limits_N
                return np.asarray(thrust / np.where(thrust < 0, -low, high))
            largest = float(np.nanmax(np.abs(thrust), initial=0.0))
            return np.asarray(thrust / (largest or 1.0))

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(n,) which thrusters give all they have; none while the limits are not known."""
        if self.thrust_limits_N is None:
            return np.zeros(len(self.thrust_N), dtype=bool)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(self.thrust_share) >= SATURATED)

    def status_line(self, wall_s: float) -> tuple[int, str]:
        """Level (0 good, 1 warning, 2 bad) and the state in words, the most serious thing first."""
        if self.received_s is None:
            return 1, "no odometry yet"
        if self.is_lost(wall_s):
            return 2, f"LOST: no odometry for {wall_s - self.received_s:.0f} s"
        if self.status is None:
            return 1, "no controller"
        silent_s = wall_s - self.status.received_s
        if silent_s > SILENT_S:
            return 2, f"controller silent for {silent_s:.0f} s"
        head, colon, _ = self.status.message.partition(": ")
        reason = self.status.values.get("reason", "")  # the message leaves figures out, so that it changes seldom
        exact = f"{head}: {reason}" if colon and reason and self.status.values.get("mode") != FOLLOWING else ""
        return min(self.status.level, 2), exact or self.status.message
