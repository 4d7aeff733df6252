"""Running a campaign on Dask distributed: a local cluster of processes, or a scheduler somewhere else.

Nothing is remembered but what lies in the directory: to resume is to run the same command again.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, ShoalWarning
from shoal.experiments.campaign_file import Campaign, campaign_jobs
from shoal.experiments.job import check_inputs, find_simulate
from shoal.experiments.provenance import code_version, machine_class
from shoal.experiments.rows import crashed_row
from shoal.experiments.store import Store
from shoal.experiments.worker import Task, describe, record_task, run_task
from shoal.experiments.worst import worst_keys

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
        with _client(workers, scheduler) as connect:
            if todo:
                _work(connect(), run_task, todo, progress, "runs", store, len(jobs) - len(todo))
            rows = store.compact().to_pylist()
            if campaign.record == "worst":
                wanted = worst_keys(rows) - {p.name for p in store.recordings.glob("[!.]*")}
                again = [task for task in tasks if task.key in wanted]
                if again:
                    _work(connect(), record_task, again, progress, "recordings of the worst runs")
    return Outcome(len(jobs), len(todo), sum(r["crashed"] for r in rows), sum(r["failed"] for r in rows))


def _work(
    client: Any,
    function: Callable[[Task], str],
    tasks: Sequence[Task],
    progress: Progress,
    what: str,
    store: Store | None = None,
    before: int = 0,
) -> None:
    """Hand out all tasks and wait. With a store, a run whose worker died is committed as crashed."""
    distributed: Any = importlib.import_module("distributed")
    futures = {client.submit(function, task, pure=False, retries=0): task for task in tasks}
    progress(before, before + len(tasks), what)
    try:
        for count, future in enumerate(distributed.as_completed(futures), start=before + 1):
            task = futures[future]
            if future.status == "error":
                _crashed(task, _reason(future.exception()), store)
            elif store is not None and not store.has(task.key):
                raise ShoalError(f"{store.folder}: a result is missing; expected a directory all workers share")
            progress(count, before + len(tasks), what)
    except BaseException:
        client.cancel(list(futures), force=True)
        raise


def _crashed(task: Task, reason: str, store: Store | None) -> None:
    """A run is committed with its reason; a recording that could not be made is only worth a warning."""
    if store is None:
        warnings.warn(
            f"recording of {' · '.join(task.job.cell)} seed {task.job.seed}: {reason}", ShoalWarning, stacklevel=2
        )
    elif not store.has(task.key):
        store.put(crashed_row(task.job, reason, task.code_version, task.key), None)


def _reason(error: BaseException) -> str:
    if type(error).__name__ == "KilledWorker":
        return "the worker process died (crash in native code, or out of memory)"
    return describe(error)


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[Callable[[], Any]]:
    """Gives a function that connects when first called: nothing to do should not start a cluster."""
    distributed: Any = importlib.import_module("distributed")  # a second of imports that a report needs not pay
    opened: list[Any] = []

    def connect() -> Any:
        if not opened and scheduler:
            try:
                opened.append(distributed.Client(scheduler, timeout="10s"))
            except (OSError, ValueError, TimeoutError) as error:
                raise ShoalError(
                    f"--scheduler {scheduler}: {error}; expected the address of a Dask scheduler"
                ) from None
        elif not opened:
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # any free port: two campaigns may run side by side
                memory_limit=None,
                silence_logs=logging.CRITICAL,
            )
            opened.extend([distributed.Client(cluster), cluster])
        return opened[0]

    try:
        yield connect
    finally:
        for thing in opened:
            thing.close()


def _about(campaign: Campaign, keys: list[str], version: str) -> dict[str, object]:
    return {
        "campaign": campaign.model_dump(mode="json"),
        "jobs": len(keys),
        "keys": keys,
        "code_version": version,
        "machine": machine_class(),
    }
