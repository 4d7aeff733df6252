"""The radio between vehicles: a seeded model of loss, delay, jitter, drop-outs and optical line of sight."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field, model_validator

from shoal.config.file_model import FileModel
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.plan import Plan
from shoal.messages.state import POSITION

Array = NDArray[np.float64]


class LinkSettings(FileModel):
    """All off by default: a perfect link. Loss, drop-outs and sight are judged when a message is sent."""

    loss: float = Field(default=0.0, ge=0.0, le=1.0, description="share of messages lost, independently")
    rate_hz: float = Field(
        default=0.0, ge=0.0, le=1000.0, description="messages of each sender that are sent at all; 0: every one"
    )
    delay_s: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    jitter_s: float = Field(
        default=0.0, ge=0.0, allow_inf_nan=False, description="further delay, uniform in [0, jitter_s]"
    )
    dropouts: tuple[tuple[float, float], ...] = Field(default=(), description="[from_s, to_s) in which nothing passes")
    line_of_sight: bool = Field(default=False, description="pass only inside both cones and the range")
    range_m: float = Field(default=50.0, gt=0.0)
    cone_deg: float = Field(default=60.0, gt=0.0, le=180.0, description="half-angle of the modem's cone around surge")

    @model_validator(mode="after")
    def _dropouts_run_forward(self) -> LinkSettings:
        for start_s, end_s in self.dropouts:
            if not 0 <= start_s < end_s:
                raise ValueError(f"dropout [{start_s}, {end_s}]: expected 0 <= from_s < to_s")
        return self


def in_sight(a: Array, b: Array, range_m: float, cone_deg: float) -> bool:
    """Whether states (13,) `a` and `b` are each inside the other's cone, and near enough."""
    distance_m = float(np.linalg.norm(b[POSITION] - a[POSITION]))
    if distance_m == 0.0:
        return True
    widest_deg = cone_deg + 1e-9  # the edge itself counts as inside
    return distance_m <= range_m and max(sight_angle_deg(a, b[POSITION]), sight_angle_deg(b, a[POSITION])) <= widest_deg


class Link:
    """All directed links of a fleet.

    Each pair draws from its own stream, made of one number of `rng` and the two names, and draws the same for every
    message whatever becomes of it: neither the order of service nor the other settings change who loses what.
    """

    def __init__(
        self,
        settings: LinkSettings,
        rng: Generator,
        faults: Callable[[float, str, str], tuple[float, float]] | None = None,
    ) -> None:
        """`faults`: of time, sender and receiver, what a broken radio costs besides: share lost, and delay in s."""
        self._faults = faults
        self.settings = settings
        self._root = int(rng.integers(2**62))
        self._streams: dict[tuple[str, str], Iterator[list[float]]] = {}
        self._in_flight: dict[str, list[tuple[float, str, int, Plan]]] = {}  # per receiver: (arrives, sender, …)
        self._sent = 0
        self._slots: dict[str, int] = {}  # of each sender, with a limited rate
        self.sent_bits = 0  # of what has been sent, whether it arrives or not

    @property
    def settings(self) -> LinkSettings:
        """May be replaced at any time; what is under way stays under way."""
        return self._settings

    @settings.setter
    def settings(self, settings: LinkSettings) -> None:
        self._settings = settings
        random = settings.loss > 0 or settings.jitter_s > 0
        self._random = random or self._faults is not None  # else nothing is drawn

    def send(
        self, t_s: float, sender: str, receiver: str, plan: Plan, sender_state: Array, receiver_state: Array
    ) -> bool:
        """Hand a plan to the water; True when it will arrive (for statistics: no vehicle knows)."""
        lost, late = next(self._stream(sender, receiver)) if self._random else (1.0, 0.0)
        chosen = self.settings
        if lost < chosen.loss or (chosen.dropouts and any(start <= t_s < end for start, end in chosen.dropouts)):
            return False
        if chosen.line_of_sight and not in_sight(sender_state, receiver_state, chosen.range_m, chosen.cone_deg):
            return False
        arrival_s = t_s + chosen.delay_s + chosen.jitter_s * late
        if self._faults is not None:
            broken, later_s = self._faults(t_s, sender, receiver)
            if lost < broken:
                return False
            arrival_s += later_s
        self._sent += 1  # so that plans are never compared
        self._in_flight.setdefault(receiver, []).append((arrival_s, sender, self._sent, plan))
        return True

    def broadcast(self, t_s: float, sender: str, plan: Plan, states: Mapping[str, Array]) -> None:
        """To everybody else; `states` (13,) of all, by name."""
        chosen = self.settings
        if not self.due(t_s, sender):
            return
        self.sent_bits += plan.payload_bits
        if self._random or chosen.dropouts or chosen.line_of_sight:
            for receiver, state in states.items():
                if receiver != sender:
                    self.send(t_s, sender, receiver, plan, states[sender], state)
            return
        self._sent += 1
        message = t_s + chosen.delay_s, sender, self._sent, plan
        for receiver in states:
            if receiver != sender:
                self._in_flight.setdefault(receiver, []).append(message)

    def due(self, t_s: float, sender: str) -> bool:
        """Whether it may send now, at the link's rate; asked once for each of its messages."""
        if self.settings.rate_hz <= 0:
            return True
        slot = math.floor(t_s * self.settings.rate_hz + 1e-6)
        if slot == self._slots.get(sender):
            return False
        self._slots[sender] = slot
        return True

    def receive(self, t_s: float, receiver: str) -> list[Plan]:
        """What has arrived by `t_s` and was not handed out yet, in order of arrival: a plan may overtake another."""
        return [plan for _, plan in self.arrivals(t_s, receiver)]

    def arrivals(self, t_s: float, receiver: str) -> list[tuple[float, Plan]]:
        """The same, each with the time of its arrival."""
        waiting = self._in_flight.get(receiver)
        if not waiting:
            return []
        waiting.sort()
        count = bisect_right(waiting, t_s + 1e-9, key=itemgetter(0))  # sums of periods round either way
        arrived = [(message[0], message[3]) for message in waiting[:count]]
        del waiting[:count]
        return arrived

    def _stream(self, sender: str, receiver: str) -> Iterator[list[float]]:
        key = sender, receiver
        if key not in self._streams:
            # 256 is no byte: names cannot run together
            rng = np.random.default_rng([self._root, *sender.encode(), 256, *receiver.encode()])
            self._streams[key] = _pairs(rng)
        return self._streams[key]


def _pairs(rng: Generator) -> Iterator[list[float]]:
    """Two numbers of [0, 1) for each message; drawn many at a time, which gives the same ones sooner."""
    while True:
        yield from rng.random((128, 2)).tolist()
