"""Keeps a list of nodes running: starts them, starts again what crashes, stops them in an order that is safe."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence

from shoal_ros.node_list import NodeSpec
from shoal_ros.process import BAD_INPUT
from shoal_ros.spawn import Child

PAUSE_S = 1.0  # wall, before a crashed node is started again
GIVE_UP = 5  # crashes of one node in a row, each soon after its start
SOON_S = 10.0

# Controllers first, while there is still a plant to receive their zero; the recorder last, to record everything.
STOP_ORDER = (
    "mpc", "autopilot", "teleop", "pilot_pad", "pilot_web", "pilot_csv", "joystick", "keyboard", "guidance",
    "fleet_manager", "relay",
    "display", "dynamics", "recorder",
)  # fmt: skip


class Supervisor:
    """`start`, `watch` again and again, `stop`."""

    def __init__(
        self,
        environment: Mapping[str, str],
        line: Callable[[NodeSpec, str], None],
        say: Callable[[str], None],
        again: bool = True,
    ) -> None:
        """`line` gets what nodes print, `say` what happens to them; `again`: crashed ones are started once more."""
        self._environment, self._line, self._say, self._start_again = environment, line, say, again
        self.children: dict[str, Child] = {}
        self._born: dict[str, float] = {}
        self._again: dict[str, float] = {}  # when to start which once more
        self._crashes: dict[str, int] = {}
        self.failed = False  # a node could not be kept running

    def start(self, specs: Sequence[NodeSpec]) -> None:
        """All of them."""
        for spec in specs:
            self._spawn(spec)

    def watch(self) -> bool:
        """Start again what has crashed; False when it is over: a node has ended on purpose, or will not run."""
        now = time.monotonic()
        for name, child in list(self.children.items()):
            if child.running:
                continue
            if name in self._again:
                if now >= self._again[name]:
                    del self._again[name]
                    self._spawn(child.spec)
                continue
            code = child.code
            if code == 0:
                return False
            if not self._crashed(name, code, now):
                self.failed = True
                return False
        return True

    def _crashed(self, name: str, code: int | None, now: float) -> bool:
        """Plan a new start; False when it is no use."""
        how = f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        if code == BAD_INPUT:
            self._say(f"{name} will not start ({how})")
            return False
        if not self._start_again:
            self._say(f"{name} crashed ({how}): the others end, too")
            return False
        soon = now - self._born[name] < SOON_S
        self._crashes[name] = self._crashes.get(name, 0) + 1 if soon else 1
        if self._crashes[name] > GIVE_UP:
            self._say(f"{name} crashed {GIVE_UP} times in a row ({how}): giving up")
            return False
        self._say(f"{name} crashed ({how}): starting it again")
        self._again[name] = now + PAUSE_S
        return True

    def stop(self, wall_s: float = 5.0) -> None:
        """In order, each kind together; who does not end in time is killed."""
        left = [c for c in self.children.values() if c.running]
        for kind in [*STOP_ORDER, None]:
            group = [c for c in left if kind is None or c.spec.executable == kind]
            for child in group:
                child.signal(signal.SIGTERM)  # SIGINT would be a traceback in one that is still starting
            end = time.monotonic() + wall_s
            for child in group:
                if not child.wait(max(0.1, end - time.monotonic())):
                    self._say(f"{child.spec.full_name} did not end in {wall_s:g} s: killed")
                    child.signal(signal.SIGKILL)
                    child.wait(1.0)
            left = [c for c in left if c not in group]

    def _spawn(self, spec: NodeSpec) -> None:
        self._born[spec.full_name] = time.monotonic()
        self.children[spec.full_name] = Child(spec, self._environment, self._line)
