"""A run as the messages that the nodes would have sent, in a rosbag2 recording that Foxglove and `ros2 bag` open.

Topics are those of `messages.topics`, so that a simulated run and one on ROS read alike. Stamps are simulated time.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.messages import topics
from shoal.messages.geometry import all_pairs, fov_angles_deg
from shoal.messages.health import Health, Issue, Mode
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.topics import Topic
from shoal.recordings import codec, codec_display, resample
from shoal.recordings.bag_writer import BagWriter
from shoal.recordings.diagnostic_values import OLDEST, mode_values
from shoal.recordings.recording import Recording
from shoal.recordings.typestore import kind_of

Array = NDArray[np.float64]

DIAGNOSTICS_PERIOD_S = 1.0
Item = tuple[float, str, Topic, bytes]  # t_s, the topic's name, which one it is, CDR


def write_bag(recording: Recording, folder: Path) -> None:
    """A rosbag2 folder; the caller makes it appear atomically."""
    writer = BagWriter(folder, {"run": json.dumps(_notes(recording))})
    try:
        for t_s, name, topic, data in run_messages(recording):
            writer.add_topic(name, kind_of(topic.type))
            stamp_ns = codec.nanoseconds(t_s)
            writer.write(name, stamp_ns, stamp_ns, data)
    finally:
        writer.close()


def run_messages(recording: Recording) -> Iterator[Item]:
    """In order of time."""
    vehicles = [_vehicle(recording, v) for v in range(len(recording.names))]
    parts = [*vehicles, _fleet(recording), _plans(recording), _health(recording)]
    return heapq.merge(*parts, key=lambda item: item[0])


def _notes(recording: Recording) -> dict[str, Any]:
    """What the topics do not hold, so that a report of the recording is one of the run."""
    names = recording.names
    return asdict(recording.about) | {
        "limits": recording.limits.model_dump(),
        "thrust_bounds_N": {name: bounds.tolist() for name, bounds in recording.thrust_bounds_N.items()},
        "input_names": {name: list(inputs) for name, inputs in recording.input_names.items()},
        "hulls_m": {name: points.tolist() for name, points in recording.hulls_m.items()},
        "bounds": dict(recording.bounds),
        "outcome": None if recording.outcome is None else asdict(recording.outcome),
        "must_see": [[names[a], names[b]] for a, b in recording.must_see],
    }


def _vehicle(recording: Recording, v: int) -> Iterator[Item]:
    name = recording.names[v]
    thrust_N = recording.thrust_N[name]
    odometry, truth, setpoint = (t.of(name) for t in (topics.ODOMETRY, topics.TRUTH, topics.VEHICLE_SETPOINT))
    numbered = tuple(f"thruster{i + 1}" for i in range(thrust_N.shape[1]))
    thrusters = [topics.THRUST.of(name, thruster=t) for t in recording.input_names.get(name, numbered)]
    for k, t_s in enumerate(recording.times_s.tolist()):
        measured, true = Odometry(t_s, recording.odometry[k, v]), Odometry(t_s, recording.states[k, v])
        yield t_s, odometry, topics.ODOMETRY, codec.odometry_to_bytes(measured, name)
        yield t_s, truth, topics.TRUTH, codec.odometry_to_bytes(true, name)
        yield t_s, setpoint, topics.VEHICLE_SETPOINT, codec.pose_to_bytes(t_s, recording.setpoints_m[k, v])
        for topic, thrust in zip(thrusters, thrust_N[k].tolist(), strict=True):
            yield t_s, topic, topics.THRUST, codec_display.float_to_bytes(thrust)


def _fleet(recording: Recording) -> Iterator[Item]:
    fov, distance = fov_angles_deg(recording.states, recording.must_see), recording.distances_m
    names = recording.names
    seen = [topics.FOV.of(names[a], names[b]) for a, b in recording.must_see]
    apart = [topics.DISTANCE.of(names[a], names[b]) for a, b in all_pairs(len(names))]
    setpoint, tf = topics.SETPOINT.of(), topics.TF.of()
    for k, t_s in enumerate(recording.times_s.tolist()):
        north, east = recording.reference_velocity_mps[k, 0:2]
        pose = codec.pose_to_bytes(t_s, recording.reference_m[k], float(np.arctan2(east, north)))
        yield t_s, setpoint, topics.SETPOINT, pose
        yield t_s, tf, topics.TF, codec_display.transforms_to_bytes(t_s, names, recording.states[k])
        for topic, angle in zip(seen, fov[k].tolist(), strict=True):
            yield t_s, topic, topics.FOV, codec_display.float_to_bytes(angle)
        for topic, metres in zip(apart, distance[k].tolist(), strict=True):
            yield t_s, topic, topics.DISTANCE, codec_display.float_to_bytes(metres)


def _plans(recording: Recording) -> Iterator[Item]:
    """Plans as the nodes exchange them and as a path for display, with the setpoint's preview over the same time."""
    if not len(recording.plan_dt_s):
        return
    for k, t_s in enumerate(recording.plan_times_s.tolist()):
        times = t_s + recording.plan_dt_s
        ahead, speed = (  # what lies beyond the end is the end
            resample.linear(times, recording.times_s, values)
            for values in (recording.reference_m, recording.reference_velocity_mps)
        )
        yield t_s, topics.REFERENCE.of(), topics.REFERENCE, codec.preview_to_bytes(Preview(times, ahead, speed), t_s)
        for v, name in enumerate(recording.names):
            positions = recording.plans_m[k, v]
            speeds = np.gradient(positions, times, axis=0) if len(times) > 1 else np.zeros_like(positions)
            plan = Plan(name, k, t_s, times, positions, speeds)
            yield t_s, topics.PLAN.of(name), topics.PLAN, codec.plan_to_bytes(plan)
            path = codec.path_to_bytes(t_s, times, positions)
            yield t_s, topics.PLAN_PATH.of(name), topics.PLAN_PATH, path


def _health(recording: Recording) -> Iterator[Item]:
    """Every second, and whenever a mode or the issues change; between changes the issues stay as they were."""
    times, modes = recording.times_s, recording.mode
    regular = np.searchsorted(times, np.arange(times[0], times[-1], DIAGNOSTICS_PERIOD_S)).tolist()
    wanted = {*regular, *(k + 1 for k, (a, b) in enumerate(pairwise(modes)) if np.any(a != b))}
    changes: dict[int, dict[str, tuple[Issue, ...]]] = {}
    for event in recording.events:
        k = min(int(np.searchsorted(times, event.t_s - 1e-9)), len(times) - 1)
        changes.setdefault(k, {})[event.vehicle] = event.issues
    issues: dict[str, tuple[Issue, ...]] = dict.fromkeys(recording.names, ())
    for k in sorted(wanted | changes.keys()):
        issues |= changes.get(k, {})
        statuses = [_status(recording, k, v, issues[name]) for v, name in enumerate(recording.names)]
        t_s = float(times[k])
        yield t_s, topics.DIAGNOSTICS.of(), topics.DIAGNOSTICS, codec_display.diagnostics_to_bytes(t_s, statuses)


def _status(recording: Recording, k: int, v: int, issues: tuple[Issue, ...]) -> codec_display.Status:
    health = Health(Mode(int(recording.mode[k, v])), issues)
    values = mode_values(health.mode, issues) | {
        "solve_ms": repr(float(recording.solve_ms[k, v])),
        "slack": repr(float(recording.slack_max[k, v])),
        OLDEST: repr(float(recording.neighbour_age_s[k, v])),
    }
    return codec_display.health_status(recording.names[v], health, values)
