"""Time in steps that both ends of a link take together: we say what time it is, the stand-in says when it is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from shoal.errors import ShoalError
from shoal_mavlink import dialect
from shoal_mavlink.dialect import Codec
from shoal_mavlink.link import Link

STEP_S = 0.005  # simulated; a tick of the autopilot
ASK_AGAIN_S = 0.5  # wall; a datagram may be lost
PATIENCE_S = 120.0  # wall; a stand-in has to start, too


class LockStep:
    """Our time, and the autopilot's with it."""

    def __init__(self, link: Link, codec: Codec) -> None:
        self.t_s = 0.0
        self._link, self._codec = link, codec
        self._answers = Codec(0)  # a parser of its own: the bridge has one for the same bytes
        self._count: int | None = None  # steps since the clock's zero

    def up_to(self, end_s: float, send_s: float, send: Callable[[], None]) -> Iterator[list[bytes]]:
        """What came in each step until then; `send` is called every `send_s` of simulated time."""
        last = round(end_s / STEP_S)
        if self._count is None:
            self._count = last - 1
        while self._count < last:
            self.t_s = self._count * STEP_S
            if self._count % round(send_s / STEP_S) == 0:
                send()
            self._count += 1
            self.t_s = self._count * STEP_S
            yield self._advance(round(self.t_s * 1e9))

    def _advance(self, ns: int) -> list[bytes]:
        """The autopilot to that time; what it has sent on the way."""
        found: list[bytes] = []
        give_up_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_s:
            self._link.send([self._codec.pack(dialect.timesync(self._codec, ns))])
            again_s = time.monotonic() + ASK_AGAIN_S
            while (left_s := again_s - time.monotonic()) > 0:
                self._link.wait(left_s)
                for data in self._link.receive():
                    found.append(data)
                    for message in self._answers.parse(data):
                        if message.get_type() == "TIMESYNC" and message.tc1 and message.ts1 == ns:
                            return found
        raise ShoalError(
            f"link = '{self._link.url}': nobody follows our time; expected a stand-in with --lockstep there"
        )
