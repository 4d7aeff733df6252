"""The contents of a recording by topic: found by type, put into core frames, on one clock. No resampling here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader, AnyReaderError

from shoal.errors import ShoalError
from shoal.frames import enu_to_ned
from shoal.messages import topics
from shoal.messages.topics import Topic
from shoal.recordings.codec import ODOMETRY, TRAJECTORY, odometry_in_core, preview_from_bytes, read_odometry
from shoal.recordings.diagnostic_values import health_from_values
from shoal.recordings.typestore import kind_of, store

Array = NDArray[np.float64]

POSE, FLOAT = kind_of(topics.SETPOINT.type), kind_of(topics.THRUST.type)
DIAGNOSTICS, CURRENT = kind_of(topics.DIAGNOSTICS.type), kind_of(topics.OCEAN_CURRENT.type)
STRING = kind_of(topics.FORMATION.type)


def _pattern(topic: Topic, suffix: str = "") -> re.Pattern[str]:
    """Finds the names in a topic's."""
    name = topic.name.replace("/{other}", f"{suffix}/{{other}}")
    blanks = {blank: f"(?P<{blank}>[^/]+)" for blank in ("vehicle", "other", "thruster")}
    return re.compile(f"^{name.format(**blanks)}$")


THRUST = _pattern(topics.THRUST)
OWN_SETPOINT = _pattern(topics.VEHICLE_SETPOINT)
SIGHT = _pattern(topics.FOV, "(?:_deg)?")  # `fov_deg` in older recordings
SETPOINT_NAMES = (topics.SETPOINT.name, topics.REFERENCE.name)  # in this order; then any that sounds like one
SOUNDS_LIKE = re.compile(r"setpoint|reference|/ref$")
CLOCKS_APART_NS = 10**9  # log times and stamps further apart than this are of different clocks
RESET_NS = 500_000_000  # stamps that go back further than this: the simulation was reset


@dataclass
class Stream:
    """Rows in order of coming: when (ns, of the log and of the message's own stamp) and what."""

    log_ns: list[int] = field(default_factory=list)
    stamp_ns: list[int | None] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)

    def times_s(self) -> Array:
        """(N,) of the messages' own clock."""
        return np.array(self.stamp_ns, dtype=float) * 1e-9

    def add(self, log_ns: int, stamp_ns: int | None, row: Any) -> None:
        """One more."""
        self.log_ns.append(log_ns)
        self.stamp_ns.append(stamp_ns)
        self.rows.append(row)


@dataclass
class Streams:
    """By vehicle, in NED/FRD. `truth` is empty where only odometry was recorded."""

    odometry: dict[str, Stream] = field(default_factory=dict)  # (13,)
    truth: dict[str, Stream] = field(default_factory=dict)  # (13,)
    thrust: dict[str, dict[str, Stream]] = field(default_factory=dict)  # vehicle, thruster: float
    health: dict[str, Stream] = field(default_factory=dict)  # Health
    setpoint: Stream = field(default_factory=Stream)  # (3,) the fleet's
    own_setpoints: dict[str, Stream] = field(default_factory=dict)  # (3,) each vehicle's, where a simulation wrote them
    reference: Stream = field(default_factory=Stream)  # Preview
    current: Stream = field(default_factory=Stream)  # (3,)
    formation: Stream = field(default_factory=Stream)  # dict
    tests: Stream = field(default_factory=Stream)  # dict
    sight_topics: set[tuple[str, str]] = field(default_factory=set)

    def states(self) -> dict[str, Stream]:
        """Each vehicle's best: the truth where it was recorded, else its odometry."""
        return {name: stream for name, stream in {**self.odometry, **self.truth}.items() if stream.rows}

    def all(self) -> list[Stream]:
        """Every one of them."""
        thrust = [stream for vehicle in self.thrust.values() for stream in vehicle.values()]
        single = [self.setpoint, self.reference, self.current, self.formation, self.tests]
        by_vehicle = [self.odometry, self.truth, self.own_setpoints, self.health]
        return [*(stream for group in by_vehicle for stream in group.values()), *thrust, *single]


