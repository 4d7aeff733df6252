"""One run of a campaign: what to simulate, its key, and how the simulator is called."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.config.files import find_config
from shoal.errors import ShoalError
from shoal.provenance import code_version
from shoal.recordings.recording import RunRecord
from shoal.simulation.conditions import Condition

if TYPE_CHECKING:
    from shoal.simulation.simulator import RunSpec

DEFAULT_SIMULATE = "shoal.campaigns.job:simulate_job"


@dataclass(frozen=True)
class Job:
    """Plain values, picklable; the attributes are those of `shoal.simulation.simulator.RunSpec`."""

    path: str  # name of a standard path, or a file
    fleet: str  # number of vehicles, name of a fleet file, or a file
    condition: Condition
    seed: int
    controller: str = "nmpc"
    duration_s: float | None = None
    control_period_s: float | None = None  # None: the simulator's default
    simulate: str = DEFAULT_SIMULATE  # "package.module:function", Job → RunRecord

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Runs of one cell differ in nothing but the seed."""
        return self.path, self.condition.name, self.fleet, self.controller

    def key(self) -> str:
        """Equal for equal runs: names and contents of all that decides the result, never where files lie."""
        parts = {
            "path": [_stem(self.path), file_hash("paths", self.path)],
            "fleet": [_stem(self.fleet), fleet_hash(self.fleet)],
            "condition": [self.condition.name, self.condition.content_hash()],
            "seed": self.seed,
            "controller": self.controller,
            "duration_s": self.duration_s,
            "control_period_s": self.control_period_s,
            "simulate": self.simulate,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def simulate_job(job: Job) -> RunRecord:
    """The fleet simulator on this job."""
    from shoal.simulation.simulator import RunSpec  # loads CasADi; campaigns and reports need it not

    spec = RunSpec(job.path, job.fleet, job.condition, job.seed, job.controller, job.duration_s)
    if job.control_period_s is not None:
        spec = replace(spec, control_period_s=job.control_period_s)
    return simulate_spec(spec)


def simulate_spec(spec: RunSpec, progress: Callable[[float], None] | None = None) -> RunRecord:
    """Simulate, and note which code did it."""
    from shoal.simulation.simulator import simulate

    record = simulate(spec, progress)
    return replace(record, meta={**record.meta, "code_version": code_version()})


def check_inputs(jobs: Iterable[Job]) -> None:
    """Load every path and fleet once: a misspelt name should stop a campaign, not crash its runs one by one."""
    wanted = [job for job in jobs if job.simulate == DEFAULT_SIMULATE]
    if wanted:
        from shoal.fleet.generate import resolve_fleet
        from shoal.guidance.path_file import load_path

        for path in dict.fromkeys(job.path for job in wanted):
            load_path(path)
        for fleet in dict.fromkeys(job.fleet for job in wanted):
            resolve_fleet(fleet)


def find_simulate(dotted: str) -> Callable[[Job], RunRecord]:
    """The callable that `package.module:function` names."""
    module_name, _, function = dotted.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ShoalError(f"simulate = '{dotted}': {error}; expected an importable package.module:function") from None
    if not callable(found):
        raise ShoalError(f"simulate = '{dotted}': is no function; expected package.module:function")
    return found


@lru_cache(maxsize=256)
def file_hash(kind: str, name: str) -> str:
    """Of the file behind a name or path; empty when there is none (a standard path)."""
    try:
        return hashlib.sha256(find_config(kind, name).read_bytes()).hexdigest()[:12]
    except ShoalError:
        return ""


@lru_cache(maxsize=64)
def fleet_hash(name: str) -> str:
    """Of the fleet behind a number, name or file, and of its vehicles' files; empty when there is none."""
    from shoal.fleet.generate import resolve_fleet

    try:
        fleet = resolve_fleet(name)
        types = [file_hash("vehicles", member.type) for member in fleet.vehicles]
    except ShoalError:
        return ""
    return hashlib.sha256(f"{fleet.model_dump_json()}{types}".encode()).hexdigest()[:12]


def _stem(name: str) -> str:
    return Path(name).stem if Path(name).suffix in {".yaml", ".yml"} else name
