"""The two worlds that ship: what stands in them, rendered to SDF. ENU, surface at z = 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal_gazebo.body import Water
from shoal_gazebo.render import environment

Array = NDArray[np.float64]
STEP_S = 0.001
SEA_DEPTH_M = 15.0
# Clear of the standard paths, which keep to |east| ≤ 9 m south of the start and to the north axis.
JACKET_EN_M = (8.0, 6.0)
PANEL_DEPTH_M = 5.0  # where the standard paths start


@dataclass(frozen=True)
class Tube:
    """A cylinder between two points."""

    name: str
    at: Array  # (3,)
    rpy: tuple[float, float, float]
    radius: float
    length: float


@dataclass(frozen=True)
class Wall:
    """A box."""

    name: str
    at: tuple[float, float, float]
    size: tuple[float, float, float]
    colour: tuple[float, float, float]
    transparency: float


def tube(name: str, start: Array, end: Array, radius: float) -> Tube:
    """SDF's cylinders lie along z: pitch and yaw turn that axis onto the line."""
    along = end - start
    length = float(np.linalg.norm(along))
    pitch = float(np.arccos(along[2] / length))
    return Tube(name, (start + end) / 2, (0.0, pitch, float(np.arctan2(along[1], along[0]))), radius, length)


def jacket() -> list[Tube]:
    """Legs that lean in, horizontal frames at two levels, one brace on each side between them. Origin on the bed."""
    levels = [(0.0, 2.0), (5.0, 1.6), (11.0, 1.2), (17.0, 0.8)]  # height, half-width
    corners = [np.array([[sx * w, sy * w, h] for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1))]) for h, w in levels]
    tubes = [tube(f"leg_{i + 1}", corners[0][i], corners[-1][i], 0.20) for i in range(4)]
    for level in (1, 2):
        for i in range(4):
            tubes.append(tube(f"frame_{level}_{i + 1}", corners[level][i], corners[level][(i + 1) % 4], 0.10))
    for i in range(4):
        tubes.append(tube(f"brace_{i + 1}", corners[1][i], corners[2][(i + 1) % 4], 0.08))
    return tubes


def _rocks(count: int = 14) -> list[dict[str, Any]]:
    rng = np.random.default_rng([20, 1])
    rocks = []
    for _ in range(count):
        radii = rng.uniform(0.2, 0.9, 3) * (1, 1, 0.6)
        at = [*rng.uniform(-25, 25, 2), 0.3 * radii[2]]
        rocks.append({"at": at, "rpy": [0, 0, rng.uniform(-3, 3)], "radii": radii})
    return rocks


def _ocean() -> dict[str, Any]:
    return {
        "current_enu": (0.1, 0.0, 0.0),
        "depth_m": SEA_DEPTH_M,
        "rocks": _rocks(),
        "tubes": jacket(),
        "jacket_at": (*JACKET_EN_M, -SEA_DEPTH_M),
        "panel_at": (-1.6, 0.0, SEA_DEPTH_M - PANEL_DEPTH_M),
    }


def _tank(inner: tuple[float, float, float] = (26.0, 41.0, 10.0), thickness: float = 0.3) -> dict[str, Any]:
    x, y, depth = inner
    rim = 0.5  # above the water
    middle = (rim - depth) / 2
    concrete, pane = (0.75, 0.78, 0.8), (0.55, 0.75, 0.8)
    walls = [Wall("floor", (0, 0, -depth - thickness / 2), (x, y, thickness), concrete, 0.0)]
    for sign, side in ((1, "plus"), (-1, "minus")):
        east, north, high = sign * (x + thickness) / 2, sign * (y + thickness) / 2, depth + rim
        walls.append(Wall(f"wall_x_{side}", (east, 0, middle), (thickness, y, high), pane, 0.6))
        walls.append(Wall(f"wall_y_{side}", (0, north, middle), (x, thickness, high), pane, 0.6))
    return {"current_enu": (0.0, 0.0, 0.0), "basin_at": (0.0, -1.5), "basin_size": inner, "walls": walls}


WORLDS: dict[str, Callable[[], dict[str, Any]]] = {"ocean": _ocean, "tank": _tank}


def render_world(name: str, water: Water) -> str:
    """SDF of a shipped world."""
    context = WORLDS[name]() | {"water": water, "step_s": STEP_S}
    return environment().get_template(f"{name}.sdf.jinja").render(context)
