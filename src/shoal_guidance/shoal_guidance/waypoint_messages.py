"""Waypoints as an operator sends them: poses in the map frame, and stamps that say how long a leg takes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal_ros import convert


def place_m(message: PoseStamped, frame: str = "") -> NDArray[np.float64]:
    """NED; other frames than map would need TF, and be wrong without."""
    given = message.header.frame_id or frame
    if given not in ("", convert.WORLD):
        raise ShoalError(f"frame_id = '{given}'; expected '{convert.WORLD}'")
    return convert.from_pose(message.pose)[0]


def legs_s(path: Path) -> list[float | None]:
    """A pose stamped later than the one before (than the path, for the first) says how long its leg takes."""
    stamps = [convert.from_stamp(header.stamp) for header in (path.header, *(pose.header for pose in path.poses))]
    return [later - before if later > before else None for before, later in pairwise(stamps)]
