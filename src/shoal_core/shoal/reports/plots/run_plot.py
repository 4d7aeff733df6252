"""One run in one picture: tracks from above, depth, sight angles and distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Wedge
from numpy.typing import NDArray

from shoal.frames import yaw_of
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.reports.plots.style import COLOURS, GREY, INK, headline, new_figure, styled

Array = NDArray[np.float64]
CONES = 5  # instants at which the vehicles' sight is drawn


def draw_run(recording: Recording) -> Any:
    """A matplotlib Figure; panels without anything to show (the sight of one vehicle) are left out."""
    with styled():
        figure = new_figure(11.0, 6.0, layout=None)
        panels = [panel for panel in _panels(recording) if panel[1].size]
        _draw_tracks(figure.add_axes((0.06, 0.1, 0.48, 0.75)), recording)
        height = 0.84 / len(panels)  # the last panel's room for a title is the first one's
        for i, (title, values, bounds) in enumerate(panels):
            axes = figure.add_axes((0.62, 0.1 + (len(panels) - 1 - i) * height, 0.36, height - 0.09))
            _draw_series(axes, recording.times_s, title, values, bounds)
            if title.startswith("Depth"):
                axes.invert_yaxis()
        axes.set_xlabel("time, s")
        about = recording.about
        words = (about.path, about.condition, about.controller, f"seed {about.seed}")
        count = len(recording.names)
        title = (about.task or "run").replace("_", " ")
        headline(figure, f"{title}: {count} vehicle{'s' * (count > 1)}", " · ".join(word for word in words if word))
        return figure


def _panels(recording: Recording) -> list[tuple[str, Array, tuple[float, ...]]]:
    limits = recording.limits
    return [
        ("Depth, m", recording.states[:, :, 2], ()),
        ("Sight angles, °", fov_angles_deg(recording.states, recording.must_see),
         (limits.sight_soft_deg, limits.sight_hard_deg)),
        ("Distances, m", recording.distances_m, (limits.distance_soft_m, limits.distance_hard_m)),
    ]  # fmt: skip


def _draw_tracks(axes: Any, recording: Recording) -> None:
    axes.plot(recording.reference_m[:, 1], recording.reference_m[:, 0], color=GREY, lw=1.2, ls=":", label="setpoint")
    _draw_cones(axes, recording)
    for i, name in enumerate(recording.names):
        p, colour = recording.states[:, i, POSITION], COLOURS[i % len(COLOURS)]
        axes.plot(p[:, 1], p[:, 0], color=colour, lw=1.5, label=name)
        axes.plot(p[0, 1], p[0, 0], "o", mfc="white", mec=colour, ms=7)
        axes.plot(p[-1, 1], p[-1, 0], "o", color=colour, ms=7)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="east, m", ylabel="north, m", title="From above: start ○, end ●")
    if len(recording.names) <= len(COLOURS):
        axes.legend(loc="best")


def _draw_cones(axes: Any, recording: Recording) -> None:
    """Who looks where, at a few instants: wedges of the soft sight angle along the bow."""
    seers = sorted({seer for seer, _ in recording.must_see})
    instants = np.linspace(0, len(recording.times_s) - 1, CONES + 1).astype(int)[1:]
    for i in seers[: len(COLOURS)]:
        for k in instants:
            state = recording.states[k, i]
            if not np.isfinite(state).all():
                continue
            bow_deg = 90.0 - np.degrees(yaw_of(state[ATTITUDE]))  # from east, anticlockwise
            half, colour = recording.limits.sight_soft_deg, COLOURS[i % len(COLOURS)]
            place = (state[POSITION][1], state[POSITION][0])
            axes.add_patch(Wedge(place, 0.8, bow_deg - half, bow_deg + half, color=colour, alpha=0.18, lw=0))
            axes.scatter(*place, color=colour, s=9)


def _draw_series(axes: Any, times_s: Array, title: str, values: Array, bounds: tuple[float, ...]) -> None:
    many = values.shape[1] > len(COLOURS)
    for i in range(values.shape[1]):
        axes.plot(times_s, values[:, i], color=INK if many else COLOURS[i], lw=0.7 if many else 1.3)
    for bound, colour in zip(bounds, (GREY, COLOURS[1]), strict=False):
        axes.axhline(bound, color=colour, ls="--", lw=1)
    axes.set_title(title)
    axes.margins(x=0)
