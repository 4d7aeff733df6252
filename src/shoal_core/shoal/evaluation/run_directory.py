"""A run directory: recording/ (MCAP), timeseries.parquet, plans.parquet, summary.json. Complete, or not there."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from shoal.errors import ShoalError
from shoal.evaluation.summary import Summary
from shoal.recordings.parquet import write_parquet
from shoal.recordings.recording import Recording
from shoal.recordings.run_messages import write_bag

RECORDING, SUMMARY = "recording", "summary.json"


def write_run(run: Recording, summary: Summary, folder: Path, recording: bool = True) -> None:
    """Write the directory under another name, then rename. An older run of ours is replaced, anything else is kept."""
    refuse_foreign(folder)
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        scratch.chmod(0o755)
        write_parquet(run, scratch)
        if recording:
            write_bag(run, scratch / RECORDING)
        (scratch / SUMMARY).write_text(summary.model_dump_json(indent=2) + "\n", encoding="utf-8")
        _swap_in(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def refuse_foreign(folder: Path) -> None:
    """A ShoalError when `folder` holds something that is not a run of ours; call it before simulating for minutes."""
    if folder.is_file():
        raise ShoalError(f"--out {folder}: is a file; expected a directory to write a run into")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SUMMARY).is_file():
        raise ShoalError(f"--out {folder}: holds other files; expected a new, empty or earlier run directory")


def read_summary(folder: Path) -> Summary:
    """The verdict stored in a run directory."""
    file = folder / SUMMARY
    if not file.is_file():
        raise ShoalError(f"{folder}: holds no {SUMMARY}; expected a run directory as `shoal simulate --out` writes it")
    return Summary.model_validate_json(file.read_text(encoding="utf-8"))


def _swap_in(scratch: Path, folder: Path) -> None:
    if folder.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
        os.replace(folder, old / "run")
        os.replace(scratch, folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(scratch, folder)
