"""The picture of one instant of a run: vehicles with cones and plans in 3-D, angles and distances over time."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.frames import rotation_matrix
from shoal.messages.geometry import all_pairs, fov_angles_deg
from shoal.messages.health import Mode
from shoal.messages.state import ATTITUDE, POSITION
from shoal.messages.wording import MODES
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

COLOURS = ("#0b5c8a", "#d2691e", "#2e8b57", "#8a2be2", "#b8860b", "#c2185b", "#00838f", "#5d4037")
SEES, STRAINS, LOST = "#35a163", "#e0a100", "#d5473a"
TRAIL_S, CONE_M, CONE_EDGES, LEGEND_MAX, THINNEST = 25.0, 1.2, 16, 8, 0.35


@dataclass(frozen=True)
class _Vehicle:
    body: Any
    trail: Any
    plan: Any
    cone: Any


class Scene:
    """Made once; `show(k)` moves everything to instant k."""

    def __init__(self, recording: Recording, figure: Any) -> None:
        self.recording = recording
        self.fov, self.distance = fov_angles_deg(recording.states, recording.must_see), recording.distances_m
        margins = {"left": 0.01, "right": 0.98, "top": 0.9, "bottom": 0.09, "hspace": 0.28}
        grid = figure.add_gridspec(2, 2, width_ratios=(1.35, 1.0), **margins)
        self.space = figure.add_subplot(grid[:, 0], projection="3d")
        self.title = figure.suptitle("", x=0.02, ha="left", fontsize=11, fontweight="bold")
        self._draw_space()
        limits = recording.limits
        fov_bounds = (limits.sight_soft_deg, limits.sight_hard_deg)
        near_bounds = (limits.distance_soft_m, limits.distance_hard_m)
        angle, near = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
        arrows = [f"{self._name(a)} → {self._name(b)}" for a, b in recording.must_see]
        dashes = [f"{self._name(a)} – {self._name(b)}" for a, b in all_pairs(len(recording.names))]
        self.cursors = [
            self._draw_series(angle, self.fov, arrows, "FOV angle [°]", fov_bounds),
            self._draw_series(near, self.distance, dashes, "distance [m]", near_bounds),
        ]
        near.set_xlabel("time [s]")

    def show(self, k: int) -> None:
        """Move to instant k."""
        r, t_s = self.recording, float(self.recording.times_s[k])
        start = int(np.searchsorted(r.times_s, t_s - TRAIL_S))
        plan = int(np.searchsorted(r.plan_times_s, t_s + 1e-9)) - 1
        for v, artists in enumerate(self.vehicles):
            trail = _place(r.states[start : k + 1, v, POSITION])
            artists.trail.set_data_3d(*trail)
            artists.body.set_data_3d(*trail[:, -1:])
            artists.cone.set_verts(_cone(r.states[k, v], r.limits.sight_soft_deg))
            if plan >= 0:
                artists.plan.set_data_3d(*_place(r.plans_m[plan, v]))
        self.setpoint.set_data_3d(*_place(r.reference_m[k : k + 1]))
        for column, (line, (a, b)) in enumerate(zip(self.sights, r.must_see, strict=True)):
            line.set_data_3d(*_place(r.states[k, [a, b], POSITION]))
            line.set_color(self._sight_colour(float(self.fov[k, column])))
        for cursor in self.cursors:
            cursor.set_xdata([t_s, t_s])
        self.title.set_text(self._headline(k, t_s))

    def _draw_space(self) -> None:
        r, axes = self.recording, self.space
        axes.plot(*_place(r.reference_m), color="#999", lw=1.0, ls="--")
        (self.setpoint,) = axes.plot([], [], [], "k+", ms=9)
        self.sights = [axes.plot([], [], [], lw=1.2)[0] for _ in r.must_see]
        self.vehicles = [self._draw_vehicle(v) for v in range(len(r.names))]
        around = np.concatenate([r.reference_m, r.states[:, :, POSITION].reshape(-1, 3)])
        around = _place(around[np.all(np.isfinite(around), axis=1)])
        low, high = around.min(axis=1) - 0.5, around.max(axis=1) + 0.5
        thin = np.maximum(0.0, THINNEST * (high - low).max() - (high - low)) / 2  # a straight path still gets a room
        low, high = low - thin, high + thin
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(high[2], low[2]))
        axes.set_box_aspect(high - low, zoom=1.1)
        axes.set(xlabel="y east [m]", ylabel="x north [m]", zlabel="z down [m]")
        axes.locator_params(nbins=6)
        axes.view_init(elev=28, azim=-60)

    def _draw_vehicle(self, v: int) -> _Vehicle:
        art3d: Any = importlib.import_module("mpl_toolkits.mplot3d.art3d")
        colour = COLOURS[v % len(COLOURS)]
        cone = art3d.Poly3DCollection(
            _cone(self.recording.states[0, v], 30.0), facecolor=colour, alpha=0.16, edgecolor="none"
        )
        self.space.add_collection3d(cone)
        return _Vehicle(
            body=self.space.plot([], [], [], "o", color=colour, ms=7)[0],
            trail=self.space.plot([], [], [], color=colour, lw=1.3, alpha=0.8)[0],
            plan=self.space.plot([], [], [], ".", color=colour, ms=2.5)[0],
            cone=cone,
        )

    def _draw_series(self, axes: Any, values: Array, labels: list[str], title: str, bounds: tuple[float, float]) -> Any:
        times = self.recording.times_s
        for column in range(values.shape[1]):
            label = labels[column] if len(labels) <= LEGEND_MAX else None
            axes.plot(times, values[:, column], lw=1.2, color=COLOURS[column % len(COLOURS)], label=label)
        axes.axhline(bounds[0], color=STRAINS, lw=1, ls=":")
        axes.axhline(bounds[1], color=LOST, lw=1, ls="--")
        axes.set(xlim=(times[0], times[-1]), ylim=(0, 1.25 * max(*bounds, float(np.nanmax(values, initial=0.0)))))
        axes.set_title(title, fontsize=10, loc="left")
        axes.grid(alpha=0.3)
        if 0 < len(labels) <= LEGEND_MAX:
            axes.legend(fontsize=8, loc="upper right", framealpha=0.8)
        return axes.axvline(times[0], color="black", lw=1)

    def _name(self, v: int) -> str:
        return self.recording.names[v]

    def _sight_colour(self, angle_deg: float) -> str:
        if not angle_deg <= self.recording.limits.sight_hard_deg:
            return LOST
        return SEES if angle_deg <= self.recording.limits.sight_soft_deg else STRAINS

    def _headline(self, k: int, t_s: float) -> str:
        about = self.recording.about
        words = [about.path or about.task, about.condition, about.controller]
        odd = [f"{n}: {MODES[Mode(int(m))]}"
               for n, m in zip(self.recording.names, self.recording.mode[k], strict=True) if m]  # fmt: skip
        return "   ".join([" · ".join(w for w in words if w) + f" · seed {about.seed}", f"t = {t_s:6.1f} s", *odd])


def _place(positions_m: Array) -> Array:
    """NED (K,3) → (3,K) in the order of the picture's axes: east, north, down (drawn downwards)."""
    return np.asarray(positions_m[:, [1, 0, 2]].T)


def _cone(state: Array, half_angle_deg: float) -> list[Array]:
    """Triangles from the nose to a circle at CONE_M: what the vehicle is meant to keep the others in."""
    turn = np.linspace(0.0, 2 * np.pi, CONE_EDGES + 1)
    wide, ahead = CONE_M * np.sin(np.radians(half_angle_deg)), CONE_M * np.cos(np.radians(half_angle_deg))
    rim = np.stack([np.full_like(turn, ahead), wide * np.cos(turn), wide * np.sin(turn)])
    world = state[POSITION] + (rotation_matrix(state[ATTITUDE]) @ rim).T
    circle, nose = _place(world).T, _place(state[None, POSITION]).T[0]
    return [np.stack([nose, circle[i], circle[i + 1]]) for i in range(CONE_EDGES)]
