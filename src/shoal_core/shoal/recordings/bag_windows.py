"""Which stretches of a recording are runs: its tests, a part asked for, or all of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.recordings.bag_streams import Stream, Streams

Array = NDArray[np.float64]

STATUS_LATE_S = 0.25  # the last status of a running test comes up to this long before its end
SHORTEST_S = 1.0  # of a test that gets a verdict


@dataclass(frozen=True)
class Window:
    """A stretch of the recording, on the messages' own clock."""

    name: str
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """From start to end."""
        return self.end_s - self.start_s


def overlap(streams: Streams, folder: Path) -> Window:
    """Where every vehicle and the setpoint are known."""
    states = streams.states()
    if not states:
        raise ShoalError(f"{folder}: has no nav_msgs/Odometry; expected each vehicle's")
    all_times = [s.times_s() for s in states.values()] + [streams.setpoint.times_s()]
    if any(len(times) < 2 for times in all_times):
        raise ShoalError(f"{folder}: holds less than two setpoints or odometries of a vehicle; expected a run")
    start, end = max(float(t.min()) for t in all_times), min(float(t.max()) for t in all_times)
    if not end > start:
        raise ShoalError(f"{folder}: setpoint and odometry were not recorded at the same time; expected an overlap")
    return Window(folder.name, start, end)


def choose(streams: Streams, common: Window, from_s: float | None, to_s: float | None, name: str) -> list[Window]:
    """`from_s` and `to_s` count from where everything is known."""
    if from_s is not None or to_s is not None:
        start = common.start_s + (from_s or 0.0)
        end = common.end_s if to_s is None else min(common.end_s, common.start_s + to_s)
        if not start < end:
            raise ShoalError(f"from {from_s} s to {to_s} s: no recording there; expected a stretch of it")
        return [Window(name, start, end)]
    tests = _tests(streams.tests)
    inside = [Window(t.name, max(t.start_s, common.start_s), min(t.end_s, common.end_s)) for t in tests]
    return [w for w in inside if w.end_s - w.start_s > SHORTEST_S] or [Window(name, common.start_s, common.end_s)]


def _tests(stream: Stream) -> list[Window]:
    """Tests that ran: all messages about one agree on when it started."""
    found: dict[tuple[str, float], tuple[float, float]] = {}
    for stamp_ns, status in zip(stream.stamp_ns, stream.rows, strict=True):
        if status.get("state") == "running" and stamp_ns is not None:
            at_s = stamp_ns * 1e-9
            key = (str(status.get("test", "")), round(at_s - float(status.get("t_s", 0.0)), 2))
            known = found.get(key, (0.0, 0.0))
            found[key] = (max(known[0], at_s), float(status.get("duration_s", 0.0)))
    return [
        Window(name, start_s, min(start_s + duration_s, last_s + STATUS_LATE_S))
        for (name, start_s), (last_s, duration_s) in sorted(found.items(), key=lambda item: item[0][1])
    ]
