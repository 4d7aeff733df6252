"""What a Dask worker does with one job: simulate, judge, commit. The directory must be reachable from the worker."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from shoal.campaigns.file import Record
from shoal.campaigns.job import Job, find_simulate
from shoal.campaigns.rows import crashed_row, summary_row
from shoal.campaigns.series import series_table
from shoal.campaigns.store import Store
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import write_run
from shoal.provenance import machine_class

_FOLDERS = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[\w.+-]+[/\\])+")  # of an absolute path


@dataclass(frozen=True)
class Task:
    """A job and where its result belongs. The key is the client's: a file may change while workers start."""

    key: str
    job: Job
    folder: Path
    code_version: str
    first_seed: int
    record: Record = "none"
    series_step_s: float = 1.0


def run_task(task: Task) -> str:
    """Make the run and commit it; a crash is committed with its reason. Gives the key back.

    Dask may hand out a task again when a worker dies after its commit; a run that is done is not made twice.
    """
    store, job, key = Store(task.folder), task.job, task.key
    if store.has(key):
        return key
    stamp = {"machine": machine_class(), "finished_utc": datetime.now(timezone.utc).isoformat(timespec="seconds")}
    try:
        record = find_simulate(job.simulate)(job)
        summary = summarise(record).model_copy(update={"code_version": task.code_version})
        if _keeps_recording(task, summary.failed):
            write_run(record, summary, store.recordings / key)
        row, series = summary_row(job, summary, key), series_table(key, record, task.series_step_s)
    except Exception as error:  # whatever it is, it belongs to this run alone
        row, series = crashed_row(job, describe(error), task.code_version, key), None
    store.put(row | stamp, series)
    return key


def record_task(task: Task) -> str:
    """Simulate a finished run once more (same seed, same run) to keep its recording."""
    folder = Store(task.folder).recordings / task.key
    if not folder.is_dir():
        record = find_simulate(task.job.simulate)(task.job)
        write_run(record, summarise(record).model_copy(update={"code_version": task.code_version}), folder)
    return task.key


def describe(error: BaseException) -> str:
    """`Kind: message (file.py:12)`: the first line, and no folders, for it goes into reports that others read."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = _FOLDERS.sub("", (str(error).splitlines() or [""])[0])
    return f"{type(error).__name__}: {message}{where}"


def _keeps_recording(task: Task, failed: bool) -> bool:
    if task.record == "first":
        return task.job.seed == task.first_seed
    return task.record == "all" or (task.record == "failed" and failed)
