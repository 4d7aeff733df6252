"""Each vehicle's own setpoint, from what was recorded: its topic in simulated runs, else reference and formation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.recordings import resample
from shoal.recordings.bag_streams import Stream, Streams
from shoal.recordings.placement_json import formation_from_data

Array = NDArray[np.float64]


def setpoints_m(streams: Streams, names: tuple[str, ...], grid: Array) -> Array:
    """(T,V,3); not-a-number where nobody knows."""
    if all(name in streams.own_setpoints for name in names):
        columns = [streams.own_setpoints[name] for name in names]
        return np.stack([resample.linear(grid, *_in_order(column)) for column in columns], axis=1)
    made = np.full((len(grid), len(names), 3), np.nan)
    placements = _placements(streams.formation, grid)
    common, has_heading = _common(streams.reference, grid)
    # Stretches in which the same placement holds and headings are given all the time, or never.
    newest = np.array([-1 if placement is None else i for i, placement in placements])
    known = np.isfinite(common.positions_m).all(axis=1) & (newest >= 0)
    label = np.where(known, 2 * newest + has_heading, -1)
    edges = [0, *(np.flatnonzero(np.diff(label)) + 1).tolist(), len(grid)]
    for begin, end in pairwise(edges):
        placement = placements[begin][1]
        if label[begin] >= 0 and placement is not None and set(names) <= set(placement.offsets):
            part = _part(common, slice(begin, end), bool(has_heading[begin]))
            motion = placement.motion(part)
            for v, name in enumerate(names):
                made[begin:end, v] = placement.setpoint(name, part, motion).positions_m
    return made


def _placements(stream: Stream, grid: Array) -> list[tuple[int, Placement | None]]:
    """The newest at each instant and its number; the first one also before it came: it is latched."""
    found: list[Placement | None] = []
    for data in stream.rows:
        try:
            found.append(formation_from_data(data))
        except ShoalError:
            found.append(None)
    if not found:
        return [(-1, None)] * len(grid)
    index = np.maximum(np.searchsorted(stream.times_s(), grid + 1e-9, side="right") - 1, 0)
    return [(int(i), found[i]) for i in index]


def _common(stream: Stream, grid: Array) -> tuple[Preview, NDArray[np.bool_]]:
    """The common setpoint at each instant, from the newest reference by then, and whether it had headings."""
    positions, headings = np.full((len(grid), 3), np.nan), np.zeros(len(grid))
    given = np.zeros(len(grid), dtype=bool)
    times = stream.times_s()
    index = np.searchsorted(times, grid + 1e-9, side="right") - 1
    for i in np.unique(index[index >= 0]):
        mine = np.flatnonzero(index == i)
        at = stream.rows[i].at(grid[mine])
        positions[mine] = at.positions_m
        if at.headings_rad is not None:
            headings[mine], given[mine] = at.headings_rad, True
    return Preview(grid, positions, np.zeros((len(grid), 3)), headings), given


def _part(common: Preview, mine: slice, has_heading: bool) -> Preview:
    headings = None if common.headings_rad is None or not has_heading else common.headings_rad[mine]
    return Preview(common.times_s[mine], common.positions_m[mine], common.velocities_mps[mine], headings)


def _in_order(stream: Stream) -> tuple[Array, Array]:
    return resample.in_order(stream.times_s(), np.array(stream.rows))
