"""What the way through ArduSub costs a fleet, as real processes in real time: `shoal ardusub trial`.

Controllers, guidance and recorder run once on the built-in plant, then through bridges and a stand-in autopilot for
each vehicle, in the same water. Judged on the truth: the plant's, and the stand-ins' own log.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from std_srvs.srv import SetBool

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.messages import topics
from shoal.messages.state import POSITION
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.recording import Recording
from shoal_mavlink.nodes import ardusub_nodes
from shoal_ros.harness import Harness, statuses
from shoal_ros.node_list import fleet_nodes

BELIEVED_V = 16.0
GET_READY_S = 180.0  # wall, at most: to connect, arm, come back from where the water has carried them
SETTLED_S = 15.0  # of the path: until then they may still be coming back


@dataclass(frozen=True)
class Trial:
    """What is tried."""

    fleet: str = "two"
    path: str = "circle"
    condition: str = "current_05_waves"
    seed: int = 0
    seconds: float = 60.0  # of the path


@dataclass(frozen=True)
class Found:
    """Of one run."""

    own_rms_m: float  # each vehicle against its own place, of the worst
    path_rms_m: float  # the fleet's centre against the setpoint
    controllers_late: float  # share of control steps beyond their period: on a busy machine figures mean little


def direct(trial: Trial, folder: Path) -> Found:
    """On the built-in plant, in real time."""
    nodes = fleet_nodes(
        trial.fleet, path=trial.path, condition=trial.condition, seed=trial.seed, rate=1.0, record=str(folder),
        display=False, ready_s=0.0,
    )  # fmt: skip
    with Harness() as harness:
        harness.start(*nodes)
        _wait_for_the_path(harness, trial)
    return _judged(folder, None, trial)


def through(trial: Trial, folder: Path, voltage_V: float = BELIEVED_V, route: str = "axes") -> Found:
    """Through bridges; `voltage_V` of the battery, which is not reported where it is not the believed one."""
    names = load_fleet(trial.fleet).names
    ports = {name: _free_port() for name in names}
    logs = {name: folder.with_name(f"{folder.name}.{name}.jsonl") for name in names}
    links = ",".join(f"{name}=udpout:127.0.0.1:{port}" for name, port in ports.items())
    nodes = ardusub_nodes(
        trial.fleet, links, path=trial.path, condition=trial.condition, record=str(folder), display=False,
        ready_s=0.0,
    )  # fmt: skip
    nodes = [node.changed(route=route) if node.executable == "mavlink_bridge" else node for node in nodes]
    since_s = time.monotonic()
    with ExitStack() as stack:
        for name in names:
            words = [
                "--fleet", trial.fleet, "--vehicle", name, "--path", trial.path, "--condition", trial.condition,
                "--seed", str(trial.seed), "--voltage", str(voltage_V), "--link", f"udpin:127.0.0.1:{ports[name]}",
                "--water-since", str(since_s),
                "--log", str(logs[name]), "--set", f"SCR_ENABLE={int(route == 'outputs')}",
                "--set", f"BATT_MONITOR={4 if voltage_V == BELIEVED_V else 0}",
            ]  # fmt: skip
            child = subprocess.Popen([sys.executable, "-m", "shoal_mavlink.stand_in", *words])
            stack.callback(child.wait, 10)
            stack.callback(child.terminate)
        harness = stack.enter_context(Harness())
        # Guidance begins with the path at once: in waves nobody is ever in place for seconds.
        later = [node for node in nodes if node.executable in ("guidance", "recorder")]
        harness.start(*(node for node in nodes if node not in later))
        _arm(harness, names)
        harness.start(*later)
        _wait_for_the_path(harness, trial)
    return _judged(folder, logs, trial)


def _arm(harness: Harness, names: Sequence[str]) -> None:
    lines = harness.listen(topics.DIAGNOSTICS)

    def status(name: str) -> str:
        found = statuses(lines, f"{name} autopilot")
        return str(found[-1].message) if found else ""

    def ready(name: str) -> bool:
        return "ready for ~/arm" in status(name)

    for name in names:
        harness.spin(partial(ready, name), f"{name} to be ready", GET_READY_S)
        answer = harness.call(SetBool, f"/{name}/mavlink_bridge/arm", SetBool.Request(data=True))
        if not answer.success:
            raise ShoalError(f"{name} was not armed: {answer.message}")


def _wait_for_the_path(harness: Harness, trial: Trial) -> None:
    heard = harness.listen(topics.TEST_STATUS)
    harness.spin(lambda: any(_running(m) >= 0 for m in heard), "the path to begin", GET_READY_S)
    harness.spin(lambda: max(map(_running, heard)) >= trial.seconds, "the path's end", trial.seconds + 60.0)


def _running(message: Any) -> float:
    """How long the test has run, s; below zero: it does not."""
    status = json.loads(message.data)
    return float(status.get("t_s", 0.0)) if status.get("state") == "running" else -1.0


def _judged(folder: Path, logs: Mapping[str, Path] | None, trial: Trial) -> Found:
    recording = read_runs(folder, trial.fleet)[-1]
    if logs is not None:
        recording = with_truth(recording, logs, time.time() - time.monotonic())
    late = recording.times_s >= SETTLED_S
    if np.count_nonzero(late) < 2:
        raise ShoalError(f"{folder}: {recording.times_s[-1]:.0f} s of the path; expected {trial.seconds:g} s")
    places, centre = recording.states[late, :, POSITION], recording.states[late, :, POSITION].mean(axis=1)
    own_m = np.linalg.norm(places - recording.setpoints_m[late], axis=2)  # (T,V)
    path_m = np.linalg.norm(centre - recording.reference_m[late], axis=1)
    slow = np.mean(recording.solve_ms > 1e3 * load_fleet(trial.fleet).control_period_s)
    own_rms_m, path_rms_m = np.sqrt(np.mean(own_m**2, axis=0)).max(), np.sqrt(np.mean(path_m**2))
    return Found(float(own_rms_m), float(path_rms_m), float(slow))


def with_truth(recording: Recording, logs: Mapping[str, Path], offset_s: float) -> Recording:
    """States from the stand-ins' logs; `offset_s` from their clock to the recording's."""
    states = recording.states.copy()
    stamps_s = recording.about.start_stamp_s + recording.times_s
    for i, name in enumerate(recording.names):
        lines = [json.loads(line) for line in logs[name].read_text(encoding="utf-8").splitlines() if line.endswith("}")]
        times_s = np.array([line["t_s"] for line in lines]) + offset_s
        known = np.array([line["state"] for line in lines])  # (K,13)
        nearest = np.clip(np.searchsorted(times_s, stamps_s), 1, len(times_s) - 1)
        nearest = nearest - (stamps_s - times_s[nearest - 1] < times_s[nearest] - stamps_s)
        states[:, i] = known[nearest]
        for axis in range(3):  # logged every 0.1 s at least
            states[:, i, axis] = np.interp(stamps_s, times_s, known[:, axis])
    return replace(recording, states=states)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
