"""What a Dask worker does with one job: simulate, judge, commit. The directory must be reachable from the worker."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from shoal.campaigns.file import Record
from shoal.campaigns.job import Job
from shoal.campaigns.rows import crashed_row, summary_row
from shoal.campaigns.series import series_table
from shoal.campaigns.store import Store
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import write_run
from shoal.provenance import machine_class
from shoal.recordings.recording import Recording
from shoal.tasks.run import simulate

_FOLDERS = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[\w.+-]+[/\\])+")  # of an absolute path


@dataclass(frozen=True)
class WorkItem:
    """A job and where its result belongs. The key is the client's: a file may change while workers start."""

    key: str
    job: Job
    folder: Path
    code_version: str
    first_seed: int
    record: Record = "none"
    series_step_s: float = 1.0


def run_item(item: WorkItem) -> str:
    """Make the run and commit it; a crash is committed with its reason. Gives the key back.

    Dask may hand out an item again when a worker dies after its commit; a run that is done is not made twice.
    """
    store, job, key = Store(item.folder), item.job, item.key
    if store.has(key):
        return key
    stamp = {"machine": machine_class(), "finished_utc": datetime.now(timezone.utc).isoformat(timespec="seconds")}
    try:
        recording = _simulate(item)
        summary = summarise(recording, job.metrics)
        if _keeps_recording(item, summary.failed):
            write_run(recording, summary, store.recordings / key)
        row = summary_row(summary, key, job.condition.content_hash())
        series = series_table(key, recording, item.series_step_s)
    except Exception as error:  # whatever it is, it belongs to this run alone
        row, series = crash(item, error), None
    store.put(row | stamp, series)
    return key


def record_item(item: WorkItem) -> str:
    """Simulate a finished run once more (same seed, same run) to keep its recording."""
    folder = Store(item.folder).recordings / item.key
    if not folder.is_dir():
        recording = _simulate(item)
        write_run(recording, summarise(recording, item.job.metrics), folder)
    return item.key


def crash(item: WorkItem, error: BaseException) -> dict[str, object]:
    """The row of a run that gave no recording."""
    about = replace(item.job.about(), code_version=item.code_version)
    return crashed_row(about, describe(error), item.key, item.job.condition.content_hash())


def describe(error: BaseException) -> str:
    """`Kind: message (file.py:12)`: the first line, and no folders, for it goes into reports that others read."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = _FOLDERS.sub("", (str(error).splitlines() or [""])[0])
    return f"{type(error).__name__}: {message}{where}"


def _simulate(item: WorkItem) -> Recording:
    """The code version is the client's: workers on other machines may have no checkout to ask."""
    recording = simulate(item.job.spec)
    return replace(recording, about=replace(recording.about, code_version=item.code_version))


def _keeps_recording(item: WorkItem, failed: bool) -> bool:
    if item.record == "first":
        return item.job.spec.seed == item.first_seed
    return item.record == "all" or (item.record == "failed" and failed)
