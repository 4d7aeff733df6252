"""How the time of one optimisation grows with neighbours and horizon: the default controller chasing a moving point."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.benchmarks.result import Result, Row
from shoal.control.nmpc.backends import choose_backend
from shoal.control.nmpc.nmpc import Goal, Nmpc, Others
from shoal.control.settings import NmpcSettings
from shoal.vehicles.description import Vehicle, load_vehicle
from shoal.vehicles.functions import VehicleModel

Array = NDArray[np.float64]
NEIGHBOURS, HORIZONS = (1, 2, 4, 8, 16), (10, 20, 40)
THRUSTERS, MOST_AS_INPUTS = (4, 8, 16, 32, 64, 160), 32
STEP_S = 0.1
SPEED_MPS, SPACING_M = 0.16, 1.95  # neighbours stand a little inside the soft distance: their rows work


class Case:
    """One controller with its moving point and neighbours; the plant is the model."""

    def __init__(
        self,
        backend: str,
        places: int,
        horizon: int,
        thrusters: int = 8,
        inputs: Literal["thrusters", "wrench"] = "thrusters",
    ) -> None:
        vehicle = vehicle_of(thrusters)
        settings = NmpcSettings(fine_steps=horizon, fine_step_s=STEP_S, coarse_steps=0, inputs=inputs)
        self.thrusters, self.inputs = thrusters, inputs
        self._controller = Nmpc(vehicle, settings, places, choose_backend(backend))
        self.places, self.horizon = places, horizon
        self._x, self._previous = np.zeros(13), VehicleModel(vehicle).trim()
        self._x[2], self._x[3] = 5.0, 1.0
        self._wall_ms: list[float] = []
        self._cpu_ms: list[float] = []
        self._iterations: list[int] = []
        self._failures = 0

    def turn(self, steps: int) -> None:
        """Some steps of the loop."""
        for _ in range(steps):
            times = STEP_S * len(self._wall_ms) + self._controller.times_s
            goal, others = Goal(_path(times), _velocity(times), np.zeros(len(times))), _others(self.places, times)
            started, cpu = time.perf_counter(), time.thread_time()
            solution = self._controller.solve(
                self._x, self._previous, goal, others, np.zeros(6), np.zeros(3), STEP_S if self._wall_ms else 0.0
            )
            self._cpu_ms.append((time.thread_time() - cpu) * 1e3)
            self._wall_ms.append((time.perf_counter() - started) * 1e3)
            self._iterations.append(solution.iterations)
            self._failures += not solution.usable
            self._x, self._previous = solution.states[1], solution.thrust_N

    def row(self) -> dict[str, Any]:
        """The figures."""
        return {
            "neighbours": self.places,
            "thrusters": self.thrusters,
            "inputs": self.inputs,
            "horizon": self.horizon,
            "median_ms": float(np.median(self._wall_ms)),
            "p99_ms": float(np.percentile(self._wall_ms, 99)),
            "cpu_median_ms": float(np.median(self._cpu_ms)),
            "cpu_p99_ms": float(np.percentile(self._cpu_ms, 99)),
            "iterations_median": float(np.median(self._iterations)),
            "failures": self._failures,
        }


def measure(backend: str = "auto", quick: bool = False) -> list[dict[str, Any]]:
    """A row per case; the cases take turns, so that all meet the same machine."""
    counts = NEIGHBOURS[:3] if quick else NEIGHBOURS
    return _timed([Case(backend, places, horizon) for places in counts for horizon in HORIZONS], quick)


def measure_inputs(backend: str = "auto", quick: bool = False) -> list[dict[str, Any]]:
    """A row per number of thrusters and kind of inputs, for one neighbour and 20 steps of horizon."""
    cases = [Case(backend, 1, 20, count, "thrusters") for count in THRUSTERS if count <= MOST_AS_INPUTS]
    cases += [Case(backend, 1, 20, count, "wrench") for count in THRUSTERS]
    return _timed(cases, quick)


def vehicle_of(thrusters: int) -> Vehicle:
    """A BlueROV2 Heavy with every thruster so often, and as many times the mass; with four, the horizontal ones."""
    base = load_vehicle("bluerov2_heavy")
    times = -(-thrusters // 8)
    copies = [replace(t, name=f"{t.name}_{i}") for i in range(times) for t in base.thrusters][:thrusters]
    scaled = base.scaled(mass=times, added_mass=times, damping=times, inertia=times)
    return replace(scaled, buoyancy_N=times * base.buoyancy_N, thrusters=tuple(copies))


def _timed(cases: list[Case], quick: bool) -> list[dict[str, Any]]:
    gc.collect()
    gc.freeze()
    for _ in range(2 if quick else 6):
        for case in cases:
            case.turn(30 if quick else 50)
    gc.unfreeze()
    return [case.row() for case in cases]


def _path(times_s: Array) -> Array:
    return np.stack([SPEED_MPS * times_s, 0.3 * np.sin(0.3 * times_s), np.full(len(times_s), 5.0)], axis=1)


def _velocity(times_s: Array) -> Array:
    return np.stack([np.full(len(times_s), SPEED_MPS), 0.09 * np.cos(0.3 * times_s), np.zeros(len(times_s))], axis=1)


def _others(places: int, times_s: Array) -> Others:
    """Ahead and abeam, moving along; the two foremost must be seen, more do not fit into one cone."""
    points = len(times_s)
    angles = np.linspace(-np.pi / 2, np.pi / 2, places + 2)[1:-1]
    offsets = SPACING_M * np.stack([np.cos(angles), np.sin(angles), np.zeros(places)], axis=1)
    positions = _path(times_s)[None] + offsets[:, None]
    seen = np.zeros(places)
    seen[np.argsort(np.abs(angles))[:2]] = 1.0
    return Others(positions, np.full((places, points), 2.0), np.full((places, points), 0.75), seen)


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Median CPU time over neighbours, a line per horizon."""
    from shoal.reports.plots.style import COLOURS, new_figure, save, styled

    with styled():
        figure = new_figure(6.6, 4.0)
        axes = figure.subplots()
        for horizon, colour in zip(HORIZONS, COLOURS, strict=False):
            chosen = [row for row in rows if row["horizon"] == horizon]
            x, y = [row["neighbours"] for row in chosen], [row["cpu_median_ms"] for row in chosen]
            axes.plot(x, y, "o-", color=colour)
            axes.annotate(
                f"N = {horizon}", (x[-1], y[-1]), (6, 0), textcoords="offset points", va="center", color=colour
            )
        axes.set(xlabel="neighbours in the optimisation", ylabel="median [ms]", title="CPU time of one optimisation")
        axes.set_xticks(sorted({row["neighbours"] for row in rows}))
        axes.set_ylim(bottom=0)
        axes.margins(x=0.12)
        save(figure, path)


def run(quick: bool = False) -> Result:
    """For `shoal bench all`."""
    rows = measure("auto", quick)
    figures = [Row(f"{r['neighbours']} neighbours, N = {r['horizon']}", r["cpu_median_ms"], "ms") for r in rows]
    return Result("growth", "Growth of the step time with neighbours and horizon", tuple(figures))
