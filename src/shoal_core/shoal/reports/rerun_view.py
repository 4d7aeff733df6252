"""A run for the Rerun viewer: a 3-D scene with vehicles, sight cones, plans and path, and time plots with limits.

`rerun-sdk` is large (500 MB installed) and therefore not part of the usual environment: requirements-view.txt.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.frames import ned_to_enu, quaternion_ned_to_enu, scalar_last
from shoal.messages.geometry import all_pairs, distances_m, fov_angles_deg
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.recording import Recording
from shoal.reports.plots.style import COLOURS, GREY

Array = NDArray[np.float64]
STEP_S = 0.1  # between two poses: what a screen can show
BODY_M = (0.23, 0.29, 0.13)  # half sizes of a BlueROV2 Heavy
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
        stream.save(str(scratch), default_blueprint=_layout())
        _log(rr, stream, recording)
        stream.flush()
        stream.disconnect()


def open_viewer(file: Path, web: bool = False) -> int:
    """Rerun's own viewer, in a window or in the browser, until it is closed; its exit code."""
    command = [sys.executable, "-m", "rerun", *(["--web-viewer"] if web else []), str(file)]
    return subprocess.run(command, check=False).returncode


def _layout() -> Any:
    blueprint: Any = importlib.import_module("rerun.blueprint")
    plots = blueprint.Vertical(
        blueprint.TimeSeriesView(origin="sight", name="Sight angles, °"),
        blueprint.TimeSeriesView(origin="distance", name="Distances, m"),
        blueprint.TimeSeriesView(origin="depth", name="Depth, m"),
    )
    scene = blueprint.Spatial3DView(origin="world", name="Fleet, east-north-up")
    return blueprint.Blueprint(blueprint.Horizontal(scene, plots, column_shares=[3, 2]), collapse_panels=True)


def _log(rr: Any, stream: Any, recording: Recording) -> None:
    step = max(1, round(STEP_S / max(float(np.median(np.diff(recording.times_s))), 1e-6)))
    kept = slice(None, None, step)
    times_s, states = recording.times_s[kept], recording.states[kept]
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    stream.log("world/path", rr.LineStrips3D([ned_to_enu(recording.reference_m)], colors=[_rgb(GREY)]), static=True)
    for i, name in enumerate(recording.names):
        _log_vehicle(rr, stream, recording, i, f"world/{name}", times_s, states[:, i])
        _log_series(rr, stream, f"depth/{name}", times_s, states[:, i, 2], name, COLOURS[i % len(COLOURS)])
    limits, names = recording.limits, recording.names
    for column, (a, b) in enumerate(recording.must_see):
        values = fov_angles_deg(states, recording.must_see)[:, column]
        _log_series(rr, stream, f"sight/{names[a]}_{names[b]}", times_s, values, f"{names[a]} → {names[b]}",
                    COLOURS[a % len(COLOURS)])  # fmt: skip
    for column, (a, b) in enumerate(all_pairs(len(names))):
        values = distances_m(states)[:, column]
        _log_series(rr, stream, f"distance/{names[a]}_{names[b]}", times_s, values, f"{names[a]} – {names[b]}")
    bounds = {"sight": (limits.sight_soft_deg, limits.sight_hard_deg),
              "distance": (limits.distance_soft_m, limits.distance_hard_m)}  # fmt: skip
    for kind, (soft, hard) in bounds.items():
        for word, value in (("soft", soft), ("hard", hard)):
            _log_series(rr, stream, f"{kind}/{word}_limit", times_s, np.full(len(times_s), value), f"{word} limit",
                        GREY if word == "soft" else COLOURS[1])  # fmt: skip


def _log_vehicle(
    rr: Any, stream: Any, recording: Recording, index: int, path: str, times_s: Array, states: Array
) -> None:
    """Pose over time, body and cone fixed to it, the whole track, and the plan at every instant that one is kept of."""
    colour, good = _rgb(COLOURS[index % len(COLOURS)]), np.isfinite(states).all(axis=1)
    positions = ned_to_enu(states[good][:, POSITION])
    quaternions = np.array([scalar_last(quaternion_ned_to_enu(q)) for q in states[good][:, ATTITUDE]])
    when = rr.TimeColumn(TIMELINE, duration=times_s[good])
    stream.send_columns(path, [when], rr.Transform3D.columns(translation=positions, quaternion=quaternions))
    stream.log(f"{path}/body", rr.Boxes3D(half_sizes=[BODY_M], colors=[colour], labels=[recording.names[index]]),
               static=True)  # fmt: skip
    if any(seer == index for seer, _ in recording.must_see):
        cone = _cone(np.radians(recording.limits.sight_soft_deg))
        stream.log(f"{path}/cone", rr.LineStrips3D(cone, colors=[(*colour, 90)]), static=True)
    stream.log(f"world/tracks/{recording.names[index]}",
               rr.LineStrips3D([positions], colors=[(*colour, 120)]), static=True)  # fmt: skip
    for t_s, plan in zip(recording.plan_times_s, recording.plans_m[:, index], strict=True):
        stream.set_time(TIMELINE, duration=float(t_s))
        shown = ned_to_enu(plan[np.isfinite(plan).all(axis=1)])
        stream.log(f"world/plans/{recording.names[index]}", rr.LineStrips3D([shown], colors=[colour]))


def _log_series(rr: Any, stream: Any, path: str, times_s: Array, values: Array, label: str, colour: str = "") -> None:
    stream.log(path, rr.SeriesLines(names=label, colors=[_rgb(colour)] if colour else None), static=True)
    stream.send_columns(path, [rr.TimeColumn(TIMELINE, duration=times_s)], rr.Scalars.columns(scalars=values))


def _cone(half_rad: float) -> list[Array]:
    """Edges from the bow (body x, FLU), and the rim."""
    angles = np.linspace(0.0, 2 * np.pi, CONE_EDGES + 1)
    rim = CONE_M * np.stack(
        [np.full(len(angles), np.cos(half_rad)), np.sin(half_rad) * np.cos(angles), np.sin(half_rad) * np.sin(angles)],
        axis=1,
    )  # (N,3)
    return [rim, *(np.array([np.zeros(3), point]) for point in rim[:-1:2])]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
