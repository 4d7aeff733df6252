"""A reference made of paths that follow each other in absolute time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.guidance.paths import Path, position_and_velocity
from shoal.guidance.replan import Motion, stop
from shoal.guidance.splines import MotionLimits
from shoal.messages.preview import Preview

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """`path`, whose own time 0 is `start_s`, in force from then until the next piece starts."""

    start_s: float
    path: Path

    def motion(self, t_s: float) -> Motion:
        """Of the point at an absolute time; also meaningful at the very end of a path that ends moving."""
        t = t_s - self.start_s
        return Motion(self.path.position(t), self.path.velocity(t), self.path.acceleration(t))


class Timeline:
    """The pieces in order of time; before the first one starts, the first one waits at its first point."""

    def __init__(self, *pieces: Piece) -> None:
        self.pieces = pieces
        self._starts_s = np.array([piece.start_s for piece in pieces])

    def motion(self, t_s: float) -> Motion:
        """Of the setpoint at `t_s`."""
        return self.pieces[self._index(np.array([t_s]))[0]].motion(t_s)

    def preview(self, t_s: float, horizon_times_s: ArrayLike) -> Preview:
        """The setpoint at `t_s + horizon_times_s`."""
        times_s = t_s + np.atleast_1d(np.asarray(horizon_times_s, dtype=float))
        index = self._index(times_s)
        if (index == index[0]).all():  # as most of the time
            piece = self.pieces[index[0]]
            return Preview(times_s, *position_and_velocity(piece.path, times_s - piece.start_s))
        positions, velocities = np.empty((len(times_s), 3)), np.empty((len(times_s), 3))
        for k in np.unique(index):
            mine, piece = index == k, self.pieces[k]
            positions[mine], velocities[mine] = position_and_velocity(piece.path, times_s[mine] - piece.start_s)
        return Preview(times_s, positions, velocities)

    def _index(self, times_s: Array) -> NDArray[np.int64]:
        return np.maximum(np.searchsorted(self._starts_s, times_s, side="right") - 1, 0)


def hold(t_s: float, motion: Motion, limits: MotionLimits) -> Timeline:
    """Brake from this motion, and wait."""
    return Timeline(Piece(t_s, stop(motion, limits)))
