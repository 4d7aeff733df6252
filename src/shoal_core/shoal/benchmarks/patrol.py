"""Whether a fleet that swims for hours goes on as it began: error, memory and time a step, stretch by stretch."""

from __future__ import annotations

import gc
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal.benchmarks.result import Result, Row
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, build_run

PATH_S = 200.0  # once around the circle
PERIOD_S = 0.05
SETTLE_S = 10.0  # start poses are gone by then


@dataclass(frozen=True)
class Stretch:
    """At the end of one of the equal parts of a patrol."""

    end_s: float
    objects: int  # of Python's allocator; a list, a table or a queue that grows shows here
    resident_MB: float  # of the process; with what the recording has filled in so far
    step_ms: float  # CPU time of a period: plant, links, guidance and all vehicles


def run(quick: bool = False) -> Result:
    """Two hours of the circle again and again, two vehicles; four minutes if `quick`."""
    return patrol(240.0, 4) if quick else patrol(7200.0, 12)


def patrol(duration_s: float, stretches: int) -> Result:
    """`duration_s` of it in equal stretches."""
    settings = {"repeat": max(1, int(np.ceil(duration_s / PATH_S)))}
    built = build_run(RunSpec("circle", "2", "default", 1, duration_s=duration_s, task_settings=settings))
    length_s = duration_s / stretches
    found: list[Stretch] = []
    started = time.process_time()
    for k, _ in enumerate(built.simulator.ticks()):
        if k and k % round(length_s / PERIOD_S) == 0:
            step_ms = (time.process_time() - started) / round(length_s / PERIOD_S) * 1e3
            gc.collect()
            found.append(Stretch(k * PERIOD_S, sys.getallocatedblocks(), _resident_MB(), step_ms))
            started = time.process_time()
    return _result(found, errors_m(built.recording(), [s.end_s for s in found]), duration_s)


def errors_m(recording: Recording, ends_s: list[float]) -> list[float]:
    """RMS distance of the worse vehicle from its own place within each stretch; the start left out."""
    t = recording.times_s - recording.times_s[0]
    square = np.sum((recording.states[:, :, POSITION] - recording.setpoints_m) ** 2, axis=2)  # (T,V)
    found = []
    for begin_s, end_s in zip([min(SETTLE_S, ends_s[0] / 2), *ends_s], ends_s, strict=False):
        found.append(float(np.sqrt(np.nanmean(square[(t >= begin_s) & (t < end_s)], axis=0)).max()))
    return found


def _result(stretches: list[Stretch], own_error_m: list[float], duration_s: float) -> Result:
    rows = [
        Row(f"until {s.end_s / 60:.3g} min", error_m * 1e3, "mm",
            f"{s.objects} objects, {s.resident_MB:.0f} MB, {s.step_ms:.2f} ms of CPU time a period")
        for s, error_m in zip(stretches, own_error_m, strict=True)
    ]  # fmt: skip
    first, last = stretches[len(stretches) > 2], stretches[-1]  # the very first fills caches
    rows += [
        Row("growth of the error", (own_error_m[-1] - own_error_m[0]) * 1e3, "mm", "last stretch less the first"),
        Row("growth of memory", float(last.objects - first.objects), "objects", "last stretch less the second"),
    ]
    return Result(
        name="patrol",
        title=f"Patrol of {duration_s / 60:.3g} min: two vehicles on the circle, condition default, seed 1",
        rows=tuple(rows),
        notes=(
            "RMS error of the worse vehicle from its own place in each stretch.",
            "Resident memory includes the recording, which is filled in; objects are all that Python has allocated.",
        ),
    )


def _resident_MB() -> float:
    """Of this process; not-a-number where there is no /proc."""
    file = Path("/proc/self/statm")
    if not file.is_file():
        return float("nan")
    return int(file.read_text().split()[1]) * resource.getpagesize() / 1e6
