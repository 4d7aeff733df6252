"""Every controller in the same closed loop: two vehicles, circle path; time of each control step and what it achieves.

The loops run side by side in turns of a few seconds, so that a disturbance of the machine meets all of them. A step is
the whole `tick` of a vehicle's runtime (estimation, prediction, optimisation, plan), in wall time and in CPU time;
simulated time stands still meanwhile.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.benchmarks.result import Result, Row
from shoal.codegen import compiler
from shoal.control.registry import ControllerFile
from shoal.control.settings import NmpcSettings
from shoal.evaluation.metrics import summarise
from shoal.fleet.runtime import VehicleRuntime
from shoal.frames import rotate
from shoal.messages.command import Command
from shoal.messages.geometry import fov_angles_deg
from shoal.messages.health import Mode
from shoal.messages.state import ATTITUDE, POSITION, RATE, VELOCITY
from shoal.provenance import code_version, machine_class
from shoal.recordings.recording import Recording
from shoal.tasks.run import RunSpec, build_run
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.functions import VehicleModel

Array = NDArray[np.float64]
PERIOD_S = 0.1
TURN_S = 3.0  # of simulated time before the next controller has its turn
BASELINE, CONVERGED, VEHICLES = "dompc", "ipopt", 2


def _nmpc(backend: str = "auto") -> ControllerFile:
    return ControllerFile(version=1, name=f"nmpc {backend}", controller="nmpc", settings={"backend": backend})


@dataclass(frozen=True)
class Entry:
    """One controller and how much of the loop it runs."""

    name: str  # as in the JSON
    controller: str | ControllerFile  # as in RunSpec
    text: str
    full_s: float = 60.0
    quick_s: float = 10.0
    fleet: str = "2"


ENTRIES = (
    Entry("nmpc", _nmpc(), "ours: real-time iteration, default back end"),
    Entry("nmpc-5-vehicles", _nmpc(), "the same with four neighbours", 60.0, 5.0, "5"),
    Entry("hpipm", _nmpc("hpipm"), "ours: real-time iteration, HPIPM, machine code"),
    Entry("hpipm-vm", _nmpc("hpipm-vm"), "ours: the same without a compiler"),
    Entry("fatrop", _nmpc("fatrop"), "same problem to convergence, fatrop"),
    Entry("fatrop-vm", _nmpc("fatrop-vm"), "the same without a compiler, exact Hessian", 9.0, 1.0),
    Entry("ipopt", _nmpc("ipopt"), "same problem to convergence, IPOPT/MUMPS"),
    Entry("ipopt-vm", _nmpc("ipopt-vm"), "the same without a compiler, exact Hessian", 9.0, 1.0),
    Entry("dompc-formation", "dompc_formation", "the do-mpc controller of Fosso 2023, own places", 15.0, 1.5),
    Entry(BASELINE, "dompc", "the do-mpc controller of Fosso 2023 as published", 60.0, 4.0),
)


@dataclass
class Timed:
    """How long a vehicle's steps take and how they end; put around its runtime's `tick`."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    failures: int = 0

    def watch(self, runtime: VehicleRuntime) -> None:
        """From now on."""
        inner = runtime.tick

        def tick(now_s: float) -> Command | None:
            wall, cpu = time.perf_counter(), time.thread_time()
            command = inner(now_s)
            cpu_s, wall_s = time.thread_time() - cpu, time.perf_counter() - wall
            if command is not None:
                self._note(command, wall_s, cpu_s)
            return command

        runtime.tick = tick  # type: ignore[method-assign]

    def _note(self, command: Command, wall_s: float, cpu_s: float) -> None:
        self.cpu_ms.append(cpu_s * 1e3)
        self.wall_ms.append(wall_s * 1e3)
        self.iterations.append(command.health.iterations)
        self.failures += command.health.mode is not Mode.CONTROLLER or bool(command.health.issues)


class Loop:
    """One controller's closed loop."""

    def __init__(self, entry: Entry, duration_s: float) -> None:
        self.entry, self.duration_s = entry, duration_s
        started = time.perf_counter()
        self._run = build_run(RunSpec("circle", entry.fleet, "ideal", 0, entry.controller, duration_s, PERIOD_S))
        self.build_s = time.perf_counter() - started
        self.timed = []
        for runtime in self._run.simulator.runtimes.values():
            self.timed.append(Timed())
            self.timed[-1].watch(runtime)
        self._ticks = self._run.simulator.ticks()
        self.done = False

    def turn(self) -> None:
        """Some seconds of the loop."""
        for _ in range(round(TURN_S / PERIOD_S)):
            if next(self._ticks, None) is None:
                self.done = True
                return

    def row(self) -> dict[str, Any]:
        """The figures of the finished loop."""
        recording = self._run.recording()
        summary = summarise(recording)
        wall = np.concatenate([t.wall_ms for t in self.timed])
        cpu = np.concatenate([t.cpu_ms for t in self.timed])
        return {
            "controller": self.entry.name,
            "text": self.entry.text,
            "vehicles": len(self.timed),
            "duration_s": self.duration_s,
            "steps": len(wall),
            "median_ms": float(np.median(wall)),
            "p99_ms": float(np.percentile(wall, 99)),
            "max_ms": float(wall.max()),
            "cpu_median_ms": float(np.median(cpu)),
            "cpu_p99_ms": float(np.percentile(cpu, 99)),
            "iterations_median": float(np.median(np.concatenate([t.iterations for t in self.timed]))),
            "build_s": self.build_s,
            **{name: summary.value(name) for name in ("rmse_whole_m", "rmse_m", "distance_min_m", "fov_max_deg")},
            "failures": sum(t.failures for t in self.timed),
            "cost": realised_cost(recording),
            "machine": machine_class(),
            "code_version": code_version(),
        }


