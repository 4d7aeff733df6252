"""Child processes that cannot outlive us, with everything they print."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping

from shoal_ros.node_list import NodeSpec

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)  # here, not in the child: between fork and exec nothing may be loaded

# One line per message, without colours and time: whoever merges them adds both.
LOGGING = {
    "RCUTILS_CONSOLE_OUTPUT_FORMAT": "[{severity}] {message}",
    "RCUTILS_COLORIZED_OUTPUT": "0",
    "PYTHONUNBUFFERED": "1",
}

# N controllers on few cores: one thread each beats N times all cores fighting.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Child:
    """One running node."""

    def __init__(
        self, spec: NodeSpec, environment: Mapping[str, str], line: Callable[[NodeSpec, str], None] | None = None
    ) -> None:
        """Start it, from the main thread: the kernel ends it with the thread that started it."""
        self.spec = spec
        self.lines: list[str] = []
        self._line = line
        parent = os.getpid()
        self.process = subprocess.Popen(
            spec.command(),
            env={**os.environ, **LOGGING, **ONE_THREAD, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C in the terminal reaches us alone; we stop them in order
            preexec_fn=lambda: _die_with(parent),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    @property
    def code(self) -> int | None:
        """Exit code; negative: killed by that signal; None: running."""
        return self.process.poll()

    def signal(self, number: int) -> None:
        """To its whole group, which is its own."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):  # it may end between the question and the signal
                os.killpg(self.process.pid, number)

    def wait(self, wall_s: float) -> bool:
        """Whether it ended within that time."""
        try:
            self.process.wait(wall_s)
        except subprocess.TimeoutExpired:
            return False
        self._reader.join(1.0)
        return True

    def end(self, wall_s: float = 5.0) -> None:
        """Politely, then not."""
        self.signal(signal.SIGTERM)
        if not self.wait(wall_s):
            self.signal(signal.SIGKILL)
            self.wait(wall_s)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            text = line.rstrip()
            self.lines.append(text)
            if self._line is not None:
                self._line(self.spec, text)


def _die_with(parent: int) -> None:
    """In the child: SIGTERM when the parent goes, however it goes. Nodes take it as a request to end well."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it went before we asked
        os._exit(1)
