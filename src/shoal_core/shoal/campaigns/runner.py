"""Running a campaign on Dask distributed: a local cluster of processes, or a scheduler somewhere else.

Nothing is remembered but what lies in the directory: to resume is to run the same command again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.campaigns.cluster import Workers
from shoal.campaigns.file import Campaign, campaign_jobs
from shoal.campaigns.job import check_inputs, find_simulate
from shoal.campaigns.rows import crashed_row
from shoal.campaigns.store import Store
from shoal.campaigns.worker import Task, describe, record_task, run_task
from shoal.campaigns.worst import worst_keys
from shoal.errors import ShoalError, ShoalWarning
from shoal.provenance import code_version, machine_class

Progress = Callable[[int, int, str], None]  # done, all, what is being done


@dataclass(frozen=True)
class Outcome:
    """What a call of `run_campaign` did, and what the directory holds now."""

    asked: int
    made: int  # by this call
    crashed: int  # in the directory
    failed: int  # in the directory, crashed ones included


def run_campaign(
    campaign: Campaign,
    out: Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    retry_crashed: bool = False,
    progress: Progress = lambda done, total, what: None,
) -> Outcome:
    """Make all runs that `out` does not hold yet, then write the data set."""
    find_simulate(campaign.simulate)
    jobs = campaign_jobs(campaign)
    check_inputs(jobs)
    store = Store(out.resolve())
    store.create()
    with store.locked():
        version = code_version()
        keys = [job.key() for job in jobs]
        store.write_json("campaign.json", _about(campaign, keys, version))
        if retry_crashed:
            store.forget(row["key"] for row in store.read_rows().to_pylist() if row["crashed"])
        tasks = [
            Task(key, job, store.folder, version, campaign.first_seed, campaign.record, campaign.series_step_s)
            for key, job in zip(keys, jobs, strict=True)
        ]
        done = store.done()
        todo = [task for task in tasks if task.key not in done]
        with Workers(workers, scheduler) as crew:
            _make(crew, todo, store, progress, len(jobs) - len(todo))
            rows = store.compact().to_pylist()
            if campaign.record == "worst":
                wanted = worst_keys(rows) - {p.name for p in store.recordings.glob("[!.]*")}
                _record(crew, [task for task in tasks if task.key in wanted], progress)
    return Outcome(len(jobs), len(todo), sum(r["crashed"] for r in rows), sum(r["failed"] for r in rows))


def _make(crew: Workers, tasks: Sequence[Task], store: Store, progress: Progress, before: int) -> None:
    """Every run is committed by its worker; those that took their worker with them are committed here."""
    progress(before, before + len(tasks), "runs")
    for count, (task, error) in enumerate(crew.run(run_task, tasks) if tasks else (), start=before + 1):
        if error is not None and not store.has(task.key):
            store.put(crashed_row(task.job, describe(error), task.code_version, task.key), None)
        elif not store.has(task.key):
            raise ShoalError(f"{store.folder}: a result is missing; expected a directory all workers share")
        progress(count, before + len(tasks), "runs")


def _record(crew: Workers, tasks: Sequence[Task], progress: Progress) -> None:
    """A recording that could not be made is only worth a warning."""
    for count, (task, error) in enumerate(crew.run(record_task, tasks) if tasks else (), start=1):
        if error is not None:
            which = " · ".join([*task.job.cell, f"seed {task.job.seed}"])
            warnings.warn(f"recording of {which}: not made, {describe(error)}", ShoalWarning, stacklevel=2)
        progress(count, len(tasks), "recordings of the worst runs")


def _about(campaign: Campaign, keys: list[str], version: str) -> dict[str, object]:
    return {
        "campaign": campaign.model_dump(mode="json"),
        "jobs": len(keys),
        "keys": keys,
        "code_version": version,
        "machine": machine_class(),
    }
