"""Ways from a wrench to thrusters with T200 curves: how far off the wrench is, and how long allocation takes."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from shoal.benchmarks.result import Result, Row
from shoal.codegen import compiler
from shoal.vehicles.allocation import Allocator
from shoal.vehicles.curves import load_table
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.mixers import heuristic, largest_wrench, produced, quantitative

Array = NDArray[np.float64]
SHARES = (0.05, 0.3, 0.6, 1.0)  # of the largest wrench, uniformly drawn on all axes
VOLTAGE_V = 16.0


def run(quick: bool = False) -> Result:
    """BlueROV2 Heavy with T200s at 16 V; the same random wrenches for all."""
    vehicle, curve = load_vehicle("bluerov2_heavy", "von_benzon2022"), load_table("t200").at(VOLTAGE_V)
    largest, count = largest_wrench(vehicle), 200 if quick else 3000
    ways: dict[str, Callable[[Array], Array]] = {
        "heuristic (Ng alg. 1)": lambda w: produced(vehicle, heuristic(vehicle, w / largest), curve),
        "pseudo-inverse (Ng alg. 2)": lambda w: produced(
            vehicle, quantitative(vehicle, w / largest, largest, curve), curve
        ),
    }
    for priority in ("attitude", "equal"):
        allocator = Allocator(vehicle, priority)

        def bounded(wrench: Array, allocator: Allocator = allocator) -> Array:
            sent = zip(vehicle.thrusters, allocator(wrench), strict=True)
            return produced(vehicle, np.array([t.to_device(np.array([f]))[0] for t, f in sent]), curve)

        ways[f"least squares, {priority}"] = bounded
    rows = []
    for share in SHARES:
        wrenches = np.random.default_rng(1).uniform(-share, share, (count, 6)) * largest
        for label, way in ways.items():
            error = np.array([way(w) - w for w in wrenches])
            rows += _errors(f"U(±{share:.0%}) {label}", error, wrenches)
    if compiler() is not None:
        rows += _times(Allocator(vehicle), largest, 20_000 if quick else 500_000)
    title = f"Allocation: {count} random wrenches each, T200s at {VOLTAGE_V:g} V, integer µs"
    return Result("allocation", title, tuple(rows))


def _errors(label: str, error: Array, wrenches: Array) -> list[Row]:
    force, torque = (np.linalg.norm(error[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
    sizes = [np.linalg.norm(wrenches[:, part], axis=1) for part in (slice(0, 3), slice(3, 6))]
    median = [100 * float(np.median(e / s)) for e, s in zip((force, torque), sizes, strict=True)]
    note = f"torque {median[1]:.3g} %; 95th percentile {np.percentile(force, 95):.3g} N"
    return [
        Row(f"{label}: median force error", median[0], "%", note),
        Row(f"{label}: torque error, 95 %", float(np.percentile(torque, 95)), "N m"),
    ]


def _times(allocator: Allocator, largest: Array, times: int) -> list[Row]:
    rows = []
    for share in SHARES:
        wrenches = np.random.default_rng(2).uniform(-share, share, (1000, 6)) * largest
        best = np.inf
        for _ in range(3):
            began = perf_counter()
            allocator.repeat(times, wrenches)
            best = min(best, perf_counter() - began)
        rows.append(Row(f"U(±{share:.0%}) a call in C", 1e6 * best / times, "µs", "aim: ≤ 2"))
    began = perf_counter()
    for wrench in wrenches:
        allocator(wrench)
    took_us = 1e6 * (perf_counter() - began) / len(wrenches)
    rows.append(Row(f"U(±{share:.0%}) a call from Python", took_us, "µs", "aim: ≤ 50"))
    return rows
