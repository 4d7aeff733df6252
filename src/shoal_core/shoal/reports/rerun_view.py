"""A run for the Rerun viewer: a 3-D scene with vehicles, sight cones, plans and path, and time plots with limits.

Hulls have their size of the fleet file, assemblies all of theirs. Who is joined to whom is a line over time, with its
load as a plot; a docking has the cones of the ports' cameras.

`rerun-sdk` is large (500 MB installed) and therefore not part of the usual environment: requirements-view.txt.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.evaluation.joint_loads import JointLoads, joint_loads
from shoal.fleet.body_shape import BodyShape, shape_of
from shoal.fleet.file import Fleet, load_fleet
from shoal.frames import ned_to_enu, quaternion_ned_to_enu, scalar_last
from shoal.messages.geometry import all_pairs, fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.reports import rerun_scene as scene
from shoal.reports.plots.style import COLOURS, GREY
from shoal.reports.rerun_scene import TIMELINE

Array = NDArray[np.float64]
STEP_S = 0.1  # between two poses: what a screen can show


def save_rrd(recording: Recording, file: Path, eye: tuple[Array, Array] | None = None) -> None:
    """Write the recording and its layout; the file appears when complete. `eye`: where from and at what, ENU."""
    rr = scene.sdk(str(file), "--save FILE.gif")
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(file) as scratch:
        stream = rr.RecordingStream("shoal", recording_id=f"{recording.about.path}-{recording.about.seed}")
        fleet = _fleet_of(recording)
        loads = None if fleet is None else joint_loads(recording, fleet)
        layout = scene.layout(loads is not None, bool(recording.must_see), eye)
        stream.save(str(scratch), default_blueprint=layout)
        shapes = {} if fleet is None else {member.name: shape_of(member) for member in fleet.vehicles}
        _log(rr, stream, recording, shapes)
        if loads is not None:
            _log_joints(rr, stream, recording, loads)
        stream.flush()
        stream.disconnect()


def open_viewer(file: Path, web: bool = False) -> int:
    """Rerun's own viewer, in a window or in the browser, until it is closed; its exit code."""
    return subprocess.run(scene.viewer_command(str(file), web=web), check=False).returncode


def _fleet_of(recording: Recording) -> Fleet | None:
    """None: of another computer, or made up."""
    try:
        fleet = load_fleet(recording.about.fleet)
    except ShoalError:
        return None
    return fleet if set(fleet.names) == set(recording.names) else None


def _log(rr: Any, stream: Any, recording: Recording, shapes: Mapping[str, BodyShape]) -> None:
    step = max(1, round(STEP_S / max(float(np.median(np.diff(recording.times_s))), 1e-6)))
    kept = slice(None, None, step)
    times_s, states = recording.times_s[kept], recording.states[kept]
    scene.log_world(rr, stream)
    stream.log(
        "world/path", rr.LineStrips3D([ned_to_enu(recording.reference_m)], colors=[scene.rgb(GREY)]), static=True
    )
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
    for path, value in scene.limit_values(limits).items():
        label = path.partition("/")[2].replace("_", " ")
        _log_series(rr, stream, path, times_s, np.full(len(times_s), value), label, scene.limit_colour(path))


def _log_vehicle(
    rr: Any, stream: Any, recording: Recording, index: int, path: str, times_s: Array, states: Array,
    shape: BodyShape | None,
) -> None:  # fmt: skip
    """Pose over time, body and cone fixed to it, the whole track, and the plan at every instant that one is kept of."""
    colour, good = scene.colour_of(index), np.isfinite(states).all(axis=1)
    positions = ned_to_enu(states[good][:, POSITION])
    quaternions = np.array([scalar_last(quaternion_ned_to_enu(q)) for q in states[good][:, ATTITUDE]])
    when = rr.TimeColumn(TIMELINE, duration=times_s[good])
    stream.send_columns(path, [when], rr.Transform3D.columns(translation=positions, quaternion=quaternions))
    scene.log_body(rr, stream, path, recording.names[index], index, shape)
    if shape is not None and recording.about.task.partition(",")[0] == "dock":
        scene.log_port_cameras(rr, stream, path, index, shape)
    if any(seer == index for seer, _ in recording.must_see):
        scene.log_sight_cone(rr, stream, path, index, recording.limits.sight_soft_deg)
    stream.log(f"world/tracks/{recording.names[index]}",
               rr.LineStrips3D([positions], colors=[(*colour, 120)]), static=True)  # fmt: skip
    for t_s, plan in zip(recording.plan_times_s, recording.plans_m[:, index], strict=True):
        stream.set_time(TIMELINE, duration=float(t_s))
        shown = ned_to_enu(plan[np.isfinite(plan).all(axis=1)])
        stream.log(f"world/plans/{recording.names[index]}", rr.LineStrips3D([shown], colors=[colour]))


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
            stream.log(f"world/joints/{a}_{b}", rr.LineStrips3D(ends, colors=[scene.rgb(COLOURS[1])], radii=[0.03]))


def _log_series(rr: Any, stream: Any, path: str, times_s: Array, values: Array, label: str, colour: str = "") -> None:
    scene.log_line_style(rr, stream, path, label, colour)
    stream.send_columns(path, [rr.TimeColumn(TIMELINE, duration=times_s)], rr.Scalars.columns(scalars=values))
