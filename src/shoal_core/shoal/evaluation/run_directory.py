"""A run directory: recording/ (MCAP), timeseries.parquet, plans.parquet, summary.json. Complete, or not there."""

from __future__ import annotations

from pathlib import Path

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.evaluation.summary import Summary
from shoal.recordings.parquet import write_parquet
from shoal.recordings.recording import Recording
from shoal.recordings.run_messages import write_bag

RECORDING, SUMMARY = "recording", "summary.json"
_WHAT = "run directory"


def write_run(run: Recording, summary: Summary, folder: Path, recording: bool = True) -> None:
    """An older run of ours is replaced, anything else is kept and refused."""
    with atomic.replacing_directory(folder, SUMMARY, _WHAT) as scratch:
        write_parquet(run, scratch)
        if recording:
            write_bag(run, scratch / RECORDING)
        (scratch / SUMMARY).write_text(summary.model_dump_json(indent=2) + "\n", encoding="utf-8")


def refuse_foreign(folder: Path) -> None:
    """A ShoalError when `folder` is something that is not a run of ours; call it before simulating for minutes."""
    atomic.check_directory(folder, SUMMARY, _WHAT)


def read_summary(folder: Path) -> Summary:
    """The verdict stored in a run directory."""
    file = folder / SUMMARY
    if not file.is_file():
        raise ShoalError(f"{folder}: holds no {SUMMARY}; expected a run directory as `shoal simulate --out` writes it")
    return Summary.model_validate_json(file.read_text(encoding="utf-8"))
