"""`shoal bench ros`: latency, jitter and CPU of a fleet of real processes over real DDS, in real time, here and now."""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

from shoal.benchmarks.result import Result, Row
from shoal.fleet.generate import ring_fleet
from shoal_ros.domain import claim_domain
from shoal_ros.node_list import NodeSpec, fleet_nodes
from shoal_ros.supervisor import Supervisor

SIZES = (2, 3, 5, 7, 10, 12, 14, 16)  # vehicles, tried in turn
HOLDS = 0.99  # share of odometry messages that must be answered before the next one
WARM_UP_S = 2.0  # the plant counts from then on


@dataclass(frozen=True)
class Measured:
    """One run."""

    vehicles: dict[str, dict[str, float]]
    factor: float  # of real time
    cpu_share: dict[str, float]  # of one core, by node

    def worst(self, key: str) -> float:
        """Over the vehicles; infinite where one has no figures."""
        return max(v.get(key, float("inf")) for v in self.vehicles.values())

    @property
    def in_time(self) -> float:
        return min(v.get("in_time_share", 0.0) for v in self.vehicles.values())

    @property
    def holds(self) -> bool:
        return self.in_time >= HOLDS and self.factor >= 0.98


def run(quick: bool = False) -> Result:
    """Two vehicles at 20 Hz, then ever more at 10 Hz until they miss."""
    seconds = 8.0 if quick else 30.0
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        two = measure("two", 0.05, seconds, Path(folder))
        rows = _two_rows(two)
        largest, tried = 0, {}
        for size in SIZES[: 3 if quick else None]:
            tried[size] = measure(_fleet(size, Path(folder)), 0.1, 6.0 if quick else 12.0, Path(folder))
            if not tried[size].holds:
                break
            largest = size
    last = max(tried)
    end = "" if tried[last].holds else f"; {last} vehicles: {tried[last].in_time:.1%} in time"
    note = f"answered in time: {tried[largest].in_time:.1%}{end}" if largest else f"{last} do not hold it"
    rows.append(Row("largest fleet that holds 10 Hz", largest, "vehicles", f"{note} (aim: ≥ 5)"))
    load = os.getloadavg()[0]
    notes = (
        f"{os.cpu_count()} cores, load average {load:.1f}; one process a node, Fast DDS, condition 'default'.",
        "Latency: from handing odometry to DDS until DDS has all thrust commands back at the plant.",
    )
    return Result("ros", "ROS 2: real processes in real time, two vehicles at 20 Hz", tuple(rows), notes)


def _two_rows(two: Measured) -> list[Row]:
    rows = [
        Row("odometry → thrust, median", two.worst("latency_median_ms"), "ms", "the worse of two vehicles"),
        Row("odometry → thrust, P99", two.worst("latency_p99_ms"), "ms", "aim: < 15"),
        Row("odometry → thrust, largest", two.worst("latency_max_ms"), "ms"),
        Row("control period, median deviation", two.worst("jitter_median_ms"), "ms", "from 50 ms"),
        Row("control period, P99 deviation", two.worst("jitter_p99_ms"), "ms"),
        Row("answered before the next odometry", 100 * two.in_time, "%"),
        Row("real-time factor", two.factor, "×"),
    ]
    rows += [Row(f"CPU {name}", 100 * share, "% of a core") for name, share in two.cpu_share.items()]
    return rows


def _fleet(size: int, folder: Path) -> str:
    """Rings, so that all sizes ask the same of each vehicle."""
    path = folder / f"ring{size}.yaml"
    path.write_text(yaml.safe_dump(ring_fleet(size).model_dump(mode="json")), encoding="utf-8")
    return str(path)


def measure(fleet: str, period_s: float, seconds: float, folder: Path) -> Measured:
    """One run in real time."""
    file = folder / "figures.json"
    file.unlink(missing_ok=True)
    nodes = [_counted(n, file) for n in fleet_nodes(fleet, path="circle", control_period_s=period_s,
             duration_s=WARM_UP_S + seconds, display=False)]  # fmt: skip
    domain = claim_domain()
    supervisor = Supervisor(domain.environment(), lambda *_: None, lambda _: None)
    try:
        supervisor.start(nodes)
        cpu = _watch(supervisor)
    finally:
        supervisor.stop()
        domain.close()
    if not file.is_file():  # the plant did not get to its end
        return Measured({"": {}}, 0.0, cpu)
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return Measured(data["vehicles"], data["real_time_factor"], cpu)


def _counted(node: NodeSpec, file: Path) -> NodeSpec:
    if node.executable == "dynamics":
        return node.changed(figures_file=str(file), start_timeout_s=120.0)
    return node


def _watch(supervisor: Supervisor) -> dict[str, float]:
    """Until the plant ends; CPU shares from the first seconds of the run to its end."""
    first: dict[str, tuple[float, float]] = {}
    last: dict[str, tuple[float, float]] = {}
    running_since: float | None = None
    while supervisor.watch():
        time.sleep(0.2)
        if running_since is None and any("running" in line for line in supervisor.children["/dynamics"].lines):
            running_since = time.monotonic()
        if running_since is not None and time.monotonic() - running_since > WARM_UP_S:
            last = _cpu(supervisor)
            first = first or last
    return {n: (last[n][0] - first[n][0]) / max(last[n][1] - first[n][1], 1e-3) for n in first if n in last}


def _cpu(supervisor: Supervisor) -> dict[str, tuple[float, float]]:
    """CPU seconds used and when, by node."""
    used = {}
    for name, child in supervisor.children.items():
        try:
            times = psutil.Process(child.process.pid).cpu_times()
        except psutil.Error:
            continue
        used[name] = (times.user + times.system, time.monotonic())
    return used
