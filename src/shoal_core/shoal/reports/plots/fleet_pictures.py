"""Pictures of whole fleets: an antipodal exchange from above, and a ring that moves along a path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shoal.frames import rotation_matrix
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.reports.plots.style import COLOURS, GREY, INK, headline, new_figure, save, styled


def exchange_picture(recording: Recording, file: Path) -> Path:
    """Everyone's way to the opposite point, and how close they came."""
    with styled():
        figure = new_figure(10.0, 5.4, layout=None)
        above = figure.add_axes((0.06, 0.1, 0.46, 0.74))
        side = figure.add_axes((0.62, 0.1, 0.35, 0.74))
        for i in range(len(recording.names)):
            p = recording.states[:, i, POSITION]
            colour = COLOURS[i % len(COLOURS)]
            above.plot(p[:, 1], p[:, 0], color=colour, lw=1.4)
            above.plot(p[0, 1], p[0, 0], "o", mfc="white", mec=colour, ms=7)
            above.plot(p[-1, 1], p[-1, 0], "o", color=colour, ms=7)
        above.set(aspect="equal", xlabel="east, m", ylabel="north, m", title="From above: start ○, end ●")
        gaps = recording.distances_m
        limits, title = recording.limits, "Smallest distance of any two, m"
        _bounded(side, recording.times_s, gaps.min(axis=1), limits.distance_soft_m, limits.distance_hard_m, title)
        side.text(recording.times_s[-1], recording.limits.distance_hard_m + 0.05, "hard", ha="right", color=COLOURS[1])
        side.text(recording.times_s[-1], recording.limits.distance_soft_m + 0.05, "soft", ha="right", color=GREY)
        side.set_xlabel("time, s")
        arrived_s = recording.outcome.reached_s if recording.outcome else None
        when = "not all arrived" if arrived_s is None else f"all arrived after {arrived_s:.0f} s"
        headline(
            figure,
            f"{len(recording.names)} vehicles exchange places",
            f"{when}; closest approach {gaps.min():.2f} m; condition {recording.about.condition}, "
            f"seed {recording.about.seed}",
        )
        return save(figure, file)


def ring_picture(recording: Recording, file: Path) -> Path:
    """A ring along its path: places at a few instants with sight lines, then sight angle and distance over time."""
    with styled():
        figure = new_figure(11.0, 5.6, layout=None)
        above = figure.add_axes((0.05, 0.1, 0.5, 0.74))
        sight = figure.add_axes((0.64, 0.53, 0.34, 0.31))
        distance = figure.add_axes((0.64, 0.1, 0.34, 0.31))
        above.plot(recording.reference_m[:, 1], recording.reference_m[:, 0], color=GREY, lw=1.2, ls=":")
        for share, alpha in ((0.0, 0.35), (0.5, 0.6), (1.0, 1.0)):
            _snapshot(above, recording, round(share * (len(recording.times_s) - 1)), alpha)
        above.set(aspect="equal", xlabel="east, m", ylabel="north, m", title="From above, at three instants")
        times_s, limits = recording.times_s, recording.limits
        angles = fov_angles_deg(recording.states, recording.must_see).max(axis=1)
        gaps = recording.distances_m.min(axis=1)
        _bounded(sight, times_s, angles, limits.sight_soft_deg, limits.sight_hard_deg, "Largest sight angle, °")
        _bounded(distance, times_s, gaps, limits.distance_soft_m, limits.distance_hard_m, "Smallest distance, m")
        distance.set_xlabel("time, s")
        headline(
            figure,
            f"{len(recording.names)} vehicles in a ring keep line of sight along their topology",
            f"path {recording.about.path}, condition {recording.about.condition}, "
            f"seed {recording.about.seed}; largest angle {angles.max():.0f}°, smallest distance {gaps.min():.2f} m",
        )
        return save(figure, file)


def _bounded(axes: Any, times_s: Any, values: Any, soft: float, hard: float, title: str) -> None:
    axes.plot(times_s, values, color=INK)
    axes.axhline(soft, color=GREY, ls="--", lw=1)
    axes.axhline(hard, color=COLOURS[1], ls="--", lw=1)
    axes.set(title=title, ylim=(0, None))


def _snapshot(axes: Any, recording: Recording, k: int, alpha: float) -> None:
    p = recording.states[k, :, POSITION]
    for a, b in recording.must_see:
        if a < b:
            axes.plot(p[[a, b], 1], p[[a, b], 0], color=GREY, lw=0.7, alpha=0.7 * alpha)
    bow = rotation_matrix(recording.states[k, :, ATTITUDE])[:, :, 0]
    for i in range(len(recording.names)):
        colour = COLOURS[i % len(COLOURS)]
        tip = p[i] + 0.7 * bow[i]
        axes.plot([p[i, 1], tip[1]], [p[i, 0], tip[0]], color=colour, lw=2, alpha=alpha)
        axes.plot(p[i, 1], p[i, 0], "o", color=colour, ms=7, alpha=alpha)
    middle = np.mean(p, axis=0)
    axes.text(middle[1], middle[0], f"{recording.times_s[k]:.0f} s", ha="center", va="center", color=INK, fontsize=9)
