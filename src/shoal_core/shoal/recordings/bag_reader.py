"""From a recording back to runs: the same `RunRecord` that the simulator gives, one for each test in it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.recordings.bag_grid import make_record
from shoal.recordings.bag_metadata import METADATA, read_notes
from shoal.recordings.bag_repair import is_whole, recover
from shoal.recordings.bag_streams import read_streams
from shoal.recordings.bag_windows import choose, overlap
from shoal.recordings.recording import Limits, RunRecord


def read_runs(
    bag: Path,
    fleet: str | None = None,
    setpoint: str | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
) -> list[RunRecord]:
    """A rosbag2 folder or a file in it. `from_s` and `to_s` (from the recording's start) take a stretch instead of the
    tests that `/fleet/test_status` tells of; without both, and without tests, the whole recording is one run."""
    folder = bag.parent if bag.is_file() else bag
    if not folder.is_dir():
        raise ShoalError(f"{bag}: not found; expected a rosbag2 folder")
    with tempfile.TemporaryDirectory(prefix="shoal-bag-") as scratch:
        source = folder
        files = sorted(folder.glob("*.mcap"))
        if files and (not (folder / METADATA).is_file() or not all(map(is_whole, files))):
            source = Path(scratch) / folder.name  # left behind by a killed recorder; the original stays as it is
            recover(folder, source)
        streams, notes = read_streams(source, setpoint), read_notes(source)
    told = _told(notes)
    limits = _limits(fleet or str(told.get("fleet", "")), told)
    windows = choose(streams, overlap(streams, folder), from_s, to_s, str(told.get("path", folder.name)))
    return [make_record(streams, window, limits, told) for window in windows]


def _told(notes: Mapping[str, str]) -> dict[str, Any]:
    """What the recording says of itself: our simulations note all, our recorder the fleet."""
    told: dict[str, Any] = dict(notes)
    with suppress(ValueError, TypeError):
        told |= json.loads(told.pop("run", "{}"))
    return told


def _limits(fleet: str, told: Mapping[str, Any]) -> Limits:
    if isinstance(told.get("limits"), dict):
        return Limits(**told["limits"])
    if fleet and not fleet.isdigit():
        try:
            found = load_fleet(fleet)
        except ShoalError:
            return Limits()  # recorded elsewhere, with a fleet file that is not here
        return Limits(found.sight.hard_deg, found.distance.hard_m, found.sight.soft_deg, found.distance.soft_m)
    return Limits()
