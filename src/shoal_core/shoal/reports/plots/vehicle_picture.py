"""A vehicle from above and from the side, with its thrusters, and what each thruster does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Polygon
from numpy.typing import NDArray

from shoal.reports.plots.style import COLOURS, GREY, INK, PALE, new_figure, save, styled
from shoal.vehicles.actuators import Thruster
from shoal.vehicles.description import AXES, Vehicle
from shoal.vehicles.functions import VehicleModel

Array = NDArray[np.float64]
_ARROW_M, _DUCT_LENGTH_M, _DUCT_WIDTH_M = 0.075, 0.075, 0.09  # the arrow beyond the duct


@dataclass(frozen=True)
class _View:
    """An orthographic projection of the body frame onto paper."""

    title: str
    right: Array  # (3,) body direction that is to the right on paper
    up: Array  # (3,) body direction that is up on paper
    labels: tuple[str, str]

    def flat(self, vector: Array) -> Array:
        return np.array([self.right @ vector, self.up @ vector])

    def towards_viewer(self, vector: Array) -> float:
        return float(np.cross(self.right, self.up) @ vector)


_X, _Y, _Z = np.eye(3)
_TOP = _View("From above   (⊙ pushes up, ⊗ pushes down)", _Y, _X, ("starboard  y [m]", "forward  x [m]"))
_SIDE = _View("From starboard", _X, -_Z, ("forward  x [m]", "up  −z [m]"))


def draw_vehicle(vehicle: Vehicle, path: Path) -> Path:
    """Write the picture."""
    with styled():
        figure = new_figure(13, 8.6)
        left, right = figure.subfigures(1, 2, width_ratios=[1.0, 1.15], wspace=0.02)
        top, side = left.subplots(2, 1, height_ratios=[1.5, 1.0])
        _draw_view(top, vehicle, _TOP)
        _draw_view(side, vehicle, _SIDE)
        effect, speeds = right.subplots(2, 1, height_ratios=[1.0, 1.0])
        _draw_matrix(effect, vehicle)
        _draw_speeds(speeds, vehicle)
        title = f"{vehicle.name}  ·  {vehicle.parameter_set}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold")
        return save(figure, path)


def _draw_view(axes: Any, vehicle: Vehicle, view: _View) -> None:
    _draw_hull(axes, vehicle, view)
    for thruster in vehicle.thrusters:
        _draw_thruster(axes, view, thruster)
    _label_thrusters(axes, vehicle, view)
    _draw_centres(axes, vehicle, view)
    axes.set_title(view.title)
    axes.set_xlabel(view.labels[0])
    axes.set_ylabel(view.labels[1])
    axes.set_aspect("equal")
    half = np.abs(view.flat(np.array(vehicle.size_m))) / 2
    axes.set_xlim(-half[0] - 0.16, half[0] + 0.16)
    axes.set_ylim(-half[1] - 0.09, half[1] + 0.09)


def _draw_hull(axes: Any, vehicle: Vehicle, view: _View) -> None:
    width, height = np.abs(view.flat(np.array(vehicle.size_m)))
    corner = 0.035
    box = FancyBboxPatch(
        (-width / 2 + corner, -height / 2 + corner),
        width - 2 * corner,
        height - 2 * corner,
        boxstyle=f"round,pad={corner}",
        facecolor=PALE,
        edgecolor=GREY,
        linewidth=1.2,
        zorder=1,
    )
    axes.add_patch(box)
    ahead = view.flat(_X)  # a chevron before the bow shows where forward is
    across = np.array([-ahead[1], ahead[0]])
    base = ahead * (vehicle.size_m[0] / 2 + 0.025)
    chevron = [base + 0.035 * across, base + 0.04 * ahead, base - 0.035 * across, base + 0.015 * ahead]
    axes.add_patch(Polygon(chevron, facecolor=GREY, edgecolor="none", zorder=1))


def _draw_thruster(axes: Any, view: _View, thruster: Thruster) -> None:
    centre, along, colour = view.flat(thruster.position_m), view.flat(thruster.direction), _colour(thruster)
    length = float(np.linalg.norm(along))
    if length < 1e-6:
        _draw_end_on(axes, centre, view.towards_viewer(thruster.direction) > 0, colour)
        return
    unit = along / length
    across = np.array([-unit[1], unit[0]])
    a, b = unit * _DUCT_LENGTH_M / 2 * length, across * _DUCT_WIDTH_M / 2
    duct = [centre + a + b, centre + a - b, centre - a - b, centre - a + b]
    axes.add_patch(Polygon(duct, facecolor="white", edgecolor=colour, linewidth=1.6, joinstyle="round", zorder=3))
    arrow = FancyArrowPatch(
        _at(centre + a), _at(centre + a + along * _ARROW_M), arrowstyle="-|>", mutation_scale=15, linewidth=2.4,
        color=colour, zorder=5, shrinkA=0, shrinkB=0,
    )  # fmt: skip
    axes.add_patch(arrow)


def _draw_end_on(axes: Any, centre: Array, towards_viewer: bool, colour: str) -> None:
    """An arrow's tip (towards the viewer) or its feathers (away), in a circle."""
    axes.add_patch(Circle(_at(centre), _DUCT_WIDTH_M / 2, facecolor="white", edgecolor=colour, linewidth=1.6, zorder=3))
    if towards_viewer:
        axes.add_patch(Circle(_at(centre), 0.011, facecolor=colour, edgecolor="none", zorder=4))
        return
    for slope in (1, -1):
        stroke = 0.0225 * np.array([1, slope])
        axes.plot(*np.stack([centre - stroke, centre + stroke]).T, color=colour, linewidth=2.0, zorder=4)


