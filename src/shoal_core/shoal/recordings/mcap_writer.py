"""A run as a rosbag2 recording (MCAP + metadata.yaml) that Foxglove, PlotJuggler and `ros2 bag` open.

Topics are those of the nodes (docs/topics_contract.md), so that a simulated run and a swum one are read alike: per
vehicle `/<v>/odometry` (measured), `/<v>/plan`, `/<v>/plan_path`, `/<v>/fov/<seen>`, `/<v>/distance/<other>` and
`/model/<v>/joint/thruster<i>_joint/cmd_thrust`; for the fleet `/fleet/reference`, `/fleet/setpoint`, `/diagnostics`,
`/tf`. Only a simulation has `/<v>/ground_truth`. Stamps are simulation time.
"""

from __future__ import annotations

import heapq
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from shoal.messages.geometry import all_pairs, distances_m, fov_angles_deg
from shoal.messages.health import Mode
from shoal.recordings import ros_messages as msg
from shoal.recordings.recording import RunRecord

Array = NDArray[np.float64]

DIAGNOSTICS_PERIOD_S = 1.0
Item = tuple[float, str, str, Any]  # t_s, topic, message type, message


def write_mcap(record: RunRecord, folder: Path) -> None:
    """Write `folder`/{folder.name}.mcap and metadata.yaml; the folder appears under its name only when complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write_bag(record, scratch / folder.name)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(scratch / folder.name, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write_bag(record: RunRecord, folder: Path) -> None:
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    writer.set_custom_data("run", json.dumps(_about(record)))
    connections: dict[str, Any] = {}
    with writer:
        for t_s, topic, kind, message in _in_order_of_time(record):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=msg.STORE)
            writer.write(connections[topic], msg.nanoseconds(t_s), msg.STORE.serialize_cdr(message, kind))


def _about(record: RunRecord) -> dict[str, Any]:
    """What the topics do not tell: so that a report of the recording is one of the run."""
    known = ("path", "fleet", "condition", "controller", "seed", "code_version")
    return {key: record.meta[key] for key in known if key in record.meta} | {"limits": asdict(record.limits)}


def _in_order_of_time(record: RunRecord) -> Iterator[Item]:
    vehicles = [_vehicle(record, v) for v in range(len(record.names))]
    return heapq.merge(*vehicles, _fleet(record), _plans(record), _health(record), key=lambda item: item[0])


def _vehicle(record: RunRecord, v: int) -> Iterator[Item]:
    name = record.names[v]
    thrust_topics = [f"/model/{name}/joint/thruster{i + 1}_joint/cmd_thrust" for i in range(record.thrust_N.shape[2])]
    for k, t_s in enumerate(record.times_s.tolist()):
        yield t_s, f"/{name}/odometry", "nav_msgs/msg/Odometry", msg.odometry(t_s, name, record.odometry[k, v])
        yield t_s, f"/{name}/ground_truth", "nav_msgs/msg/Odometry", msg.odometry(t_s, name, record.states[k, v])
        for topic, thrust in zip(thrust_topics, record.thrust_N[k, v].tolist(), strict=True):
            yield t_s, topic, "std_msgs/msg/Float64", msg.float64(thrust)


def _fleet(record: RunRecord) -> Iterator[Item]:
    fov, distance = fov_angles_deg(record.states, record.must_see), distances_m(record.states)
    names, pairs = record.names, all_pairs(len(record.names))
    for k, t_s in enumerate(record.times_s.tolist()):
        vx, vy = record.reference_velocity_mps[k, 0:2]
        heading = float(np.arctan2(vy, vx))
        setpoint = msg.pose_stamped(t_s, record.reference_m[k], heading)
        yield t_s, "/fleet/setpoint", "geometry_msgs/msg/PoseStamped", setpoint
        yield t_s, "/tf", "tf2_msgs/msg/TFMessage", msg.transforms(t_s, names, record.states[k])
        for p, (seer, seen) in enumerate(record.must_see):
            yield t_s, f"/{names[seer]}/fov/{names[seen]}", "std_msgs/msg/Float64", msg.float64(fov[k, p])
        for p, (a, b) in enumerate(pairs):
            yield t_s, f"/{names[a]}/distance/{names[b]}", "std_msgs/msg/Float64", msg.float64(distance[k, p])


def _plans(record: RunRecord) -> Iterator[Item]:
    """Plans as the nodes exchange them and as a path for display, with the setpoint's preview over the same time."""
    if not len(record.plan_dt_s):
        return
    kind = "trajectory_msgs/msg/MultiDOFJointTrajectory"
    for k, t_s in enumerate(record.plan_times_s.tolist()):
        times = t_s + record.plan_dt_s
        ahead, speed = (_sampled(times, record.times_s, a) for a in (record.reference_m, record.reference_velocity_mps))
        yield t_s, "/fleet/reference", kind, msg.trajectory(["fleet"], t_s, times, ahead, speed)
        for v, name in enumerate(record.names):
            plan = record.plans_m[k, v]
            speeds = np.gradient(plan, times, axis=0) if len(times) > 1 else np.zeros_like(plan)
            names = [name, f"seq={k}", "committed=1"]
            yield t_s, f"/{name}/plan", kind, msg.trajectory(names, t_s, times, plan, speeds)
            yield t_s, f"/{name}/plan_path", "nav_msgs/msg/Path", msg.path(t_s, times, plan)


def _sampled(wanted_s: Array, times_s: Array, values: Array) -> Array:
    """(K,3) of (T,3), straight between samples; what lies beyond the end is the end."""
    return np.stack([np.interp(wanted_s, times_s, values[:, i]) for i in range(values.shape[1])], axis=1)


def _health(record: RunRecord) -> Iterator[Item]:
    """Every second, and whenever a mode changes or something was said."""
    modes = record.mode
    wanted = set(
        np.searchsorted(record.times_s, np.arange(record.times_s[0], record.times_s[-1], DIAGNOSTICS_PERIOD_S))
    )
    wanted |= {k + 1 for k, (a, b) in enumerate(pairwise(modes)) if np.any(a != b)}
    said: dict[int, dict[str, list[str]]] = {}
    for t_s, vehicle, text in record.events:
        k = min(int(np.searchsorted(record.times_s, t_s)), len(record.times_s) - 1)
        said.setdefault(k, {}).setdefault(vehicle, []).append(text)
    for k in sorted({int(k) for k in wanted} | said.keys()):
        t_s = float(record.times_s[k])
        statuses = [_status(record, k, v, said.get(k, {}).get(name, [])) for v, name in enumerate(record.names)]
        yield t_s, "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", msg.diagnostics(t_s, statuses)


def _status(record: RunRecord, k: int, v: int, said: list[str]) -> Any:
    mode = Mode(int(record.mode[k, v]))
    values = {
        "mode": mode.name,
        "reason": "; ".join(said),
        "solve_ms": f"{record.solve_ms[k, v]:.3f}",
        "slack": f"{record.slack_max[k, v]:.6g}",
        "neighbour_age_s": f"{record.neighbour_age_s[k, v]:.3f}",
    }
    return msg.status(record.names[v], mode, "; ".join([mode.name, *said]), values)
