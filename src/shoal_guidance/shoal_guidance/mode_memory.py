"""Whether this node was running a moment ago: one that comes back after a crash must not start motion by itself."""

from __future__ import annotations

import contextlib
from pathlib import Path

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.guidance.director import Mode


class ModeMemory:
    """A small file that is there while the node runs, and stays when it is killed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.was_running = file.exists()  # it did not end in an orderly way
        self._last: Mode | None = None

    def remember(self, mode: Mode) -> None:
        """The mode of now; a disk that is full must not stop guidance."""
        if mode is self._last:
            return
        self._last = mode
        with contextlib.suppress(OSError, ShoalError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(self._file, mode.value)

    def forget(self) -> None:
        """The node ends because it was asked to."""
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
