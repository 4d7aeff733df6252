"""The campaigns behind docs/results: which, how many seeds, in which folder, and how long they will take."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shoal.campaigns.file import Campaign, campaign_jobs, load_campaign
from shoal.campaigns.job import Job
from shoal.campaigns.store import Store
from shoal.config.files import list_configs
from shoal.errors import ShoalError
from shoal.provenance import VERSION
from shoal.tasks.base import TaskContext
from shoal.tasks.run import build_run, load_inputs, make_task

SEEDS = {"fosso2023": 20, "appendix_e": 3, "exchange": 5, "pid": 5}  # of the others as many as their files say
ORDER = ("fosso2023", "appendix_e", "pid", "exchange", "recovery")  # then the rest, by name
SAMPLE_S = 5.0  # simulated, of each fleet and controller, to measure how fast they go here
OVERHEAD = 1.2  # building a run, judging it and writing it, on top of stepping it


@dataclass(frozen=True)
class Part:
    """One campaign of the results."""

    campaign: Campaign
    jobs: tuple[Job, ...]
    keys: frozenset[str]
    whole: int  # seeds of a cell in the whole sample

    @property
    def name(self) -> str:
        """Of the campaign."""
        return self.campaign.name

    @property
    def sample(self) -> str:
        """What its table has to say of the sample; empty: it is the whole one."""
        few = self.campaign.runs < self.whole
        return f"**Reduced sample**: {self.campaign.runs} of {self.whole} seeds." if few else ""


def parts(names: Iterable[str] = (), runs: int | None = None) -> list[Part]:
    """Of every shipped campaign, or those named; `runs` seeds at most."""
    known = list_configs("campaigns")
    chosen = list(names) or [*(n for n in ORDER if n in known), *(n for n in known if n not in ORDER)]
    return [_part(name, runs) for name in chosen]


def _part(name: str, runs: int | None) -> Part:
    campaign = load_campaign(name)
    whole = SEEDS.get(campaign.name, campaign.runs)
    seeds = min(whole, runs or whole)
    campaign = campaign.model_copy(update={"runs": seeds, "record": "none"})
    jobs = campaign_jobs(campaign, name)
    return Part(campaign, tuple(jobs), frozenset(job.key() for job in jobs), whole)


def missing(part: Part, folder: Path) -> list[Job]:
    """Runs that are still to be made."""
    done = Store(folder).done() & part.keys
    return [job for job in part.jobs if job.key() not in done]


def durations_s(jobs: Sequence[Job]) -> list[float]:
    """Simulated, of each at most; a task that is over early takes less."""
    known: dict[tuple[object, ...], float] = {}
    found = []
    for job in jobs:
        spec = job.spec
        mark = (spec.task, spec.path, str(spec.fleet), spec.duration_s)
        if mark not in known:
            fleet, condition, _ = load_inputs(spec)
            task = make_task(spec.task, TaskContext(fleet, condition, spec.task_settings, spec.path, spec.seed))
            known[mark] = spec.duration_s or task.duration_s
        found.append(known[mark])
    return found


Speed = Callable[[Job], float]  # seconds of this machine's time per simulated second


class MeasuredSpeed:
    """A short run of each fleet with each controller, once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], float] = {}

    def __call__(self, job: Job) -> float:
        kind = (str(job.spec.fleet), job.controller.controller)
        if kind not in self._known:
            run = build_run(replace(job.spec, duration_s=SAMPLE_S))
            before_s = time.process_time()  # of this process: others may be at work as well
            run.simulator.run()
            self._known[kind] = (time.process_time() - before_s) / SAMPLE_S
        return self._known[kind]


def estimate_s(jobs: Sequence[Job], workers: int, speed: Speed) -> float:
    """How long these runs take on `workers` cores that have nothing else to do."""
    total = sum(duration * speed(job) for job, duration in zip(jobs, durations_s(jobs), strict=True))
    return OVERHEAD * total / workers


def source_state(root: Path) -> tuple[str, bool]:
    """The last commit that changed code or configuration, and whether either has changes that are not committed.

    Runs of one such state belong together, whatever was committed to documents in between.
    """
    where = ("--", "src/shoal_core/shoal", "config")
    commit = _git(root, "log", "-1", "--format=%h", "--abbrev=12", *where)
    if commit is None:
        return VERSION, False
    return commit, bool(_git(root, "status", "--porcelain", "--untracked-files=no", *where))


def refuse_uncommitted(root: Path) -> str:
    """The source state's name; a ShoalError when nobody could ever check that code out again."""
    commit, changed = source_state(root)
    if changed:
        raise ShoalError(
            f"{root}: code or configuration has changes that are not committed; expected results of a commit"
        )
    return commit


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout.strip() or None) if done.returncode == 0 and (done.stdout or arguments[0] != "log") else None
