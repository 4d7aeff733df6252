"""What the way through ArduSub costs a fleet, as real processes: `shoal ardusub trial`.

Controllers, guidance and recorder run once on the built-in plant, then through bridges and a stand-in autopilot for
each vehicle, in the same water. All of it in lock step, so that a busy machine changes nothing.
Judged on the truth: the plant's, and the stand-ins' own log.
"""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool

from shoal.errors import ShoalError
from shoal.fleet.file import load_fleet
from shoal.frames import tilt_rad
from shoal.messages import topics
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import load_condition
from shoal_mavlink.nodes import ACTUATION_DELAY_S, ardusub_nodes
from shoal_ros import convert
from shoal_ros.harness import Harness, statuses
from shoal_ros.node_list import CONTROLLER_NODES, fleet_nodes

BELIEVED_V = 16.0
GET_READY_S = 180.0  # wall, at most: to connect and to begin
STARTING_S = 0.05  # wall: how long the clock waits for a bridge that has no odometry yet
ASK_AGAIN_S, PATIENCE_S = 0.3, 60.0  # wall; for answers once it has
GUIDANCE_LAG_S = 0.3  # simulated, as with the built-in plant
SETTLED_S = 10.0  # of the path
HELD_S = 5.0  # a place, before the path begins


@dataclass(frozen=True)
class Trial:
    """What is tried."""

    fleet: str = "two"
    path: str = "circle"
    condition: str = "current_05_waves"
    seed: int = 0
    seconds: float = 60.0  # of the path
    late: bool = False  # beside the bridge's and the autopilot's own time, overrides take the condition's control delay


@dataclass(frozen=True)
class Found:
    """Of one run, from SETTLED_S on."""

    own_rms_m: float  # each vehicle against its own place, of the worst
    path_rms_m: float  # the fleet's centre against the setpoint
    tilt_max_deg: float


def direct(trial: Trial, folder: Path) -> Found:
    """On the built-in plant."""
    nodes = fleet_nodes(
        trial.fleet, path=trial.path, condition=trial.condition, seed=trial.seed, rate=0.0, lockstep=True,
        record=str(folder), display=False, ready_s=0.0,
    )  # fmt: skip
    with Harness() as harness:
        harness.start(*nodes)
        heard = harness.listen(topics.TEST_STATUS)
        harness.spin(
            lambda: max(map(_running, heard), default=-1.0) >= trial.seconds, "the path's end", GET_READY_S * 2
        )
    return _judged(folder, None, trial)


def through(trial: Trial, folder: Path, voltage_V: float = BELIEVED_V, route: str = "axes") -> Found:
    """Through bridges; `voltage_V` of the battery, which is not reported where it is not the believed one."""
    names = load_fleet(trial.fleet).names
    ports = {name: _free_port() for name in names}
    logs = {name: folder.with_name(f"{folder.name}.{name}.jsonl") for name in names}
    links = ",".join(f"{name}=udpout:127.0.0.1:{port}" for name, port in ports.items())
    nodes = ardusub_nodes(
        trial.fleet, links, path=trial.path, condition=trial.condition, record=str(folder), display=False,
        ready_s=0.0, lockstep=True,
    )  # fmt: skip
    nodes = [node.changed(route=route) if node.executable == "mavlink_bridge" else node for node in nodes]
    late_s = load_condition(trial.condition).control_delay_periods * load_fleet(trial.fleet).control_period_s
    late_s = late_s if trial.late else 0.0
    nodes = [
        node.changed(actuation_delay_s=ACTUATION_DELAY_S + late_s) if node.executable in CONTROLLER_NODES else node
        for node in nodes
    ]
    with ExitStack() as stack:
        for name in names:
            words = [
                "--fleet", trial.fleet, "--vehicle", name, "--path", trial.path, "--condition", trial.condition,
                "--seed", str(trial.seed), "--voltage", str(voltage_V), "--link", f"udpin:127.0.0.1:{ports[name]}",
                "--lockstep", "--moored", "--late", str(late_s),
                "--log", str(logs[name]), "--set", f"SCR_ENABLE={int(route == 'outputs')}",
                "--set", f"BATT_MONITOR={4 if voltage_V == BELIEVED_V else 0}",
            ]  # fmt: skip
            child = subprocess.Popen([sys.executable, "-m", "shoal_mavlink.stand_in", *words])
            stack.callback(child.wait, 10)
            stack.callback(child.terminate)
        harness = stack.enter_context(Harness())
        clock = WaitingClock(harness, trial.fleet)
        later = [node for node in nodes if node.executable in ("guidance", "recorder")]
        harness.start(*(node for node in nodes if node not in later))
        lines = harness.listen(topics.DIAGNOSTICS)
        clock.run(lambda: all(_ready(lines, name) for name in names), "the vehicles to be ready")
        live = [harness.listen(topics.THRUSTERS_LIVE, vehicle=name) for name in names]
        for name in names:
            answer = harness.call(SetBool, f"/{name}/mavlink_bridge/arm", SetBool.Request(data=True))
            if not answer.success:
                raise ShoalError(f"{name} was not armed: {answer.message}")
        clock.run(lambda: all(told and told[-1].data for told in live), "the vehicles to swim")
        begin_s = clock.t_s + HELD_S
        clock.run(lambda: clock.t_s >= begin_s, "the vehicles to hold")
        harness.start(*later)  # while the clock stands
        harness.spin(lambda: _listened_to(harness, names), "guidance and recorder", GET_READY_S)
        heard = harness.listen(topics.TEST_STATUS)
        clock.guided = True
        clock.run(lambda: max(map(_running, heard), default=-1.0) >= trial.seconds, "the path's end")
    return _judged(folder, logs, trial)


