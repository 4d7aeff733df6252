"""A run for the Rerun viewer: a 3-D scene with vehicles, sight cones, plans and path, and time plots with limits.

Hulls have their size of the fleet file, assemblies all of theirs. Who is joined to whom is a line over time, with its
load as a plot; a docking has the cones of the ports' cameras.

`rerun-sdk` is large (500 MB installed) and therefore not part of the usual environment: requirements-view.txt.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.assembly.joints import SAME
from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.evaluation.joint_loads import JointLoads, joint_loads
from shoal.fleet.body_shape import BodyShape, Module, shape_of
from shoal.fleet.file import Fleet, load_fleet
from shoal.frames import frd_to_flu, ned_to_enu, quaternion_ned_to_enu, scalar_last
from shoal.messages.geometry import all_pairs, fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.reports.plots.style import COLOURS, GREY

Array = NDArray[np.float64]
STEP_S = 0.1  # between two poses: what a screen can show
BODY_M = (0.46, 0.58, 0.26)  # a BlueROV2 Heavy, where the fleet file is not known
PORT_CONE_M = 2.0
CONE_M, CONE_EDGES = 1.2, 12
TIMELINE = "time"


def available() -> bool:
    """Is the SDK installed?"""
    return importlib.util.find_spec("rerun") is not None


def save_rrd(recording: Recording, file: Path) -> None:
    """Write the recording and its layout; the file appears when complete."""
    if not available():
        raise ShoalError(
            f"{file}: Rerun is not installed; expected it "
            "(`.venv/bin/pip install --no-deps -r requirements-view.txt`), or --save FILE.gif"
        )
    rr: Any = importlib.import_module("rerun")
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(file) as scratch:
        stream = rr.RecordingStream("shoal", recording_id=f"{recording.about.path}-{recording.about.seed}")
        fleet = _fleet_of(recording)
        loads = None if fleet is None else joint_loads(recording, fleet)
        stream.save(str(scratch), default_blueprint=_layout(loads is not None))
        shapes = {} if fleet is None else {member.name: shape_of(member) for member in fleet.vehicles}
        _log(rr, stream, recording, shapes)
        if loads is not None:
            _log_joints(rr, stream, recording, loads)
        stream.flush()
        stream.disconnect()


def open_viewer(file: Path, web: bool = False) -> int:
    """Rerun's own viewer, in a window or in the browser, until it is closed; its exit code."""
    command = [sys.executable, "-m", "rerun", *(["--web-viewer"] if web else []), str(file)]
    return subprocess.run(command, check=False).returncode


def _fleet_of(recording: Recording) -> Fleet | None:
    """None: of another computer, or made up."""
    try:
        fleet = load_fleet(recording.about.fleet)
    except ShoalError:
        return None
    return fleet if set(fleet.names) == set(recording.names) else None


def _layout(with_joints: bool) -> Any:
    blueprint: Any = importlib.import_module("rerun.blueprint")
    plots = blueprint.Vertical(
        blueprint.TimeSeriesView(origin="sight", name="Sight angles, °"),
        blueprint.TimeSeriesView(origin="distance", name="Distances, m"),
        blueprint.TimeSeriesView(origin="depth", name="Depth, m"),
        *([blueprint.TimeSeriesView(origin="joint", name="Force in the joints, N")] if with_joints else []),
    )
    scene = blueprint.Spatial3DView(origin="world", name="Fleet, east-north-up")
    return blueprint.Blueprint(blueprint.Horizontal(scene, plots, column_shares=[3, 2]), collapse_panels=True)


def _log(rr: Any, stream: Any, recording: Recording, shapes: Mapping[str, BodyShape]) -> None:
    step = max(1, round(STEP_S / max(float(np.median(np.diff(recording.times_s))), 1e-6)))
    kept = slice(None, None, step)
    times_s, states = recording.times_s[kept], recording.states[kept]
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    stream.log("world/path", rr.LineStrips3D([ned_to_enu(recording.reference_m)], colors=[_rgb(GREY)]), static=True)
    for i, name in enumerate(recording.names):
        _log_vehicle(rr, stream, recording, i, f"world/{name}", times_s, states[:, i], shapes.get(name))
        _log_series(rr, stream, f"depth/{name}", times_s, states[:, i, 2], name, COLOURS[i % len(COLOURS)])
    limits, names = recording.limits, recording.names
    for column, (a, b) in enumerate(recording.must_see):
        values = fov_angles_deg(states, recording.must_see)[:, column]
        _log_series(rr, stream, f"sight/{names[a]}_{names[b]}", times_s, values, f"{names[a]} → {names[b]}",
                    COLOURS[a % len(COLOURS)])  # fmt: skip
    for column, (a, b) in enumerate(all_pairs(len(names))):
        values = recording.distances_m[kept, column]
        _log_series(rr, stream, f"distance/{names[a]}_{names[b]}", times_s, values, f"{names[a]} – {names[b]}")
    bounds = {"sight": (limits.sight_soft_deg, limits.sight_hard_deg),
              "distance": (limits.distance_soft_m, limits.distance_hard_m)}  # fmt: skip
    for kind, (soft, hard) in bounds.items():
        for word, value in (("soft", soft), ("hard", hard)):
            _log_series(rr, stream, f"{kind}/{word}_limit", times_s, np.full(len(times_s), value), f"{word} limit",
                        GREY if word == "soft" else COLOURS[1])  # fmt: skip


