"""Requests of the window to the fleet. Widgets know this protocol only; ROS is behind it. Nothing here waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shoal.messages.docking import DockingOrder
from shoal_rqt.water import Water
from shoal_rqt.waypoint_list import Mark


@dataclass(frozen=True)
class Reply:
    """How a request went, in the node's own sentence."""

    ok: bool
    text: str


Done = Callable[[Reply], None]


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter as its node describes it."""

    name: str
    value: Any
    description: str = ""
    low: float | None = None
    high: float | None = None
    read_only: bool = False

    @property
    def unit(self) -> str:
        """By the name's ending, else as the description begins with it."""
        for ending, unit in UNITS.items():
            if self.name.endswith(ending):
                return unit
        found = re.match(r"((?:1|s²|m|s|N|deg|Hz)(?:/[\w²]+)?)(?:,|$| of)", self.description)
        return found.group(1) if found else ""

    @property
    def range_text(self) -> str:
        """`0 … 1000`."""
        low = "" if self.low is None else f"{self.low:g}"
        high = "" if self.high is None else f"{self.high:g}"
        return f"{low} … {high}" if low or high else ""


UNITS = {  # longest first
    "_acceleration_mps2": "m/s²", "_mps2": "m/s²", "_degps": "deg/s", "_dps": "deg/s", "_mps": "m/s", "_deg": "deg",
    "_hz": "Hz", "_ms": "ms", "_N": "N", "_m": "m", "_s": "s",
}  # fmt: skip


@dataclass(frozen=True)
class Description:
    """A node's parameters, or why they are not known."""

    node: str
    parameters: tuple[ParameterInfo, ...]
    problem: str = ""


class Link(Protocol):
    """`done` is always called later, in the window's thread: with a reply, a refusal, or that no reply came."""

    def stop(self) -> None:
        """Zero thrust on every vehicle, until released."""
        ...

    def release(self, counter: int) -> None:
        """End the STOP of that counter, and no other."""
        ...

    def withdraw_stop(self) -> None:
        """Do not repeat a STOP that nobody has confirmed."""
        ...

    def set_mode(self, mode: str) -> None:
        """Ask guidance."""
        ...

    def send_waypoints(self, marks: Sequence[Mark], start_m: Sequence[float] | None) -> None:
        """Replace the fleet's waypoints. `start_m`: where the setpoint is now, for the first leg's speed."""
        ...

    def set_water(self, water: Water) -> None:
        """From now on."""
        ...

    def send_docking(self, order: DockingOrder) -> None:
        """Counted on from the newest one here, and repeated until both vehicles have heard of it."""
        ...

    def send_platform(self, word: str) -> None:
        """A blueprint's name, or `part`."""
        ...

    def call(self, service: str, done: Done) -> None:
        """A std_srvs/Trigger."""
        ...

    def set_parameters(self, node: str, values: Mapping[str, Any], done: Done) -> None:
        """All of them or none."""
        ...

    def describe(self, node: str, done: Callable[[Description], None]) -> None:
        """All parameters of a node."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class NoLink:
    """No fleet: for pictures and tests. Remembers the requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []

    def stop(self) -> None:
        self.requests.append(("stop", None))

    def release(self, counter: int) -> None:
        self.requests.append(("release", counter))

    def withdraw_stop(self) -> None:
        self.requests.append(("withdraw_stop", None))

    def set_mode(self, mode: str) -> None:
        self.requests.append(("mode", mode))

    def send_waypoints(self, marks: Sequence[Mark], start_m: Sequence[float] | None) -> None:
        self.requests.append(("waypoints", tuple(marks)))

    def set_water(self, water: Water) -> None:
        self.requests.append(("water", water))

    def send_docking(self, order: DockingOrder) -> None:
        self.requests.append(("docking", order))

    def send_platform(self, word: str) -> None:
        self.requests.append(("platform", word))

    def call(self, service: str, done: Done) -> None:
        self.requests.append(("call", service))

    def set_parameters(self, node: str, values: Mapping[str, Any], done: Done) -> None:
        self.requests.append(("set_parameters", (node, dict(values))))

    def describe(self, node: str, done: Callable[[Description], None]) -> None:
        self.requests.append(("describe", node))

    def close(self) -> None:
        self.requests.append(("close", None))