class WaitingClock:
    """/bridge_clock, then /clock: bridges have to be there before controllers step, and controllers before we go on.

    An answer counts by its stamp: asked once more, bridges and controllers repeat what they have sent, and a repetition
    that is late would else pass for the next answer; from then on the clock would run ahead of the vehicles.
    """

    def __init__(self, harness: Harness, fleet: str) -> None:
        loaded = load_fleet(fleet)
        self.guided = False  # whether guidance is waited for too
        self._harness, self._period_s, self._ticks = harness, loaded.control_period_s, 0
        self._clocks = [harness.publisher(topic) for topic in (topics.BRIDGE_CLOCK, topics.CLOCK)]
        self._setpoints = harness.listen(topics.SETPOINT)
        self._odometry, self._plans = (
            [harness.listen(topic, raw=True, vehicle=name) for name in loaded.names]
            for topic in (topics.ODOMETRY, topics.PLAN)
        )

    @property
    def t_s(self) -> float:
        """Now."""
        return self._ticks * self._period_s

    def run(self, until: Callable[[], bool], what: str) -> None:
        """Tick by tick."""
        give_up_s = time.monotonic() + 2 * GET_READY_S
        while not until():
            if time.monotonic() > give_up_s:
                raise ShoalError(f"waited {2 * GET_READY_S:g} s for {what}\n{self._harness.output()}")
            self._tick()

    def _tick(self) -> None:
        self._ticks += 1
        t_s, since_s = self.t_s, self.t_s - self._period_s / 2

        def sensed() -> bool:
            return all(convert.odometry_from_bytes(received[-1]).stamp_s > since_s for received in self._odometry)

        def answered() -> bool:
            late = self.guided and t_s - self._guided_s() > GUIDANCE_LAG_S
            return not late and all(r and convert.plan_from_bytes(r[-1]).stamp_s > since_s for r in self._plans)

        if not all(self._odometry):
            self._say(t_s, *self._clocks)
            self._harness.linger(STARTING_S)
            return
        self._until(sensed, t_s, self._clocks[:1])
        self._until(answered, t_s, self._clocks)

    def _until(self, answered: Callable[[], bool], t_s: float, clocks: Sequence[Any]) -> None:
        """Ask, again and again; bridges repeat their odometry, and controllers their thrust with it."""
        give_up_s = time.monotonic() + PATIENCE_S
        self._say(t_s, clocks[-1])
        self._wait(answered)
        while not answered():
            if time.monotonic() > give_up_s:
                raise ShoalError(f"no answer at {t_s:.2f} s\n{self._harness.output()}")
            self._say(t_s, *clocks)
            self._wait(answered)

    @staticmethod
    def _say(t_s: float, *clocks: Any) -> None:
        for clock in clocks:
            clock.publish(Clock(clock=convert.to_stamp(t_s)))

    def _wait(self, answered: Callable[[], bool]) -> None:
        again_s = time.monotonic() + ASK_AGAIN_S
        self._harness.spin(lambda: answered() or time.monotonic() > again_s, "answers")

    def _guided_s(self) -> float:
        return convert.from_stamp(self._setpoints[-1].header.stamp) if self._setpoints else self.t_s


def _ready(lines: Sequence[Any], name: str) -> bool:
    found = statuses(lines, f"{name} autopilot")
    return bool(found) and "ready for ~/arm" in found[-1].message


def _listened_to(harness: Harness, names: Sequence[str]) -> bool:
    wanted = [topics.ODOMETRY.of(vehicle=name) for name in names]
    wanted += [topics.SETPOINT.name, topics.REFERENCE.name, topics.CLOCK.name]
    nodes = [{info.node_name for info in harness.node.get_subscriptions_info_by_topic(topic)} for topic in wanted]
    return all("recorder" in found for found in nodes) and "guidance" in nodes[0] & nodes[-1]


def _running(message: Any) -> float:
    """How long the test has run, s; below zero: it does not."""
    status = json.loads(message.data)
    return float(status.get("t_s", 0.0)) if status.get("state") == "running" else -1.0


def _judged(folder: Path, logs: Mapping[str, Path] | None, trial: Trial) -> Found:
    recording = read_runs(folder, trial.fleet)[-1]
    if logs is not None:
        recording = with_truth(recording, logs)
    late = recording.times_s >= SETTLED_S
    if np.count_nonzero(late) < 2:
        raise ShoalError(f"{folder}: {recording.times_s[-1]:.0f} s of the path; expected {trial.seconds:g} s")
    states = recording.states[late]
    places, centre = states[..., POSITION], states[..., POSITION].mean(axis=1)
    own_m = np.linalg.norm(places - recording.setpoints_m[late], axis=2)  # (T,V)
    path_m = np.linalg.norm(centre - recording.reference_m[late], axis=1)
    own_rms_m, path_rms_m = np.sqrt(np.mean(own_m**2, axis=0)).max(), np.sqrt(np.mean(path_m**2))
    tilt_rad_max = max(tilt_rad(turn) for turn in states[..., ATTITUDE].reshape(-1, 4))
    return Found(float(own_rms_m), float(path_rms_m), math.degrees(tilt_rad_max))


def with_truth(recording: Recording, logs: Mapping[str, Path]) -> Recording:
    """States from the stand-ins' logs."""
    states = recording.states.copy()
    stamps_s = recording.about.start_stamp_s + recording.times_s
    for i, name in enumerate(recording.names):
        lines = [json.loads(line) for line in logs[name].read_text(encoding="utf-8").splitlines() if line.endswith("}")]
        times_s = np.array([line["t_s"] for line in lines])
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
