"""STOP, remembered by every vehicle: one latched state with a counter and an owner.

Whoever holds the state (controllers, plant or watchdog, guidance) merges what it receives: the higher counter wins,
and of two with equal counters the stop. A new STOP counts one on from everything known, also while stopped, so that a
release that is under way at that moment comes too late. A release names the counter it releases: only somebody who
knows of the STOP can end it.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.config import atomic
from shoal.errors import ShoalError

MOST = 2**53  # counters travel as JSON numbers


@dataclass(frozen=True)
class StopState:
    """What is known of STOP."""

    counter: int = 0
    stopped: bool = False
    owner: str = ""  # who asked for it

    def merged(self, other: StopState) -> StopState:
        """The one that holds, whichever way round: the owner decides between equals, so that all holders agree."""
        return max(self, other, key=lambda state: (state.counter, state.stopped, state.owner))

    def to_json(self) -> str:
        """As on the topic and in the file."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> StopState:
        """A ShoalError when it is none."""
        try:
            data: dict[str, Any] = json.loads(text)
            counter, stopped, owner = data["counter"], data["stopped"], data["owner"]
            if type(counter) is not int or not 0 <= counter < MOST or type(stopped) is not bool:
                raise ValueError("counter or stopped is not as expected")
            return StopState(counter, stopped, str(owner))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ShoalError(
                f"stop state: {text[:80]!r} cannot be read ({error}); expected counter, stopped and owner"
            ) from None


class StopLatch:
    """One holder's memory of STOP, in a small file if it is to survive a restart."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.state = StopState()
        if file is not None:
            try:
                self.state = StopState.from_json(file.read_text(encoding="utf-8"))
            except FileNotFoundError:
                pass  # never stopped
            except (OSError, ShoalError, UnicodeDecodeError):
                # A file that cannot be read must not let anybody swim who was stopped.
                self.state = StopState(1, True, f"unreadable {file.name}")

    @property
    def stopped(self) -> bool:
        return self.state.stopped

    def stop(self, owner: str) -> StopState:
        """STOP, by order of `owner`; again while stopped, it outruns a release that is under way."""
        return self._set(StopState(self.state.counter + 1, True, owner))

    def release(self, counter: int, owner: str) -> bool:
        """End the STOP of that counter; False when it is another one that holds, or none."""
        if not self.state.stopped or counter != self.state.counter:
            return False
        self._set(StopState(self.state.counter + 1, False, owner))
        return True

    def learn(self, state: StopState) -> bool:
        """From a peer; whether it changed anything."""
        merged = self.state.merged(state)
        if merged == self.state:
            return False
        self._set(merged)
        return True

    def _set(self, state: StopState) -> StopState:
        self.state = state
        if self._file is not None:
            self._write(self._file, state)
        return state

    @staticmethod
    def _write(file: Path, state: StopState) -> None:
        """Whole or not at all; a disk that is full must not keep anybody from stopping."""
        with contextlib.suppress(OSError, ShoalError):
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(file, state.to_json())
