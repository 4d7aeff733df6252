"""How fast whole fleets are simulated: controllers, estimators, links and plant, all in one process."""

from __future__ import annotations

import gc
import time

import numpy as np

from shoal.benchmarks.result import Result, Row
from shoal.tasks.run import RunSpec, build_run

SIZES = (2, 3, 5, 10, 50)
RATES_HZ = (10, 20)


def run(quick: bool = False) -> Result:
    """Simulated seconds per second of CPU time, for several fleets, with the controller at 10 and 20 Hz.

    CPU time of this process, not wall time: what one core does, whoever else is on the machine.
    """
    duration_s, rounds = (5.0, 2) if quick else (20.0, 10)
    cases = [(rate_hz, count) for rate_hz in RATES_HZ for count in SIZES]
    lengths_s = {count: duration_s * min(1.0, 10.0 / count) for count in SIZES}
    # Rounds outermost: a shared machine has slow minutes, and no case should have them all.
    seconds = dict.fromkeys(cases, np.inf)
    for _ in range(rounds):
        for rate_hz, count in cases:
            seconds[rate_hz, count] = min(seconds[rate_hz, count], _cpu_s(count, 1.0 / rate_hz, lengths_s[count]))
    rows: list[Row] = []
    for rate_hz, count in cases:
        step_ms, two_ms = (
            seconds[rate_hz, n] / ((round(lengths_s[n] * rate_hz) + 1) * n) * 1e3 for n in (count, SIZES[0])
        )
        note = f"{step_ms:.2f} ms per vehicle and control step, {step_ms / two_ms:.2f} × that of 2 vehicles"
        factor = lengths_s[count] / seconds[rate_hz, count]
        rows.append(Row(f"{count} vehicles at {rate_hz} Hz", factor, "× real time", note))
    return Result(
        name="fleet",
        title="Fleet simulator, condition default, circle path, one core",
        rows=tuple(rows),
        notes=(
            f"CPU time of one process, best of {rounds} runs of {duration_s:g} s; {lengths_s[50]:g} s for 50 vehicles.",
            "The first steps (cold solves) are part of it, loading and compiling are not.",
        ),
    )


def _cpu_s(count: int, period_s: float, duration_s: float) -> float:
    """CPU seconds of one run."""
    spec = RunSpec("circle", str(count), "default", 1, duration_s=duration_s, control_period_s=period_s)
    simulator = build_run(spec).simulator
    gc.collect()
    started = time.process_time()
    for _ in simulator.ticks():
        pass
    return time.process_time() - started
