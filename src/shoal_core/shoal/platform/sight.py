"""Where the platform is: from all members that are tracked, as measured and smoothed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.platform.jobs import FILTER
from shoal.platform.model import PlanarPose, platform_pose, wrapped


class Sight:
    """Of the platform's frame."""

    def __init__(self) -> None:
        self.measured: PlanarPose | None = None  # as it is: what lags behind would look like relative motion
        self.smooth: PlanarPose | None = None  # a reference must not jitter

    def see(self, known: Mapping[str, PlanarPose], places: Mapping[str, PlanarPose]) -> None:
        """`places`: of the members in the platform's frame; those that are not tracked do not count."""
        seen = {name: known[name] for name in places if name in known}
        if not seen:
            return
        now = self.measured = platform_pose(seen, places)
        if (last := self.smooth) is not None:
            x, y = (1 - FILTER) * last.position_m + FILTER * now.position_m
            turn = last.heading_rad + FILTER * wrapped(now.heading_rad - last.heading_rad)
            now = PlanarPose(float(x), float(y), turn)
        self.smooth = now

    def near(self, site: PlanarPose, within_m: float, within_rad: float) -> bool:
        """Whether it is where it is to be."""
        if self.smooth is None:
            return False
        off = self.smooth.seen_from(site)
        return float(np.hypot(off.x_m, off.y_m)) < within_m and abs(off.heading_rad) < within_rad
