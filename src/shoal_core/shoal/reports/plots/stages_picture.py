"""Vehicles that come together, from above at four instants: a docking, or a platform that is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.frames import rotation_matrix
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.reports.plots.style import COLOURS, GREY, INK, headline, new_figure, save, styled

STAGES = 4
TRAIL_S = 6.0
ROOM_M = 0.4  # around everything that is drawn


def stages_picture(recording: Recording, sizes_m: Mapping[str, tuple[float, float]], title: str, file: Path) -> Path:
    """Hulls (length, beam) true to scale with bow and recent track; the last instant is when the goal was reached."""
    reached_s = recording.outcome.reached_s if recording.outcome else None
    instants = _instants(recording, reached_s)
    with styled():
        figure = new_figure(12.0, 4.2, layout=None)
        corners = np.stack([_box(recording, k, i, sizes_m[name]) for k in instants
                            for i, name in enumerate(recording.names)])  # fmt: skip
        low, high = corners.min(axis=(0, 1)) - ROOM_M, corners.max(axis=(0, 1)) + ROOM_M
        for stage, k in enumerate(instants):
            axes = figure.add_axes((0.05 + 0.24 * stage, 0.12, 0.22, 0.66))
            for i, name in enumerate(recording.names):
                _draw(axes, recording, k, i, sizes_m[name])
            axes.set(aspect="equal", xlim=(low[1], high[1]), ylim=(low[0], high[0]), xlabel="east, m",
                     title=f"{recording.times_s[k]:.0f} s")  # fmt: skip
            if stage == 0:
                axes.set_ylabel("north, m")
            else:
                axes.tick_params(labelleft=False)
        goal = recording.outcome.goal if recording.outcome else "end"
        when = (
            f"not {goal} in {recording.times_s[-1]:.0f} s" if reached_s is None else f"{goal} after {reached_s:.0f} s"
        )
        headline(figure, title, f"{when}; condition {recording.about.condition}, seed {recording.about.seed}")
        return save(figure, file)


def _instants(recording: Recording, reached_s: float | None) -> list[int]:
    end_s = float(recording.times_s[-1]) if reached_s is None else reached_s
    wanted = np.linspace(float(recording.times_s[0]), end_s, STAGES)
    return [int(np.argmin(np.abs(recording.times_s - t_s))) for t_s in wanted]


def _box(recording: Recording, k: int, i: int, size_m: tuple[float, float]) -> NDArray[np.float64]:
    """(5,2) north and east of the hull's outline: both sides of the bow, the stern, and back."""
    half_m, beam_m = size_m[0] / 2, size_m[1] / 2
    outline = np.array([(half_m, -beam_m), (half_m, beam_m), (-half_m, beam_m), (-half_m, -beam_m), (half_m, -beam_m)])
    body = np.column_stack([outline, np.zeros(len(outline))])
    state = recording.states[k, i]
    world: NDArray[np.float64] = state[POSITION] + body @ rotation_matrix(state[ATTITUDE]).T
    return world[:, :2]


def _draw(axes: Any, recording: Recording, k: int, i: int, size_m: tuple[float, float]) -> None:
    colour = COLOURS[i % len(COLOURS)]
    recent = (recording.times_s >= recording.times_s[k] - TRAIL_S) & (recording.times_s <= recording.times_s[k])
    track = recording.states[recent, i, POSITION]
    axes.plot(track[:, 1], track[:, 0], color=GREY, lw=1.0)
    box = _box(recording, k, i, size_m)
    axes.fill(box[:, 1], box[:, 0], facecolor=colour, edgecolor=INK, lw=0.6, alpha=0.85)
    axes.plot(box[:2, 1], box[:2, 0], color=INK, lw=2.4, solid_capstyle="butt")  # the bow
