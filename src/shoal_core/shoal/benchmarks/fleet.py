"""How fast whole fleets are simulated: controllers, estimators, links and plant, all in one process."""

from __future__ import annotations

import gc
import time

import numpy as np

from shoal.benchmarks.result import Result, Row
from shoal.simulation.run import FleetSimulator, make_controllers
from shoal.simulation.scenario import RunSpec, build_scenario

SIZES = (2, 3, 5, 10)
RATES_HZ = (10, 20)


def run(quick: bool = False) -> Result:
    """Simulated seconds per second of CPU time, for several fleets, with the controller at 10 and 20 Hz.

    CPU time of this process, not wall time: what one core does, whoever else is on the machine.
    """
    duration_s = 3.0 if quick else 20.0
    rows: list[Row] = []
    for rate_hz in RATES_HZ:
        costs = {count: _cost(count, 1.0 / rate_hz, duration_s) for count in SIZES}
        for count, (factor, step_ms) in costs.items():
            note = f"{step_ms:.2f} ms per vehicle and control step, {step_ms / costs[2][1]:.2f} × that of 2 vehicles"
            rows.append(Row(f"{count} vehicles at {rate_hz} Hz", factor, "× real time", note))
    return Result(
        name="fleet",
        title="Fleet simulator, condition default, circle path, one core",
        rows=tuple(rows),
        notes=(
            "CPU time of one process; the first steps (cold solves) are part of it, loading and compiling are not.",
        ),
    )


def _cost(count: int, period_s: float, duration_s: float) -> tuple[float, float]:
    """(simulated seconds per CPU second, CPU ms per vehicle and control step); the best of three."""
    best = np.inf
    for _ in range(3):
        scenario = build_scenario(
            RunSpec("circle", str(count), "default", 1, duration_s=duration_s, control_period_s=period_s)
        )
        simulator = FleetSimulator(scenario, make_controllers(scenario))
        gc.collect()
        started = time.process_time()
        simulator.run()
        best = min(best, time.process_time() - started)
    steps = (round(duration_s / period_s) + 1) * count
    return duration_s / best, best / steps * 1e3
