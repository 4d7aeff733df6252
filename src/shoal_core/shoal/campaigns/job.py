"""One run of a campaign, and its key."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from shoal.config.files import find_config
from shoal.control.registry import ControllerFile
from shoal.errors import ShoalError
from shoal.evaluation.metrics import all_metrics, check_bounds
from shoal.fleet.file import Fleet
from shoal.fleet.generate import resolve_fleet
from shoal.fleet.setup import settings_of
from shoal.plugins import find, is_dotted
from shoal.recordings.recording import About
from shoal.simulation.conditions import Condition
from shoal.tasks.base import TaskContext
from shoal.tasks.run import RunSpec, about_run, load_inputs, make_task, task_class


@dataclass(frozen=True)
class Job:
    """Plain values, picklable. Condition and controller are loaded: their files may change while workers start."""

    spec: RunSpec
    metrics: tuple[str, ...] = ()  # beyond those of every run and of the task

    def __post_init__(self) -> None:
        spec = self.spec
        if not isinstance(spec.condition, Condition) or not isinstance(spec.controller, ControllerFile):
            _, condition, controller = load_inputs(spec)
            loaded = {**vars(spec), "condition": condition, "controller": controller}
            object.__setattr__(self, "spec", RunSpec(**loaded))

    @property
    def condition(self) -> Condition:
        """Loaded."""
        assert isinstance(self.spec.condition, Condition)
        return self.spec.condition

    @property
    def controller(self) -> ControllerFile:
        """Loaded."""
        assert isinstance(self.spec.controller, ControllerFile)
        return self.spec.controller

    def about(self) -> About:
        """What the recording of this run will say of itself."""
        fleet = _resolved(self.spec.fleet) if isinstance(self.spec.fleet, str) else self.spec.fleet
        return about_run(self.spec, fleet, self.condition, self.controller)

    @property
    def cell(self) -> tuple[str, ...]:
        """Runs of one cell differ in nothing but the seed."""
        about = self.about()
        return about.task, about.path, about.condition, about.fleet, about.controller

    def key(self) -> str:
        """Equal for equal runs: names and contents of all that decides the result, never where files lie."""
        spec = self.spec
        follows = task_class(spec.task).follows_path
        parts = {
            "task": [spec.task, _plain(spec.task_settings), source_hash("task", spec.task)],
            "path": [_stem(spec.path), file_hash("paths", spec.path)] if follows else None,
            "fleet": fleet_hash(spec.fleet),
            "condition": [self.condition.name, self.condition.content_hash()],
            "controller": [
                self.controller.model_dump(mode="json", exclude={"description"}),
                source_hash("controller", self.controller.controller),
            ],
            "seed": spec.seed,
            "duration_s": spec.duration_s,
            "control_period_s": spec.control_period_s,
            "metrics": [[name, source_hash("metric", name)] for name in self.metrics],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def check_inputs(jobs: Iterable[Job]) -> None:
    """Everything that jobs name is loaded once: a misspelt name stops a campaign instead of crashing run after run."""
    seen: set[str] = set()
    for job in jobs:
        spec = job.spec
        mark = json.dumps(
            [spec.task, _plain(spec.task_settings), spec.path, str(spec.fleet), job.controller.name, job.condition.name]
        )
        if mark in seen:
            continue
        seen.add(mark)
        fleet, condition, controller = load_inputs(spec)
        task = make_task(spec.task, TaskContext(fleet, condition, spec.task_settings, spec.path, spec.seed))
        settings_of(controller, fleet)
        metrics = all_metrics([*task.metrics, *job.metrics])
        check_bounds(task.bounds, metrics, f"task {spec.task}")
        check_bounds(condition.bounds, metrics, f"condition {condition.name}")


@lru_cache(maxsize=256)
def file_hash(kind: str, name: str) -> str:
    """Of the file behind a name or path; empty when there is none (a standard path)."""
    try:
        return hashlib.sha256(find_config(kind, name).read_bytes()).hexdigest()[:12]
    except ShoalError:
        return ""


@lru_cache(maxsize=64)
def source_hash(kind: str, name: str) -> str:
    """Of the module of a user's own class, which no version of ours covers; empty for shipped names."""
    if not is_dotted(name):
        return ""
    find(kind, name, {})  # imports it
    file = sys.modules[name.partition(":")[0]].__file__
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12] if file else ""


def fleet_hash(fleet: str | Fleet) -> str:
    """Of a fleet by number, name, file or value, and of its vehicles' files."""
    return _named_fleet_hash(fleet) if isinstance(fleet, str) else _hash_of(fleet)


_resolved = lru_cache(maxsize=64)(resolve_fleet)  # a campaign asks for the same few thousands of times


@lru_cache(maxsize=64)
def _named_fleet_hash(name: str) -> str:
    return _hash_of(_resolved(name))


def _hash_of(fleet: Fleet) -> str:
    types = [file_hash("vehicles", member.type) for member in fleet.vehicles]
    return hashlib.sha256(f"{fleet.model_dump_json()}{types}".encode()).hexdigest()[:12]


def _plain(settings: Any) -> Any:
    return json.loads(json.dumps(dict(settings), sort_keys=True, default=str))


def _stem(name: str) -> str:
    return Path(name).stem if Path(name).suffix in {".yaml", ".yml"} else name
