"""What guidance does in every docking, of two or of a chain: it counts its orders, follows what the follower tells, and
leads the finished body along a path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.docking.phases import DockingSettings, Phase
from shoal.guidance.path_file import load_path
from shoal.messages.docking import ACCEPTED, DockingFeedback
from shoal.messages.preview import Preview

Array = NDArray[np.float64]
HORIZON_S = np.arange(0.0, 4.05, 0.1)
EVERY_S = 0.5  # a reference


class DockingDirector:
    """`path`: of the finished body; empty: it holds."""

    def __init__(self, path: str, docking: DockingSettings) -> None:
        self.docking = docking
        self.feedback: DockingFeedback | None = None
        self.phases: list[tuple[float, str]] = []  # of all dockings, when each began
        self._path = load_path(path) if path else None
        self._counter = 0
        self._sent_s = -np.inf

    def on_feedback(self, t_s: float, feedback: DockingFeedback) -> None:
        """The follower's, whoever that is at the time."""
        if feedback.phase == ACCEPTED and not feedback.refused:
            return
        self.feedback = feedback
        if not self.phases or self.phases[-1][1] != feedback.phase:
            self.phases.append((t_s, feedback.phase))

    @property
    def _given_up(self) -> bool:
        """Whether the follower has used up its tries, or has refused."""
        told = self.feedback
        return told is not None and (told.phase == Phase.FAILED.value or bool(told.refused))

    def _due(self, t_s: float) -> bool:
        """Whether it is time for another reference."""
        return t_s - self._sent_s >= EVERY_S - 1e-9

    def _count(self) -> int:
        self._counter += 1
        return self._counter

    def _from_here(self, times_s: Array, from_s: float, place_m: Array, heading_rad: float) -> Preview:
        """Along the path, shifted to begin at `place_m` at `from_s`; without one, or before that, it holds."""
        headings = np.full(len(times_s), heading_rad)
        places = np.tile(place_m, (len(times_s), 1))
        if self._path is None or not np.isfinite(from_s):
            return Preview(times_s, places, np.zeros((len(times_s), 3)), headings)
        since_s = np.maximum(times_s - from_s, 0.0)
        places = places + np.asarray(self._path.position(since_s)) - np.asarray(self._path.position(0.0))
        return Preview(times_s, places, np.gradient(places, times_s, axis=0), headings)
