"""A file that is there while a node runs, and stays when it is killed: what it was doing for whoever had asked."""

from __future__ import annotations

import contextlib
from pathlib import Path

from shoal.config import atomic
from shoal.errors import ShoalError
from shoal.tasks.assemble import AssembleMemory


class CrashMemory:
    """`keep` before anything is ordered, so that no order is ever ahead of what is remembered."""

    def __init__(self, file: Path) -> None:
        self._file, self._text = file, ""

    def found(self) -> AssembleMemory | None:
        """What a manager that died has left; None: nothing. A ShoalError if it cannot be read."""
        if not self._file.exists():
            return None
        try:
            return AssembleMemory.model_validate_json(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise ShoalError(
                f"{self._file}: is not the memory of a fleet manager ({reason}); expected one, or no file to begin anew"
            ) from None

    def keep(self, memory: AssembleMemory) -> None:
        """A disk that is full must not stop the manager."""
        text = memory.model_dump_json()
        if text == self._text:
            return
        self._text = text
        with contextlib.suppress(OSError, ShoalError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(self._file, text)

    def forget(self) -> None:
        """The node ends because it was asked to: nobody wants it to go on."""
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