def read_streams(folder: Path, setpoint: str | None = None) -> Streams:
    """Of a rosbag2 folder (MCAP or SQLite); `setpoint`: the topic to take, when the guess would be wrong."""
    try:
        with AnyReader([folder], default_typestore=store()) as reader:
            found = _read(reader, folder, setpoint)
    except (AnyReaderError, FileNotFoundError) as error:
        raise ShoalError(f"{folder}: {error}; expected a rosbag2 recording") from None
    _one_clock(found)
    return found


def _read(reader: Any, folder: Path, setpoint: str | None) -> Streams:
    found, takers = Streams(), {}
    chosen = _setpoint_topic(reader.connections, folder, setpoint)
    for connection in reader.connections:
        taker = _taker(connection, found, chosen, reader.deserialize)
        if taker is not None:
            takers[connection.id] = taker
        elif (match := SIGHT.match(connection.topic)) and connection.msgtype == FLOAT:
            found.sight_topics.add((match["vehicle"], match["other"]))
    wanted = [c for c in reader.connections if c.id in takers]
    for connection, log_ns, raw in reader.messages(connections=wanted) if wanted else ():
        takers[connection.id](log_ns, bytes(raw))
    return found


def _setpoint_topic(connections: Any, folder: Path, asked: str | None) -> str:
    poses = [c.topic for c in connections if c.msgtype == POSE]
    trajectories = [c.topic for c in connections if c.msgtype == TRAJECTORY]
    if asked is not None:
        if asked not in poses + trajectories:
            raise ShoalError(f"{folder}: has no pose or trajectory on '{asked}'; expected one of: {', '.join(poses)}")
        return asked
    likely = [t for t in (*poses, *trajectories) if SOUNDS_LIKE.search(t)]
    found = next((t for t in (*SETPOINT_NAMES, *likely) if t in poses), None) or next(iter(likely), None)
    if found is None:
        raise ShoalError(f"{folder}: has no setpoint; expected a pose on {topics.SETPOINT.name}, or --setpoint")
    return found


def _taker(
    connection: Any, found: Streams, setpoint: str, read: Callable[[bytes, str], Any]
) -> Callable[[int, bytes], None] | None:
    """What to do with that topic's bytes; `read` makes a message of them."""
    topic, kind = connection.topic, connection.msgtype
    if kind == ODOMETRY:
        return lambda log_ns, data: _take_odometry(found, topic, log_ns, data)
    if kind == TRAJECTORY and topic == topics.REFERENCE.name:
        return lambda log_ns, data: _take_reference(found, log_ns, data, also_setpoint=topic == setpoint)
    take = _message_taker(topic, kind, found, setpoint)
    return None if take is None else lambda log_ns, data: take(log_ns, read(data, kind))


def _message_taker(topic: str, kind: str, found: Streams, setpoint: str) -> Callable[[int, Any], None] | None:
    if topic == setpoint:
        return lambda log_ns, m: found.setpoint.add(log_ns, _stamp_ns(m), _setpoint(m))
    if kind == POSE and (match := OWN_SETPOINT.match(topic)):
        own = found.own_setpoints.setdefault(match["vehicle"], Stream())
        return lambda log_ns, m: own.add(log_ns, _stamp_ns(m), _setpoint(m))
    if kind == FLOAT and (match := THRUST.match(topic)):
        thrust = found.thrust.setdefault(match["vehicle"], {}).setdefault(match["thruster"], Stream())
        return lambda log_ns, m: thrust.add(log_ns, None, float(m.data))
    if kind == DIAGNOSTICS:
        return lambda log_ns, m: _take_health(found, log_ns, m)
    if kind == CURRENT and topic == topics.OCEAN_CURRENT.name:
        return lambda log_ns, m: found.current.add(log_ns, None, enu_to_ned(_vector(m)))
    if kind == STRING and topic in (topics.FORMATION.name, topics.TEST_STATUS.name):
        text = found.formation if topic == topics.FORMATION.name else found.tests
        return lambda log_ns, m: _take_json(text, log_ns, m)
    return None


