"""Dask workers for a campaign: a local cluster of processes, or a scheduler somewhere else.

A run may take its process with it (a crash in a solver's native code). Three things about Dask then matter: it blames
every task that lay on that worker, so suspects are run again, alone; its nanny does not restart a worker that dies
while starting, so a local cluster that has lost workers for good gets new ones; and a cluster gives up, after 15 s, a
worker that a busy machine is slow to restart, together with the task it has just begun, so it is made to wait.
"""

from __future__ import annotations

import importlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from shoal.errors import ShoalError

POLL_S = 0.05
PATIENCE_S = 60.0  # for a nanny to restart its worker, on a busy machine
ALONE = 2  # tries of a suspect before it is found guilty
_CONFIG = {
    "distributed.scheduler.worker-saturation": 1.0,  # what waits, waits at the scheduler: less to blame
    "distributed.scheduler.allowed-failures": 0,  # further tries are ours, alone
    "distributed.deploy.lost-worker-timeout": "1 hour",
}

Task = TypeVar("Task")
Error = BaseException | None


class Workers:
    """Connects when first needed: nothing to do should not start a cluster."""

    def __init__(self, count: int, scheduler: str | None) -> None:
        self._count, self._scheduler = count, scheduler
        self._client: Any = None
        self._cluster: Any = None
        self._complete_s = time.monotonic()  # when all workers were last seen
        self._config = ExitStack()
        self._interrupted = False
        self._restore: Callable[[], object] | None = None  # what Ctrl-C did before

    def __enter__(self) -> Workers:
        """Ctrl-C is ours, even where it was inherited as ignored: a shell ignores it in background jobs."""
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, self._interrupt)
            self._restore = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        try:
            for thing in (self._client, self._cluster):
                if thing is not None:
                    thing.close()
            self._config.close()
        finally:
            if self._restore is not None:
                self._restore()
        if self._interrupted and kind is None:
            raise KeyboardInterrupt

    def _interrupt(self, *_: object) -> None:
        """Ctrl-C is remembered and acted upon between two tasks. Raised anywhere, it may fall into one of Dask's
        callbacks, which swallow it, and the campaign would run on. Pressed again, it is raised at once."""
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True

    def run(self, function: Callable[[Task], object], tasks: Sequence[Task]) -> Iterator[tuple[Task, Error]]:
        """Each task as it ends, with its exception if it had one; `WorkerDied` when it took its process with it."""
        suspects: list[Task] = []
        for task, error in self._together(function, tasks):
            if isinstance(error, WorkerDied):
                suspects.append(task)
            else:
                yield task, error
        for task in suspects:
            yield task, self._alone(function, task)

    def _alone(self, function: Callable[[Task], object], task: Task) -> Error:
        error: Error = None
        for _ in range(ALONE):
            ((_, error),) = self._together(function, [task])
            if not isinstance(error, WorkerDied):
                break
        return error

    def _together(self, function: Callable[[Task], object], tasks: Sequence[Task]) -> Iterator[tuple[Task, Error]]:
        distributed, client = _distributed(), self._connected()
        futures = {client.submit(function, task, pure=False, retries=0): task for task in tasks}
        ready = distributed.as_completed(list(futures))
        try:
            while futures:
                if self._interrupted:
                    raise KeyboardInterrupt
                if not ready.has_ready():
                    self._keep_up()
                    time.sleep(POLL_S)
                    continue
                future = next(ready)
                yield futures.pop(future), self._error(future)
        finally:
            if futures:
                client.cancel(list(futures), force=True)

    def _error(self, future: Any) -> Error:
        if future.status == "finished":
            return None
        if future.status != "error":
            raise ShoalError("campaign: lost the Dask scheduler; expected it to stay, run the same command to go on")
        error = future.exception()
        return WorkerDied() if type(error).__name__ == "KilledWorker" else error

    def _keep_up(self) -> None:
        """Workers that are gone for good are replaced (local cluster only; another scheduler minds its own)."""
        if self._cluster is None:
            return
        missing = self._count - len(self._cluster.scheduler.workers)
        now = time.monotonic()
        if missing <= 0:
            self._complete_s = now
        elif now - self._complete_s > PATIENCE_S:
            self._complete_s = now
            self._cluster.scale(len(self._cluster.worker_spec) + missing)

    def _connected(self) -> Any:
        if self._client is None and self._scheduler:
            self._client = _remote(self._scheduler)
        elif self._client is None:
            dask: Any = importlib.import_module("dask")
            self._config.enter_context(dask.config.set(_CONFIG))  # for the cluster's whole life
            self._cluster = _local(self._count)
            self._client = _distributed().Client(self._cluster)
        return self._client


class WorkerDied(Exception):
    """The worker process died."""

    def __str__(self) -> str:
        return "the worker process died (crash in native code, or out of memory)"


def _distributed() -> Any:
    return importlib.import_module("distributed")  # a second of imports that a report need not pay


def _remote(address: str) -> Any:
    try:
        return _distributed().Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise ShoalError(f"--scheduler {address}: {error}; expected the address of a Dask scheduler") from None


def _local(count: int) -> Any:
    return _distributed().LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",  # any free port: two campaigns may run side by side
        memory_limit=None,
        silence_logs=logging.CRITICAL,
    )
