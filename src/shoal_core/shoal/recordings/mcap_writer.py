"""A run as a rosbag2 recording (MCAP + metadata.yaml) that Foxglove, PlotJuggler and `ros2 bag` open.

Topics are those of the nodes (docs/topics_contract.md), so that a simulated run and a swum one are read alike: per
vehicle `/<v>/odometry` (measured), `/<v>/plan`, `/<v>/plan_path`, `/<v>/fov/<seen>`, `/<v>/distance/<other>` and
`/model/<v>/joint/thruster<i>_joint/cmd_thrust`; for the fleet `/fleet/reference`, `/fleet/setpoint`, `/diagnostics`,
`/tf`. Only a simulation has `/<v>/truth`. Stamps are simulation time.
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
from shoal.messages.health import Health, Issue, Mode
from shoal.messages.wording import summary
from shoal.recordings import ros_messages as msg
from shoal.recordings.diagnostic_values import OLDEST, level, mode_values
from shoal.recordings.recording import Recording

Array = NDArray[np.float64]

DIAGNOSTICS_PERIOD_S = 1.0
Item = tuple[float, str, str, Any]  # t_s, topic, message type, message


def write_mcap(record: Recording, folder: Path) -> None:
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


def _write_bag(record: Recording, folder: Path) -> None:
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    writer.set_custom_data("run", json.dumps(_about(record)))
    connections: dict[str, Any] = {}
    with writer:
        for t_s, topic, kind, message in _in_order_of_time(record):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=msg.STORE)
            writer.write(connections[topic], msg.nanoseconds(t_s), msg.STORE.serialize_cdr(message, kind))


def _about(record: Recording) -> dict[str, Any]:
    """What the topics do not tell: so that a report of the recording is one of the run."""
    names = record.names
    return asdict(record.about) | {
        "limits": record.limits.model_dump(),
        "outcome": None if record.outcome is None else asdict(record.outcome),
        "must_see": [[names[a], names[b]] for a, b in record.must_see],
    }


def _in_order_of_time(record: Recording) -> Iterator[Item]:
    vehicles = [_vehicle(record, v) for v in range(len(record.names))]
    return heapq.merge(*vehicles, _fleet(record), _plans(record), _health(record), key=lambda item: item[0])


def _vehicle(record: Recording, v: int) -> Iterator[Item]:
    name = record.names[v]
    thrust_topics = [
        f"/model/{name}/joint/thruster{i + 1}_joint/cmd_thrust" for i in range(record.thrust_N[name].shape[1])
    ]
    for k, t_s in enumerate(record.times_s.tolist()):
        yield t_s, f"/{name}/odometry", "nav_msgs/msg/Odometry", msg.odometry(t_s, name, record.odometry[k, v])
        yield t_s, f"/{name}/truth", "nav_msgs/msg/Odometry", msg.odometry(t_s, name, record.states[k, v])
        for topic, thrust in zip(thrust_topics, record.thrust_N[name][k].tolist(), strict=True):
            yield t_s, topic, "std_msgs/msg/Float64", msg.float64(thrust)


def _fleet(record: Recording) -> Iterator[Item]:
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


def _plans(record: Recording) -> Iterator[Item]:
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


def _health(record: Recording) -> Iterator[Item]:
    """Every second, and whenever a mode or the issues change; between changes the issues stay as they were."""
    modes = record.mode
    wanted = set(
        np.searchsorted(record.times_s, np.arange(record.times_s[0], record.times_s[-1], DIAGNOSTICS_PERIOD_S)).tolist()
    )
    wanted |= {k + 1 for k, (a, b) in enumerate(pairwise(modes)) if np.any(a != b)}
    changes: dict[int, dict[str, tuple[Issue, ...]]] = {}
    for event in record.events:
        k = min(int(np.searchsorted(record.times_s, event.t_s - 1e-9)), len(record.times_s) - 1)
        changes.setdefault(k, {})[event.vehicle] = event.issues
    issues: dict[str, tuple[Issue, ...]] = dict.fromkeys(record.names, ())
    for k in sorted(wanted | changes.keys()):
        issues |= changes.get(k, {})
        t_s = float(record.times_s[k])
        statuses = [_status(record, k, v, issues[name]) for v, name in enumerate(record.names)]
        yield t_s, "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", msg.diagnostics(t_s, statuses)


def _status(record: Recording, k: int, v: int, issues: tuple[Issue, ...]) -> Any:
    health = Health(Mode(int(record.mode[k, v])), issues)
    values = mode_values(health.mode, issues) | {
        "solve_ms": repr(float(record.solve_ms[k, v])),
        "slack": repr(float(record.slack_max[k, v])),
        OLDEST: repr(float(record.neighbour_age_s[k, v])),
    }
    return msg.status(record.names[v], int(level(health)), summary(health), values)