def _at(point: Array) -> tuple[float, float]:
    return float(point[0]), float(point[1])


def _colour(thruster: Thruster) -> str:
    return COLOURS[1] if abs(thruster.direction[2]) > 0.5 else COLOURS[0]


def _label_thrusters(axes: Any, vehicle: Vehicle, view: _View) -> None:
    """Numbers in the ducts; beside them where an end-on arrow fills the duct or two push opposite ways."""
    places: dict[tuple[float, ...], list[int]] = {}
    for i, thruster in enumerate(vehicle.thrusters):
        places.setdefault(tuple(np.round(view.flat(thruster.position_m), 3)), []).append(i)
    for place, members in places.items():
        arrows = [view.flat(vehicle.thrusters[i].direction) for i in members]
        if np.linalg.norm(arrows[0]) < 1e-6:
            offsets = [np.array([0.0, np.copysign(0.065, place[1])])]
        elif np.allclose(arrows, arrows[0]):
            offsets = [np.zeros(2)]
        else:
            offsets = [arrow * (_DUCT_LENGTH_M / 2 + _ARROW_M + 0.036) for arrow in arrows]
        shared = [members] if len(offsets) == 1 else [[i] for i in members]
        for numbers, offset in zip(shared, offsets, strict=True):
            axes.text(*(np.array(place) + offset), ",".join(str(i + 1) for i in numbers), ha="center", va="center",
                      fontweight="bold", zorder=6, color=_colour(vehicle.thrusters[numbers[0]]))  # fmt: skip


def _draw_centres(axes: Any, vehicle: Vehicle, view: _View) -> None:
    for name, point, marker, colour in (
        ("centre of gravity", vehicle.cg_m, "o", INK),
        ("centre of buoyancy", vehicle.cb_m, "^", COLOURS[2]),
    ):
        axes.plot(*view.flat(point), marker=marker, color=colour, markersize=7, linestyle="none", label=name, zorder=7)
    if view is _SIDE:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, handletextpad=0.2)


def _draw_matrix(axes: Any, vehicle: Vehicle) -> None:
    matrix = vehicle.thrust_matrix
    relative = matrix / np.maximum(np.abs(matrix).max(axis=1, keepdims=True), 1e-12)
    colours = LinearSegmentedColormap.from_list("push", [COLOURS[1], "white", COLOURS[0]])
    axes.imshow(relative, cmap=colours, vmin=-1.6, vmax=1.6, aspect="auto")
    for (row, column), value in np.ndenumerate(matrix):
        if abs(value) > 1e-9:
            axes.text(column, row, f"{value:+.3f}".replace("-", "−"), ha="center", va="center", fontsize=8.5)
    names = [f"{i + 1}{part}" for i, t in enumerate(vehicle.thrusters) for part in ("xy" if t.inputs == 2 else ("",))]
    axes.set_xticks(range(matrix.shape[1]), names)
    axes.set_yticks(range(6), [f"{a} [{'N' if i < 3 else 'N m'}]" for i, a in enumerate(AXES)])
    axes.set_xticks(np.arange(-0.5, matrix.shape[1]), minor=True)
    axes.set_yticks(np.arange(-0.5, 6), minor=True)
    axes.grid(False)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("What 1 N of each thruster does")
    axes.set_xlabel("thruster")


def _draw_speeds(axes: Any, vehicle: Vehicle) -> None:
    speeds = VehicleModel(vehicle).top_speeds()
    largest = [max(abs(s) for a in group for s in speeds[a]) or 1.0 for group in (AXES[:3], AXES[3:])]
    for row, axis in enumerate(AXES):
        scale, unit = largest[row // 3], "m/s" if row < 3 else "rad/s"
        for speed in speeds[axis]:
            colour = COLOURS[0] if speed > 0 else COLOURS[1]
            axes.barh(row, speed / scale, color=colour, height=0.5, alpha=0.85)
            text = f"{speed:+.2f} {unit}".replace("-", "−")
            axes.text(speed / scale + np.copysign(0.04, speed), row, text, va="center", fontsize=8.5,
                      ha="left" if speed > 0 else "right")  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.set_yticks(range(6), AXES)
    axes.set_xticks([])
    axes.set_xlim(-1.55, 1.55)
    axes.invert_yaxis()
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    limits = sorted({round(x, 2) for t in vehicle.thrusters for x in (t.max_forward_N, t.max_reverse_N)})
    axes.set_title(f"Top speeds  (thrusters up to {' or '.join(f'{x:g}' for x in limits)} N)")
