"""Motion data from whatever was recorded: our run directories, rosbag2 folders, CSV files with a column map."""

from __future__ import annotations

import math
from pathlib import Path

from shoal.errors import ShoalError
from shoal.identification.csv_log import read_csv_log
from shoal.identification.motion_data import MotionData, from_recording, without_gaps
from shoal.messages.health import Code
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.parquet import read_parquet
from shoal.recordings.recording import Recording
from shoal.vehicles.description import Vehicle


def read_motion(path: Path, vehicle: Vehicle, name: str | None = None, columns: Path | None = None) -> list[MotionData]:
    """Pieces of one vehicle's motion. `name` chooses among several, `columns` is the map of a CSV file."""
    if not path.exists():
        raise ShoalError(f"{path}: not found; expected a run directory, a rosbag2 folder or a CSV file")
    if path.suffix.lower() == ".csv":
        if columns is None:
            raise ShoalError(f"{path}: has no column map; expected --columns MAP.yaml for a CSV file")
        return read_csv_log(path, columns, vehicle)
    folder = path.parent if path.name == "recording" and _is_run(path.parent) else path
    if folder.is_dir() and _is_run(folder):
        run = read_parquet(folder)
        return [from_recording(run, _chosen(run, name, path), str(path))]
    pieces = []
    for run in read_runs(path):
        pieces += pieces_of(run, _chosen(run, name, path), str(path))
    if not pieces:
        raise ShoalError(f"{path}: no connected motion; expected odometry and thrust without long gaps")
    return pieces


def pieces_of(run: Recording, name: str, source: str, until_s: float = math.inf) -> list[MotionData]:
    """One vehicle's motion between the gaps of its odometry, up to some time."""
    gaps = [(e.t_s, e.t_s + (issue.value or 0.0)) for e in run.events for issue in e.issues
            if issue.code is Code.ODOMETRY_STALE and e.vehicle == name]  # fmt: skip
    return without_gaps(from_recording(run, name, source), [*gaps, (until_s, math.inf)])


def _chosen(run: Recording, name: str | None, path: Path) -> str:
    if name is None and len(run.names) > 1:
        raise ShoalError(f"{path}: has {len(run.names)} vehicles; expected --name with one of {', '.join(run.names)}")
    return name or run.names[0]


def _is_run(folder: Path) -> bool:
    return (folder / "timeseries.parquet").is_file()
