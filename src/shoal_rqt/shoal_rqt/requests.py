"""What the window may ask of the fleet. Widgets know this protocol only; ROS is behind it. Nothing here waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shoal_rqt.water import Water
from shoal_rqt.waypoint_list import Mark


@dataclass(frozen=True)
class Reply:
    """How a request went, in words that the node chose."""

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
    """`done` is called later, in the window's thread, in any case: with an answer, a refusal, or that none came."""

    def stop(self, stopped: bool) -> None:
        """Zero thrust on every vehicle, now and until released."""
        ...

    def set_mode(self, mode: str) -> None:
        """Ask guidance."""
        ...

    def send_waypoints(self, marks: Sequence[Mark], start_m: Sequence[float] | None) -> None:
        """Go there instead of where it was to go. `start_m`: where the setpoint is now, for the first leg's speed."""
        ...

    def set_water(self, water: Water) -> None:
        """From now on."""
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
        """Say nothing more."""
        ...


class NoLink:
    """Nobody there: for pictures. Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def stop(self, stopped: bool) -> None:
        self.asked.append(("stop", stopped))

    def set_mode(self, mode: str) -> None:
        self.asked.append(("mode", mode))

    def send_waypoints(self, marks: Sequence[Mark], start_m: Sequence[float] | None) -> None:
        self.asked.append(("waypoints", tuple(marks)))

    def set_water(self, water: Water) -> None:
        self.asked.append(("water", water))

    def call(self, service: str, done: Done) -> None:
        self.asked.append(("call", service))

    def set_parameters(self, node: str, values: Mapping[str, Any], done: Done) -> None:
        self.asked.append(("set_parameters", (node, dict(values))))

    def describe(self, node: str, done: Callable[[Description], None]) -> None:
        self.asked.append(("describe", node))

    def close(self) -> None:
        self.asked.append(("close", None))
