"""Where a point will be over the controller's horizon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.messages.echo import NO_ECHOES, Echo
from shoal.messages.track import NO_TRACKS, SurfaceTrack
from shoal.messages.trajectory import Trajectory

Array = NDArray[np.float64]
TRACK_S: Array = np.arange(0.0, 5.05, 0.25)  # of a track's preview
MOVING_S = 2.0  # no further: a track may end against a hull


@dataclass(frozen=True)
class Preview:
    """A sampled piece of path in NED with absolute times."""

    times_s: Array  # (K,) increasing
    positions_m: Array  # (K,3)
    velocities_mps: Array  # (K,3)
    headings_rad: Array | None = None  # (K,) wanted heading without jumps of 2π; None: the controller chooses
    heard: Mapping[str, Echo] = field(default_factory=lambda: NO_ECHOES)  # guidance's answers to odometry, by vehicle
    # Vehicles that have each a reference of their own, instead of a place in the formation.
    tracks: Mapping[str, SurfaceTrack] = field(default_factory=lambda: NO_TRACKS)

    def at(self, times_s: Array) -> Preview:
        """Resampled at `times_s`: straight between the samples, constant velocity outside them.

        Straight lines are off by at most a·h²/8: 0.1 mm for samples 0.1 s apart on a path of 0.1 m/s².
        """
        t = np.asarray(times_s, dtype=float)
        found = self.columns_at(t)
        return Preview(t, found[:, 0:3], found[:, 3:6], None if self.headings_rad is None else found[:, 6])

    def shifted(self, by_s: float) -> Preview:
        """The same in another clock."""
        return replace(self, times_s=self.times_s + by_s)

    def at_depth(self, depth_m: float) -> Preview:
        """The same way at one depth, for vehicles that cannot choose theirs."""
        positions, velocities = self.positions_m.copy(), self.velocities_mps.copy()
        positions[:, 2], velocities[:, 2] = depth_m, 0.0
        return replace(self, positions_m=positions, velocities_mps=velocities)

    def columns_at(self, times_s: Array) -> Array:
        """(M,7) position, velocity and heading at `times_s`; (M,6) if there is no heading."""
        return self._whole.at(times_s)

    @cached_property
    def setpoints(self) -> dict[str, Preview] | None:
        """Of those that have a track; None: all have places in the formation."""
        t_s = float(self.times_s[0])
        return {name: track_preview(t_s, track) for name, track in self.tracks.items()} or None

    @cached_property
    def trajectory(self) -> Trajectory:
        """Of the positions alone, so that many previews can be read at once."""
        return Trajectory(self.times_s, self.positions_m, self.velocities_mps[0], self.velocities_mps[-1])

    @cached_property
    def _whole(self) -> Trajectory:
        columns = [self.positions_m, self.velocities_mps]
        if self.headings_rad is not None:
            columns.append(self.headings_rad[:, None])
        values = np.concatenate(columns, axis=1)
        before, after = np.zeros(values.shape[1]), np.zeros(values.shape[1])
        before[0:3], after[0:3] = self.velocities_mps[0], self.velocities_mps[-1]
        return Trajectory(self.times_s, values, before, after)


def track_preview(t_s: float, track: SurfaceTrack) -> Preview:
    """The next seconds of a track that begins now."""
    velocity = np.array([track.vx_mps, track.vy_mps, 0.0])
    moving = np.minimum(TRACK_S, MOVING_S)[:, None] * velocity
    speeds = np.where(TRACK_S[:, None] < MOVING_S, velocity, 0.0)
    headings = np.full(len(TRACK_S), track.heading_rad)
    return Preview(t_s + TRACK_S, np.array([track.x_m, track.y_m, 0.0]) + moving, speeds, headings)