def _take_odometry(found: Streams, topic: str, log_ns: int, data: bytes) -> None:
    """Whose it is follows from `rov1/base_link`, or from `/rov1/odometry`."""
    message = read_odometry(data)
    child = message.child_frame.strip("/")
    vehicle = child.split("/")[0] if "/" in child else topic.strip("/").split("/")[0]
    streams = found.truth if "truth" in topic else found.odometry  # `ground_truth` in older recordings
    stamp_ns = message.sec * 10**9 + message.nanosec
    streams.setdefault(vehicle, Stream()).add(log_ns, stamp_ns, odometry_in_core(message).state)


def _take_reference(found: Streams, log_ns: int, data: bytes, also_setpoint: bool) -> None:
    with suppress(ShoalError):  # the nodes refused it as well
        preview = preview_from_bytes(data)
        stamp_ns = round(preview.times_s[0] * 1e9)
        found.reference.add(log_ns, stamp_ns, preview)
        if also_setpoint:
            found.setpoint.add(log_ns, stamp_ns, preview.positions_m[0])


def _take_health(found: Streams, log_ns: int, message: Any) -> None:
    for status in message.status:
        if status.hardware_id and "controller" in status.name:
            values = {"message": status.message} | {pair.key: pair.value for pair in status.values}
            health = health_from_values(values)
            found.health.setdefault(status.hardware_id, Stream()).add(log_ns, _stamp_ns(message), health)


def _take_json(stream: Stream, log_ns: int, message: Any) -> None:
    try:
        data = json.loads(message.data)
    except ValueError:
        return
    if isinstance(data, dict):
        stamp_s = data.get("stamp_s")
        stream.add(log_ns, round(stamp_s * 1e9) if isinstance(stamp_s, int | float) else None, data)


def _setpoint(message: Any) -> Array:
    if hasattr(message, "points"):
        point = message.points[0].transforms[0].translation if message.points else None
        return enu_to_ned(_vector(point)) if point is not None else np.full(3, np.nan)
    return enu_to_ned(_vector(message.pose.position))


def _one_clock(found: Streams) -> None:
    """Stamps for what has none, and nothing from before the last reset of the simulation."""
    states = [s for s in [*found.odometry.values(), *found.truth.values()] if s.rows]
    if not states:
        return
    stamped = max(states, key=lambda s: len(s.rows))
    log, stamp = np.array(stamped.log_ns, dtype=np.int64), np.array(stamped.stamp_ns, dtype=np.int64)
    resets = np.flatnonzero(np.diff(stamp) < -RESET_NS)
    if len(resets):
        began_ns = int(log[resets[-1] + 1])
        for stream in found.all():
            if stream is not found.formation:  # latched: an earlier one may still hold
                _forget_before(stream, began_ns)
        log, stamp = log[resets[-1] + 1 :], stamp[resets[-1] + 1 :]
    apart = bool(np.median(np.abs(log - stamp)) > CLOCKS_APART_NS)
    for stream in found.all():
        for i, known in enumerate(stream.stamp_ns):
            if known is None:
                own = stream.log_ns[i]
                stream.stamp_ns[i] = _on_clock(own, log, stamp) if apart else own


def _forget_before(stream: Stream, log_ns: int) -> None:
    keep = [i for i, t in enumerate(stream.log_ns) if t >= log_ns]
    stream.log_ns = [stream.log_ns[i] for i in keep]
    stream.stamp_ns = [stream.stamp_ns[i] for i in keep]
    stream.rows = [stream.rows[i] for i in keep]


def _on_clock(log_ns: int, log: NDArray[np.int64], stamp: NDArray[np.int64]) -> int:
    """By the odometry that came before and after; at the ends by the nearest one's distance."""
    k = int(np.clip(np.searchsorted(log, log_ns) - 1, 0, max(len(log) - 2, 0)))
    after = min(k + 1, len(log) - 1)
    if log[after] > log[k]:
        share = min(max((log_ns - log[k]) / (log[after] - log[k]), 0.0), 1.0)
        return int(stamp[k] + round(share * int(stamp[after] - stamp[k])))
    return int(stamp[k])


def _stamp_ns(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def _vector(v: Any) -> Array:
    return np.array([v.x, v.y, v.z], dtype=float)
