"""The approach of two planar vehicles: tracks with cones, separation and bearings over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.docking.inspection import AHEAD, OBJECT_M, TO_PORT, TO_STARBOARD, WITHIN_M, Approach
from shoal.docking.planar import Camera
from shoal.reports.plots.style import COLOURS, GREY, WATER, new_figure, save, styled

_COLOURS = {"v1": COLOURS[0], "v2": COLOURS[1]}


def draw_approach(run: Approach, title: str, path: Path) -> Path:
    """Write the picture."""
    with styled():
        figure = new_figure(12, 6.5)
        left, right = figure.subfigures(1, 2)
        plane = left.subplots()
        distance, bearing = right.subplots(2, 1, sharex=True)
        _draw_plane(plane, run)
        distance.plot(run.times_s, run.separation_m, color=COLOURS[2], label="between the vehicles")
        distance.plot(run.times_s, run.object_distance_m, color=COLOURS[0], label="v1 to the object")
        distance.axhline(WITHIN_M, color=GREY, linestyle="--", linewidth=1)
        distance.set_ylabel("distance [m]")
        distance.set_ylim(bottom=0)
        distance.legend()
        for (name, angle), colour in zip(run.bearings_deg().items(), COLOURS, strict=False):
            bearing.plot(run.times_s, angle, color=colour, label=name)
        limit = math.degrees(AHEAD.half_angle_rad)
        for sign in (-1, 1):
            bearing.axhline(sign * limit, color=GREY, linestyle="--", linewidth=1)
        bearing.set_ylabel("bearing off the camera's axis [°]")
        bearing.set_xlabel("time [s]")
        bearing.legend(ncols=3)
        for panel in (distance, bearing):
            panel.margins(x=0)
        figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold")
        return save(figure, path)


def draw_iterations(runs: Mapping[int, Approach], path: Path) -> Path:
    """The same approach with so many inner iterations each: the larger mutual bearing over time, and its violation."""
    limit = math.degrees(AHEAD.half_angle_rad)
    with styled():
        figure = new_figure(11, 4.5)
        over_time, worst = figure.subplots(1, 2)
        for (inner, run), colour in zip(runs.items(), COLOURS, strict=False):
            bearings = run.bearings_deg()
            larger = np.maximum(np.abs(bearings["v1 → v2"]), np.abs(bearings["v2 → v1"]))
            over_time.plot(run.times_s, larger, color=colour, label=f"L = {inner}")
        over_time.axhline(limit, color=GREY, linestyle="--", linewidth=1)
        over_time.set_xlabel("time [s]")
        over_time.set_ylabel("larger bearing of both [°]")
        over_time.margins(x=0)
        over_time.legend()
        worst.plot(list(runs), [max(run.excess_deg(), 1e-3) for run in runs.values()], marker="o", color=COLOURS[0])
        worst.set_xscale("log", base=2)
        worst.set_yscale("log")
        worst.set_xlabel("inner iterations L")
        worst.set_ylabel(f"largest violation of {limit:.0f}° [°]")
        figure.suptitle("Dual decomposition: more inner iterations, smaller violation", x=0.01, ha="left",
                        fontsize=13, fontweight="bold")  # fmt: skip
        return save(figure, path)


def _draw_plane(plane: Any, run: Approach) -> None:
    angle = np.linspace(0, 2 * math.pi, 200)
    plane.fill(OBJECT_M[1] + WITHIN_M * np.sin(angle), OBJECT_M[0] + WITHIN_M * np.cos(angle), color=WATER)
    plane.plot(OBJECT_M[1], OBJECT_M[0], "s", color=GREY)
    plane.annotate("object", (OBJECT_M[1], OBJECT_M[0]), (6, 6), textcoords="offset points", color=GREY)
    cameras = {"v1": (TO_PORT, AHEAD), "v2": (TO_STARBOARD,)}
    for name, states in run.states.items():
        plane.plot(states[:, 1], states[:, 0], color=_COLOURS[name], label=name)
        for k in (0, len(states) - 1):
            for camera in cameras[name]:
                _draw_cone(plane, states[k], camera, _COLOURS[name])
    plane.set_aspect("equal")
    plane.set_xlabel("east [m]")
    plane.set_ylabel("north [m]")
    plane.set_title("Tracks, with the cones at start and end")
    plane.legend()


def _draw_cone(plane: Any, state: Any, camera: Camera, colour: str, length_m: float = 1.0) -> None:
    north, east, heading = state[:3]
    edges = heading + camera.axis_rad + camera.half_angle_rad * np.array([-1.0, 1.0])
    plane.fill(
        [east, *(east + length_m * np.sin(edges))],
        [north, *(north + length_m * np.cos(edges))],
        color=colour,
        alpha=0.15,
        linewidth=0,
    )
