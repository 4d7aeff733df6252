"""A task of one's own: from where the fleet file has them, the vehicles dive to a depth and stay there.

shoal simulate --task my_task:Dive --set depth_m=8
"""

from __future__ import annotations

import numpy as np

import shoal


class Settings(shoal.TaskSettings):
    """What `--set` and a campaign's `task_settings` may change."""

    depth_m: float = 7.0
    within_m: float = 0.2
    duration_s: float = 40.0


class Dive(shoal.Task):
    """Over when everybody has been within reach of the depth for a second."""

    Settings = Settings
    _since_s = np.inf

    @property
    def duration_s(self) -> float:
        return float(self.context.settings.duration_s)

    def start(self) -> dict[str, shoal.State]:
        return {member.name: member.start_state() for member in self.fleet.vehicles}

    def director(self) -> shoal.ScriptedDirector:
        """The formation, held around a point at that depth; the vehicles find their places in it by themselves."""
        starts = np.array([member.start_m for member in self.fleet.vehicles])
        center_m = np.append(starts[:, :2].mean(axis=0), self.context.settings.depth_m)
        return shoal.ScriptedDirector(self.fleet, self.fleet.formation, center_m)

    def finished(self, t_s: float, states: np.ndarray) -> bool:
        """Asked after every control step; states (V,13) are the truth."""
        self._since_s = min(self._since_s, t_s) if self._arrived(states) else np.inf
        return t_s - self._since_s > 1.0

    def outcome(self, recording: shoal.Recording) -> shoal.Outcome:
        there = np.flatnonzero(self._arrived(recording.states))
        reached_s = float(recording.times_s[there[0]]) if len(there) else None
        return shoal.Outcome(f"everybody at {self.context.settings.depth_m:g} m", reached_s)

    def _arrived(self, states: np.ndarray) -> np.ndarray:
        """Of states (…,V,13)."""
        errors = np.abs(states[..., 2] - self.context.settings.depth_m)
        return np.all(errors < self.context.settings.within_m, axis=-1)


if __name__ == "__main__":
    run = shoal.simulate(task="my_task:Dive", fleet="two")
    print(run.outcome)
