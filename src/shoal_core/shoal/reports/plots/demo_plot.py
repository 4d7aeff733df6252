"""The open-loop demonstration in one picture: tracks from above, depth, distance, commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from shoal.frames import rotation_matrix
from shoal.messages.state import ATTITUDE
from shoal.reports.plots.style import COLOURS, GREY, INK, WATER, new_figure, save, styled
from shoal.simulation.demo import Demo

Array = NDArray[np.float64]
_EVERY_S = 10.0  # between two outlines of a vehicle along its track


def draw_demo(demo: Demo, path: Path) -> Path:
    """Write the picture."""
    with styled():
        figure = new_figure(13, 7.2)
        left, right = figure.subfigures(1, 2, width_ratios=[1.15, 1.0])
        _draw_tracks(left.subplots(), demo)
        depth, distance, thrust = right.subplots(3, 1, sharex=True)
        t, states = demo.track.times_s, demo.track.states
        for i, name in enumerate(demo.names):
            depth.plot(t, states[:, i, 2], color=COLOURS[i], label=name)
        depth.invert_yaxis()
        depth.set(ylabel="depth [m]", title="Depth")
        apart = np.linalg.norm(states[:, 0, :3] - states[:, 1, :3], axis=1)
        distance.plot(t, apart, color=INK)
        distance.fill_between(t, 0, apart, color=WATER)
        distance.set(ylabel="distance [m]", title=_distance_story(t, apart))
        distance.set_ylim(bottom=0)
        for k, command in enumerate(demo.track.commands_N[:, 0].T):
            thrust.step(t, command, where="post", color=INK, linewidth=1.1, alpha=0.75)
            thrust.annotate(str(k + 1), (t[-1], command[-1]), (3 + 9 * (k % 4), -3), textcoords="offset points",
                            fontsize=7.5, color=GREY)  # fmt: skip
        thrust.set(ylabel="thrust [N]", xlabel="time [s]", title="Thrust commands 1 to 8, the same for both")
        thrust.margins(x=0)
        figure.suptitle(
            "Same commands, same type of vehicle, nobody steering", x=0.01, ha="left", fontsize=15, fontweight="bold"
        )
        return save(figure, path)


def _distance_story(times_s: Array, apart_m: Array) -> str:
    nearest = int(np.argmin(apart_m))
    return (
        f"Apart: {apart_m[0]:.1f} m at first, {apart_m[nearest]:.1f} m after {times_s[nearest]:.0f} s, "
        f"{apart_m[-1]:.1f} m in the end"
    )


def _draw_tracks(axes: Any, demo: Demo) -> None:
    for i, name in enumerate(demo.names):
        positions = demo.track.states[:, i, :3]
        measured = demo.odometry_m[:, i]
        axes.plot(measured[:, 1], measured[:, 0], ".", color=COLOURS[i], markersize=2, alpha=0.35)
        axes.plot(positions[:, 1], positions[:, 0], color=COLOURS[i], label=name)
        for k in np.searchsorted(demo.track.times_s, np.arange(0, demo.track.times_s[-1] + 0.01, _EVERY_S)):
            axes.add_patch(_outline(demo.track.states[k, i], COLOURS[i]))
            if i == 0:
                axes.annotate(f"{demo.track.times_s[k]:.0f} s", positions[k, 1::-1], (-14, -3), fontsize=8, color=GREY,
                              textcoords="offset points", ha="right")  # fmt: skip
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="east [m]", ylabel="north [m]", title="From above  (dots: odometry)")
    axes.legend(loc="lower right")
    _draw_current(axes, demo)


def _outline(state: Array, colour: str) -> Polygon:
    """A vehicle's footprint, nose first, three halves of its size to be seen."""
    shape = 1.5 * np.array([[0.32, 0, 0], [0.18, 0.24, 0], [-0.23, 0.24, 0], [-0.23, -0.24, 0], [0.18, -0.24, 0]])
    corners = state[:3] + shape @ rotation_matrix(state[ATTITUDE]).T
    return Polygon(corners[:, 1::-1], facecolor="white", edgecolor=colour, linewidth=1.4, zorder=4)


def _draw_current(axes: Any, demo: Demo) -> None:
    """The mean current as an arrow in the corner."""
    mean = demo.water.sample(demo.track.times_s, np.array([0.0, 0.0, 5.0])).mean(axis=0)
    speed = float(np.hypot(mean[0], mean[1]))
    tip = np.array([0.06, 0.94]) + 0.12 * np.array([mean[1], mean[0]]) / max(speed, 1e-9)
    axes.annotate(
        "", tip, (0.06, 0.94), xycoords="axes fraction", arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 2}
    )
    axes.text(0.06, 0.90, f"current {speed:.2f} m/s, and waves", transform=axes.transAxes, color=GREY, fontsize=9)
