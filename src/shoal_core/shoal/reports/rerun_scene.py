"""Rerun's viewer and what recorded and running fleets have in common in it: layout, hulls, cones, limits.

`rerun-sdk` is large (500 MB installed) and therefore not part of the usual environment: requirements-view.txt.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.joints import SAME
from shoal.errors import ShoalError
from shoal.fleet.body_shape import BodyShape, Module
from shoal.frames import frd_to_flu
from shoal.messages.limits import Limits
from shoal.reports.plots.style import COLOURS, GREY

Array = NDArray[np.float64]
BODY_M = (0.46, 0.58, 0.26)  # a BlueROV2 Heavy, where the fleet file is not known
PORT_CONE_M = 2.0
CONE_M, CONE_EDGES = 1.2, 12
TIMELINE = "time"
HARD = "#e6194b"  # no vehicle's colour, and to be seen on a light and a dark ground
HOW_TO_GET_IT = "`.venv/bin/pip install --no-deps -r requirements-view.txt` (500 MB, Python 3.11 or newer)"


def available() -> bool:
    """Is the SDK installed?"""
    return importlib.util.find_spec("rerun") is not None


def sdk(wanted_for: str, instead: str) -> Any:
    """The module; a ShoalError that says how to get it, and what needs none of it."""
    if not available():
        raise ShoalError(f"{wanted_for}: Rerun is not installed; expected it ({HOW_TO_GET_IT}), or {instead}")
    return importlib.import_module("rerun")


def viewer_command(*arguments: str, web: bool = False) -> list[str]:
    """Rerun's own viewer, in a window or in the browser. Its server listens to everybody unless told otherwise."""
    return [sys.executable, "-m", "rerun", "--bind", "127.0.0.1", *(["--web-viewer"] if web else []), *arguments]


def layout(with_joints: bool, with_sight: bool = True, eye: tuple[Array, Array] | None = None) -> Any:
    """The scene on the left, plots over time on the right. `eye`: where from and at what, else as Rerun chooses."""
    blueprint: Any = importlib.import_module("rerun.blueprint")
    plots = blueprint.Vertical(
        *([blueprint.TimeSeriesView(origin="sight", name="Sight angles, °")] if with_sight else []),
        blueprint.TimeSeriesView(origin="distance", name="Distances, m"),
        blueprint.TimeSeriesView(origin="depth", name="Depth, m"),
        *([blueprint.TimeSeriesView(origin="joint", name="Force in the joints, N")] if with_joints else []),
    )
    looks = None if eye is None else blueprint.EyeControls3D(position=eye[0], look_target=eye[1], eye_up=(0, 0, 1))
    scene = blueprint.Spatial3DView(origin="world", name="Fleet, east-north-up", eye_controls=looks)
    return blueprint.Blueprint(blueprint.Horizontal(scene, plots, column_shares=[3, 2]), collapse_panels=True)


def log_world(rr: Any, stream: Any) -> None:
    """Which way is up."""
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)


def log_body(rr: Any, stream: Any, path: str, name: str, index: int, shape: BodyShape | None) -> None:
    """All hulls of a vehicle, fixed to its pose."""
    modules = (Module(name, SAME, BODY_M),) if shape is None else shape.modules
    boxes = rr.Boxes3D(
        half_sizes=[np.array(m.size_m) / 2 for m in modules], centers=[frd_to_flu(m.pose.position_m) for m in modules],
        quaternions=[flu_quaternion(m.pose.attitude) for m in modules], colors=[colour_of(index)], labels=[name],
    )  # fmt: skip
    stream.log(f"{path}/body", boxes, static=True)


def log_port_cameras(rr: Any, stream: Any, path: str, index: int, shape: BodyShape) -> None:
    """What the cameras of its ports see."""
    for port in shape.ports:
        if port.camera is not None:
            rays = cone(np.radians(port.camera.half_angle_deg), PORT_CONE_M)
            turn, place = turn_from_x(frd_to_flu(port.camera.axis)), frd_to_flu(port.camera.place_m)
            lines = [place + ray @ turn.T for ray in rays]
            strips = rr.LineStrips3D(lines, colors=[(*colour_of(index), 60)])
            stream.log(f"{path}/port_{port.name}", strips, static=True)


def log_sight_cone(rr: Any, stream: Any, path: str, index: int, half_deg: float) -> None:
    """Where it must have those whom it must see."""
    strips = rr.LineStrips3D(cone(np.radians(half_deg)), colors=[(*colour_of(index), 90)])
    stream.log(f"{path}/cone", strips, static=True)


def limit_values(limits: Limits) -> dict[str, float]:
    """By the path of its line in the plots."""
    return {
        "sight/soft_limit": limits.sight_soft_deg, "sight/hard_limit": limits.sight_hard_deg,
        "distance/soft_limit": limits.distance_soft_m, "distance/hard_limit": limits.distance_hard_m,
    }  # fmt: skip


def log_line_style(rr: Any, stream: Any, path: str, label: str, colour: str = "") -> None:
    """Name and colour of a line in a plot."""
    stream.log(path, rr.SeriesLines(names=label, colors=[rgb(colour)] if colour else None), static=True)


def limit_colour(path: str) -> str:
    """Of a line of `limit_values`."""
    return HARD if path.endswith("hard_limit") else GREY


def turn_from_x(axis: Array) -> Array:
    """(3,3) that turns x onto a unit vector."""
    other = np.array([0.0, 0.0, 1.0]) if abs(axis[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    side = np.cross(other, axis)
    side = side / np.linalg.norm(side)
    return np.column_stack([axis, side, np.cross(axis, side)])


def flu_quaternion(attitude: Array) -> Array:
    """[x y z w] of a module within a vehicle."""
    w, x, y, z = attitude
    return np.array([x, -y, -z, w])


def cone(half_rad: float, reach_m: float = CONE_M) -> list[Array]:
    """Edges from the bow (body x, FLU), and the rim."""
    angles = np.linspace(0.0, 2 * np.pi, CONE_EDGES + 1)
    rim = reach_m * np.stack(
        [np.full(len(angles), np.cos(half_rad)), np.sin(half_rad) * np.cos(angles), np.sin(half_rad) * np.sin(angles)],
        axis=1,
    )  # (N,3)
    return [rim, *(np.array([np.zeros(3), point]) for point in rim[:-1:2])]


def colour_of(index: int) -> tuple[int, int, int]:
    """Of the vehicle with that place in the fleet."""
    return rgb(COLOURS[index % len(COLOURS)])


def rgb(colour: str) -> tuple[int, int, int]:
    """From `#rrggbb`."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
