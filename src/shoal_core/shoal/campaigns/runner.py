"""Running a campaign on Dask distributed: a local cluster of processes, or a scheduler somewhere else.

Nothing is remembered but what lies in the directory: to resume is to run the same command again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.campaigns.cluster import Workers
from shoal.campaigns.file import Campaign, baseline_keys, campaign_jobs
from shoal.campaigns.job import check_inputs
from shoal.campaigns.store import Store
from shoal.campaigns.worker import WorkItem, crash, describe, record_item, run_item
from shoal.campaigns.worst import worst_keys
from shoal.errors import ShoalError, ShoalWarning, in_file
from shoal.evaluation.metrics import all_metrics
from shoal.provenance import code_version, machine_class
from shoal.tasks.run import task_class

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
    file: str | Path = "campaign",
    progress: Progress = lambda done, total, what: None,
) -> Outcome:
    """Make all runs that `out` does not hold yet, then write the data set; `file` is named in complaints."""
    with Workers(workers, scheduler) as crew:  # first, for Ctrl-C to work from here on
        jobs = campaign_jobs(campaign, file)
        with in_file(file):
            check_inputs(jobs)
        store = Store(out.resolve())
        store.create()
        with store.locked():
            version = code_version()
            keys = [job.key() for job in jobs]
            about = _about(campaign, keys, [" · ".join(w for w in job.cell if w) for job in jobs], version)
            store.write_json("campaign.json", about | {"baselines": baseline_keys(campaign, file)})
            if retry_crashed:
                store.forget(row["key"] for row in store.read_rows().to_pylist() if row["crashed"])
            items = [
                WorkItem(key, job, store.folder, version, campaign.first_seed, campaign.record, campaign.series_step_s)
                for key, job in zip(keys, jobs, strict=True)
            ]
            done = store.done()
            todo = [item for item in items if item.key not in done]
            _make(crew, todo, store, progress, len(jobs) - len(todo))
            rows = store.compact().to_pylist()
            if campaign.record == "worst":
                wanted = worst_keys(rows, store.metrics()) - {p.name for p in store.recordings.glob("[!.]*")}
                _record(crew, [item for item in items if item.key in wanted], progress)
    return Outcome(len(jobs), len(todo), sum(r["crashed"] for r in rows), sum(r["failed"] for r in rows))


def _make(crew: Workers, items: Sequence[WorkItem], store: Store, progress: Progress, before: int) -> None:
    """Every run is committed by its worker; those that took their worker with them are committed here."""
    progress(before, before + len(items), "runs")
    for count, (item, error) in enumerate(crew.run(run_item, items) if items else (), start=before + 1):
        if error is not None and not store.has(item.key):
            store.put(crash(item, error), None)
        elif not store.has(item.key):
            raise ShoalError(f"{store.folder}: a result is missing; expected a directory all workers share")
        progress(count, before + len(items), "runs")


def _record(crew: Workers, items: Sequence[WorkItem], progress: Progress) -> None:
    """A recording that could not be made costs a warning, not the campaign."""
    for count, (item, error) in enumerate(crew.run(record_item, items) if items else (), start=1):
        if error is not None:
            which = " · ".join([*(word for word in item.job.cell if word), f"seed {item.job.spec.seed}"])
            warnings.warn(f"recording of {which}: not made, {describe(error)}", ShoalWarning, stacklevel=2)
        progress(count, len(items), "recordings of the worst runs")


def _about(campaign: Campaign, keys: list[str], cells: list[str], version: str) -> dict[str, object]:
    metrics = all_metrics([*task_class(campaign.task).metrics, *campaign.metrics])
    return {
        "campaign": campaign.model_dump(mode="json"),
        "metrics": [metric.info.model_dump(mode="json") for metric in metrics],
        "jobs": len(keys),
        "keys": keys,
        "cells": cells,
        "code_version": version,
        "machine": machine_class(),
    }