def realised_cost(recording: Recording) -> list[float]:
    """What the motion cost by the optimisation's own weights, summed up to each instant: the same yardstick for all."""
    w, states = NmpcSettings().weights, recording.states
    trim = VehicleModel(load_vehicle("bluerov2_heavy", "wu2018")).trim()
    error = (states[..., POSITION] - recording.setpoints_m) ** 2 @ np.array(
        [w.position_xy, w.position_xy, w.position_z]
    )
    speed = np.array(
        [rotate(states[:, i, ATTITUDE], states[:, i, VELOCITY]) for i in range(states.shape[1])]
    ).transpose(1, 0, 2)
    motion = w.velocity * ((speed - recording.reference_velocity_mps[:, None]) ** 2).sum(-1)
    turning = w.rate * (states[..., RATE] ** 2).sum(-1)
    thrust = np.stack([recording.thrust_N[name] for name in recording.names], axis=1)  # (T,V,n)
    effort = w.thrust * ((thrust - trim) ** 2).sum(-1)
    sight = w.attitude * np.sin(np.deg2rad(fov_angles_deg(states, recording.must_see)) / 2) ** 2
    total = (error + motion + turning + effort).sum(-1) + sight.sum(-1)
    return [float(c) for c in np.cumsum(total)]


def measure(
    names: Sequence[str] = (), quick: bool = False, tell: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Rows, one per controller; with the baseline among them, also how many times faster than it."""
    entries = [e for e in ENTRIES if not names or e.name in names]
    with _fresh_cache(not quick):
        Loop(Entry("warm-up", _nmpc("hpipm-vm"), ""), 1.0).turn()  # compiles plant and estimator, which all share
        loops = []
        for entry in entries:
            tell(f"building {entry.name}")
            loops.append(Loop(entry, entry.quick_s if quick else entry.full_s))
        gc.collect()
        gc.freeze()
        try:
            _take_turns(loops, tell)
        finally:
            gc.unfreeze()
    return compare([loop.row() for loop in loops])


def _take_turns(loops: list[Loop], tell: Callable[[str], None]) -> None:
    turn = 0
    while running := [loop for loop in loops if not loop.done]:
        for i in range(len(running)):
            loop = running[(i + turn) % len(running)]  # nobody always comes after the same one
            tell(f"{turn * TURN_S:.0f} s: {loop.entry.name}")
            loop.turn()
        turn += 1


def compare(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds `faster_median`, `faster_p99`: baseline's time over this one's; `cost_ratio`: cost over converged IPOPT's.

    Costs are compared over the part of the loop that both ran.
    """
    by_name = {row["controller"]: row for row in rows}
    base, converged = by_name.get(BASELINE), by_name.get(CONVERGED)
    for row in [row for row in rows if row["vehicles"] == VEHICLES]:
        if base is not None:
            for key in ("median", "p99", "cpu_median", "cpu_p99"):
                row[f"faster_{key}"] = base[f"{key}_ms"] / row[f"{key}_ms"]
        if converged is not None:
            shared = min(len(row["cost"]), len(converged["cost"])) - 1
            row["cost_ratio"] = row["cost"][shared] / converged["cost"][shared]
    return [row | {"cost": row["cost"][-1]} for row in rows]


@contextmanager
def _fresh_cache(wanted: bool) -> Iterator[None]:
    """An empty cache of compiled code for a while, so that build times are those of a first start."""
    if not wanted:
        yield
        return
    before = os.environ.get("SHOAL_CACHE")
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        os.environ["SHOAL_CACHE"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["SHOAL_CACHE"]
            else:
                os.environ["SHOAL_CACHE"] = before


def run(quick: bool = False) -> Result:
    """For `shoal bench all`: the default back end against the baseline."""
    rows = {row["controller"]: row for row in measure(("nmpc", "hpipm-vm", BASELINE), quick)}
    figures = []
    for name, row in rows.items():
        figures += [Row(f"{name}, median step", row["median_ms"], "ms"), Row(f"{name}, P99", row["p99_ms"], "ms")]
    ours = rows["nmpc"]
    figures.append(Row("nmpc against do-mpc, median", ours["faster_median"], "×", "aim: ≥ 80"))
    figures.append(Row("nmpc against do-mpc, P99", ours["faster_p99"], "×", "aim: ≥ 60"))
    notes = () if compiler() else ("No C compiler found: the default back end is HPIPM on CasADi's virtual machine.",)
    return Result("solver", "Controllers: two vehicles on the circle, one core", tuple(figures), notes)
