"""What is done about vessels that do not swim any more: ways go around them; where one lies in the way into a berth,
the platform moves aside, since it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.platform.jobs import Grid, in_world
from shoal.platform.model import PlanarPose
from shoal.platform.planner import Berthing

Array = NDArray[np.float64]
Box = tuple[float, float, float, float]
ROUND_M = 0.50  # kept from a wreck's middle by ways: half a hull is 0.2 m, and vessels keep 0.43 m from each other
WAY_M = 0.65  # a wreck nearer than this to a way into a berth makes those that come there give way
FURTHEST_M, STEP_M, DIRECTIONS = 3.0, 0.25, 16  # of a platform that moves aside


def boxes(wrecks: Iterable[PlanarPose]) -> list[Box]:
    """What ways keep out of."""
    return [(w.x_m - ROUND_M, w.y_m - ROUND_M, w.x_m + ROUND_M, w.y_m + ROUND_M) for w in wrecks]


def unblocked(
    grid: Grid, site: PlanarPose, plans: Iterable[Berthing], out_m: float, wrecks: Sequence[PlanarPose]
) -> list[Berthing]:
    """Those of them whose way in is free."""
    return [plan for plan in plans if not _blocks(grid, site, plan, out_m, wrecks)]


def _blocks(grid: Grid, site: PlanarPose, plan: Berthing, out_m: float, wrecks: Iterable[PlanarPose]) -> bool:
    """Whether one lies in, or beside, the straight way into a cell."""
    inner, outer = in_world(grid, site, plan, 0.0).position_m, in_world(grid, site, plan, out_m).position_m
    return any(_off_m(wreck.position_m, inner, outer) < WAY_M for wreck in wrecks)


def free_site(
    grid: Grid,
    site: PlanarPose,
    plans: Sequence[Berthing],
    box: Box,
    out_m: float,
    wrecks: Sequence[PlanarPose],
    others: Iterable[PlanarPose],
) -> PlanarPose | None:
    """Where the way into one of the cells is free, as near as possible; `box` around the platform meets nobody.

    `others`: all that do not move with it. None: nowhere near.
    """
    there = [other.position_m for other in others]
    for far_m in np.arange(STEP_M, FURTHEST_M + 1e-9, STEP_M).tolist():
        for angle in 2 * math.pi * np.arange(DIRECTIONS) / DIRECTIONS:
            shift = far_m * np.array([math.cos(angle), math.sin(angle)])
            moved = PlanarPose(site.x_m + float(shift[0]), site.y_m + float(shift[1]), site.heading_rad)
            if not unblocked(grid, moved, plans, out_m, wrecks):
                continue
            steps = [share * shift for share in np.linspace(0, 1, 2 + int(far_m / 0.1))]
            if not any(_meets(at, box, shift, steps) for at in there):
                return moved
    return None


def _off_m(point: Array, a: Array, b: Array) -> float:
    """From a stretch."""
    way = b - a
    share = float(np.clip((point - a) @ way / max(float(way @ way), 1e-12), 0.0, 1.0))
    return float(np.linalg.norm(point - a - share * way))


def _meets(at: Array, box: Box, shift: Array, steps: Sequence[Array]) -> bool:
    """Whether a box that moves by `shift` meets somebody; from those that it begins with it may move away."""
    if _in_box(at, box):
        return bool((at - np.array([box[0] + box[2], box[1] + box[3]]) / 2) @ shift > 0.0)
    return any(_in_box(at - step, box) for step in steps)


def _in_box(point: Array, box: Box) -> bool:
    return bool(box[0] < point[0] < box[2] and box[1] < point[1] < box[3])
