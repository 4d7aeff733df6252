"""What one vehicle sees of another, held against the limits. No Qt, no ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from shoal.messages.odometry import Odometry
from shoal.recordings.recording import Limits


class Keeping(IntEnum):
    """How a limit is kept; the larger, the worse."""

    INSIDE = 0
    SOFT = 1  # between the soft and the hard limit
    BROKEN = 2


@dataclass(frozen=True)
class Sight:
    """One neighbour, from one vehicle. None: not known."""

    other: str
    must_see: bool
    angle_deg: float | None
    distance_m: float | None
    angle_keeping: Keeping
    distance_keeping: Keeping

    @property
    def broken(self) -> bool:
        """Whether a hard limit is."""
        return Keeping.BROKEN in (self.angle_keeping, self.distance_keeping)

    def sentence(self) -> str:
        """For a card and for screen readers."""
        angle = "–" if self.angle_deg is None else f"{self.angle_deg:.0f}°"
        distance = "–" if self.distance_m is None else f"{self.distance_m:.2f} m"
        words = [f"{self.other}: {angle} off the bow, {distance} away"]
        words += ["out of sight"] * (self.angle_keeping is Keeping.BROKEN)
        words += ["TOO CLOSE"] * (self.distance_keeping is Keeping.BROKEN)
        return ", ".join(words)


def angle_and_distance(own: Odometry, other: Odometry) -> tuple[float, float]:
    """Degrees between the bow and the other vehicle, metres to it."""
    # Plain numbers: for two vehicles numpy's calls cost ten times the arithmetic. A test holds it to `fov_angles_deg`.
    n, x, y, z = own.attitude.tolist()
    a, b, c = (other.position_m - own.position_m).tolist()
    distance = math.sqrt(a * a + b * b + c * c)
    if distance == 0.0:
        return 180.0, 0.0
    ahead = (1 - 2 * (y * y + z * z)) * a + 2 * (x * y + n * z) * b + 2 * (x * z - n * y) * c
    return math.degrees(math.acos(min(1.0, max(-1.0, ahead / distance)))), distance


def judge(other: str, must_see: bool, angle_deg: float | None, distance_m: float | None, limits: Limits) -> Sight:
    """An angle counts only where there is a duty to see; a distance always."""
    angle_keeping = distance_keeping = Keeping.INSIDE
    if must_see and angle_deg is not None:
        angle_keeping = Keeping((angle_deg > limits.fov_soft_deg) + (angle_deg > limits.fov_hard_deg))
    if distance_m is not None:
        distance_keeping = Keeping((distance_m < limits.distance_soft_m) + (distance_m < limits.distance_hard_m))
    return Sight(other, must_see, angle_deg, distance_m, angle_keeping, distance_keeping)
