"""Bringing a fleet up where there is no `ros2 launch`: real processes, one log, an orderly end."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from shoal_ros.domain import Domain
from shoal_ros.node_list import NodeSpec
from shoal_ros.reach import describe_reach
from shoal_ros.supervisor import Supervisor

COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)  # of the terminal, one for each node
SEVERITY = re.compile(r"^\[(DEBUG|INFO|WARN|ERROR|FATAL)\] ")
PAINT = {"WARN": 33, "ERROR": 31, "FATAL": 31}
LOOK_S = 0.1  # wall, between two looks at the children


class Log:
    """Everybody's lines in one place, each with time and name."""

    def __init__(self, specs: Sequence[NodeSpec], coloured: bool | None = None) -> None:
        self._coloured = (sys.stdout.isatty() and "NO_COLOR" not in os.environ) if coloured is None else coloured
        self._colour = {spec.full_name: COLOURS[i % len(COLOURS)] for i, spec in enumerate(specs)}
        self._width = max((len(spec.full_name) for spec in specs), default=0)
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def line(self, spec: NodeSpec, text: str) -> None:
        """What a node printed."""
        found = SEVERITY.match(text)
        severity, message = (found[1], text[found.end() :]) if found else ("", text)
        if severity in PAINT:
            message = self._paint(PAINT[severity], f"{severity.lower()}: {message}")
        self._print(self._paint(self._colour.get(spec.full_name, 37), spec.full_name.ljust(self._width)), message)

    def say(self, text: str) -> None:
        """What we have to say."""
        self._print(self._paint(1, "shoal up".ljust(self._width)), text)

    def _print(self, who: str, text: str) -> None:
        with self._lock:
            print(f"{time.monotonic() - self._began:8.2f} {who} {text}", flush=True)

    def _paint(self, code: int, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._coloured else text


def run_fleet(
    specs: Sequence[NodeSpec],
    domain: Domain,
    network: bool = False,
    wall_s: float | None = None,
    keystore: Path | None = None,
    again: bool = True,
) -> int:
    """Until Ctrl-C, until a node ends on purpose, or until `wall_s` have passed. 0, or 1 when a node would not run.

    `again`: a node that crashes is started once more.
    """
    log = Log(specs)
    asked = _Signals()
    supervisor = Supervisor(domain.environment(network, keystore), log.line, log.say, again)
    log.say(f"{len(specs)} nodes, ROS_DOMAIN_ID={domain.number} {describe_reach(network)}; Ctrl-C stops them")
    end = None if wall_s is None else time.monotonic() + wall_s
    try:
        supervisor.start(specs)
        while not asked.stop and supervisor.watch() and (end is None or time.monotonic() < end):
            time.sleep(LOOK_S)
    finally:
        log.say("stopping: controllers first")
        supervisor.stop()
        asked.restore()
    log.say("stopped")
    return 1 if supervisor.failed else 0


class _Signals:
    """Ctrl-C and SIGTERM ask for an orderly end instead of an exception in the middle of something."""

    def __init__(self) -> None:
        self.stop = False
        self._before = {n: signal.signal(n, self._ask) for n in (signal.SIGINT, signal.SIGTERM)}

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.stop = True

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
