"""From a recording back to runs: the same `Recording` that the simulator gives, one for each test in it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.fleet.generate import resolve_fleet
from shoal.messages.limits import Limits
from shoal.recordings import older
from shoal.recordings.bag_grid import Notes, make_recording
from shoal.recordings.bag_metadata import METADATA, mcap_files, read_notes
from shoal.recordings.bag_repair import is_whole, recover
from shoal.recordings.bag_streams import read_streams
from shoal.recordings.bag_windows import choose, overlap
from shoal.recordings.recording import Outcome, Recording
from shoal.vehicles.hull_points import hull_points_m

Array = NDArray[np.float64]
FOLLOW_PATH = "follow_path"  # the task where none is noted


def read_runs(
    bag: Path,
    fleet: str | None = None,
    setpoint: str | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
) -> list[Recording]:
    """A rosbag2 folder or a file in it. `from_s` and `to_s` (from the recording's start) take a stretch instead of the
    tests that `/fleet/test_status` names; without both, and without tests, the whole recording is one run."""
    folder = bag.parent if bag.is_file() else bag
    if not folder.is_dir():
        raise ShoalError(f"{bag}: not found; expected a rosbag2 folder")
    with tempfile.TemporaryDirectory(prefix="shoal-bag-") as scratch:
        source = folder
        files = mcap_files(folder)
        if files and (not (folder / METADATA).is_file() or not all(map(is_whole, files))):
            source = Path(scratch) / folder.name  # left behind by a killed recorder; the original stays as it is
            recover(folder, source)
        streams, notes = read_streams(source, setpoint), read_notes(source)
    known = _known(notes)
    otherwise = folder.name if known.get("task", FOLLOW_PATH) == FOLLOW_PATH else ""
    windows = choose(streams, overlap(streams, folder), from_s, to_s, str(known.get("path", otherwise)))
    own = _notes(known, fleet, is_part=from_s is not None or to_s is not None)
    return [make_recording(streams, window, own) for window in windows]


def _known(notes: Mapping[str, str]) -> dict[str, Any]:
    """The notes in the recording: our simulator notes everything, our recorder what it was started with."""
    known: dict[str, Any] = dict(notes)
    with suppress(ValueError, TypeError):
        known |= json.loads(known.pop("run", "{}"))
    return known


def _notes(known: Mapping[str, Any], fleet: str | None, is_part: bool) -> Notes:
    about = older.about_of(
        {key: known.get(key) for key in ("condition", "controller", "control_period_s")}
        | {
            "task": known.get("task", FOLLOW_PATH),
            "fleet": Path(str(known.get("fleet", ""))).stem,
            "seed": int(known.get("seed") or 0),
            "code_version": str(known.get("code_version") or known.get("shoal_version", "")),
        }
    )
    outcome, pairs = known.get("outcome"), known.get("must_see")
    limits, bounds_N, inputs, hulls_m = _of_fleet(known, fleet)
    return Notes(
        about=about if about.condition else replace(about, condition="recorded"),
        limits=limits,
        thrust_bounds_N=bounds_N,
        input_names=inputs,
        hulls_m=hulls_m,
        bounds=dict(known.get("bounds", {})),
        outcome=Outcome(**outcome) if isinstance(outcome, dict) and not is_part else None,
        must_see=None if pairs is None else tuple((a, b) for a, b in pairs),
    )


Inputs = dict[str, tuple[str, ...]]


def _of_fleet(known: Mapping[str, Any], asked: str | None) -> tuple[Limits, dict[str, Array], Inputs, dict[str, Array]]:
    """Limits, thrust bounds, inputs, hulls: of the fleet asked for, else as noted, else of the one it names."""
    if asked is None and isinstance(known.get("limits"), dict):
        inputs = {vehicle: tuple(names) for vehicle, names in known.get("input_names", {}).items()}
        bounds_N, hulls_m = _arrays(known, "thrust_bounds_N"), _arrays(known, "hulls_m")
        return older.limits_of(known["limits"]), bounds_N, inputs, hulls_m
    name = asked or str(known.get("fleet", ""))
    if not name:
        return Limits(), {}, {}, {}
    try:
        fleet = resolve_fleet(name)
    except ShoalError:
        if asked is not None:
            raise
        return Limits(), {}, {}, {}  # recorded elsewhere, with a fleet file that is not here
    vehicles = {member.name: member.vehicle() for member in fleet.vehicles}
    bounds_N = {name: np.stack([v.thrust_min_N, v.thrust_max_N]) for name, v in vehicles.items()}
    inputs = {name: tuple(v.input_names) for name, v in vehicles.items()}
    hulls_m = {name: hull for name, v in vehicles.items() if (hull := hull_points_m(v)).any()}
    return fleet.limits, bounds_N, inputs, hulls_m


def _arrays(known: Mapping[str, Any], key: str) -> dict[str, Array]:
    return {name: np.array(values, dtype=float) for name, values in known.get(key, {}).items()}