def _log_vehicle(
    rr: Any, stream: Any, recording: Recording, index: int, path: str, times_s: Array, states: Array,
    shape: BodyShape | None,
) -> None:  # fmt: skip
    """Pose over time, body and cone fixed to it, the whole track, and the plan at every instant that one is kept of."""
    colour, good = _rgb(COLOURS[index % len(COLOURS)]), np.isfinite(states).all(axis=1)
    positions = ned_to_enu(states[good][:, POSITION])
    quaternions = np.array([scalar_last(quaternion_ned_to_enu(q)) for q in states[good][:, ATTITUDE]])
    when = rr.TimeColumn(TIMELINE, duration=times_s[good])
    stream.send_columns(path, [when], rr.Transform3D.columns(translation=positions, quaternion=quaternions))
    _log_body(rr, stream, path, recording, index, shape)
    if any(seer == index for seer, _ in recording.must_see):
        cone = _cone(np.radians(recording.limits.sight_soft_deg))
        stream.log(f"{path}/cone", rr.LineStrips3D(cone, colors=[(*colour, 90)]), static=True)
    stream.log(f"world/tracks/{recording.names[index]}",
               rr.LineStrips3D([positions], colors=[(*colour, 120)]), static=True)  # fmt: skip
    for t_s, plan in zip(recording.plan_times_s, recording.plans_m[:, index], strict=True):
        stream.set_time(TIMELINE, duration=float(t_s))
        shown = ned_to_enu(plan[np.isfinite(plan).all(axis=1)])
        stream.log(f"world/plans/{recording.names[index]}", rr.LineStrips3D([shown], colors=[colour]))


def _log_body(rr: Any, stream: Any, path: str, recording: Recording, index: int, shape: BodyShape | None) -> None:
    """Its hulls, and in a docking what the ports' cameras see."""
    colour, name = _rgb(COLOURS[index % len(COLOURS)]), recording.names[index]
    modules = (Module(name, SAME, BODY_M),) if shape is None else shape.modules
    boxes = rr.Boxes3D(
        half_sizes=[np.array(m.size_m) / 2 for m in modules], centers=[frd_to_flu(m.pose.position_m) for m in modules],
        quaternions=[_flu_quaternion(m.pose.attitude) for m in modules], colors=[colour], labels=[name],
    )  # fmt: skip
    stream.log(f"{path}/body", boxes, static=True)
    if shape is None or recording.about.task.partition(",")[0] != "dock":
        return
    for port in shape.ports:
        if port.camera is not None:
            rays = _cone(np.radians(port.camera.half_angle_deg), PORT_CONE_M)
            turn, place = _turn_from_x(frd_to_flu(port.camera.axis)), frd_to_flu(port.camera.place_m)
            lines = [place + ray @ turn.T for ray in rays]
            stream.log(f"{path}/port_{port.name}", rr.LineStrips3D(lines, colors=[(*colour, 60)]), static=True)


def _log_joints(rr: Any, stream: Any, recording: Recording, loads: JointLoads) -> None:
    """Between vehicles that were joined on their way a line, as long as they are; of every joint its force."""
    column = {name: i for i, name in enumerate(recording.names)}
    for j, (a, b) in enumerate(loads.pairs):
        force = loads.force_N[:, j]
        _log_series(rr, stream, f"joint/{a}_{b}", loads.times_s, np.nan_to_num(force), f"{a} – {b}",
                    COLOURS[j % len(COLOURS)])  # fmt: skip
        if a not in column or b not in column:
            continue  # within one assembly: its hulls are drawn as they are
        for k, t_s in enumerate(loads.times_s):
            stream.set_time(TIMELINE, duration=float(t_s))
            now = recording.states[int(np.searchsorted(recording.times_s, t_s - 1e-9))]
            ends = [ned_to_enu(now[[column[a], column[b]], POSITION])] if np.isfinite(force[k]) else []
            stream.log(f"world/joints/{a}_{b}", rr.LineStrips3D(ends, colors=[_rgb(COLOURS[1])], radii=[0.03]))


def _turn_from_x(axis: Array) -> Array:
    """(3,3) that turns x onto a unit vector."""
    other = np.array([0.0, 0.0, 1.0]) if abs(axis[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    side = np.cross(other, axis)
    side = side / np.linalg.norm(side)
    return np.column_stack([axis, side, np.cross(axis, side)])


def _flu_quaternion(attitude: Array) -> Array:
    """[x y z w] of a module within a vehicle."""
    w, x, y, z = attitude
    return np.array([x, -y, -z, w])


def _log_series(rr: Any, stream: Any, path: str, times_s: Array, values: Array, label: str, colour: str = "") -> None:
    stream.log(path, rr.SeriesLines(names=label, colors=[_rgb(colour)] if colour else None), static=True)
    stream.send_columns(path, [rr.TimeColumn(TIMELINE, duration=times_s)], rr.Scalars.columns(scalars=values))


def _cone(half_rad: float, reach_m: float = CONE_M) -> list[Array]:
    """Edges from the bow (body x, FLU), and the rim."""
    angles = np.linspace(0.0, 2 * np.pi, CONE_EDGES + 1)
    rim = reach_m * np.stack(
        [np.full(len(angles), np.cos(half_rad)), np.sin(half_rad) * np.cos(angles), np.sin(half_rad) * np.sin(angles)],
        axis=1,
    )  # (N,3)
    return [rim, *(np.array([np.zeros(3), point]) for point in rim[:-1:2])]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
