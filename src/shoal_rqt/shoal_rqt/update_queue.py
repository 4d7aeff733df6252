"""Between the two threads: ROS puts updates in, the window takes all of them out. Bounded, however slow the window."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable

from shoal_rqt.updates import Update

MAX_EVENTS = 500


class UpdateQueue:
    """An update with a key is replaced by a newer one; events are kept in order, and beyond a limit the oldest go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[Hashable, Update] = {}
        self._events: deque[Update] = deque(maxlen=MAX_EVENTS)

    def put(self, update: Update) -> None:
        """From any thread."""
        with self._lock:
            if update.key is None:
                self._events.append(update)
            else:
                self._newest.pop(update.key, None)  # so that updates of different keys keep their order too
                self._newest[update.key] = update

    def drain(self) -> list[Update]:
        """All there is, and it is gone."""
        with self._lock:
            found = [*self._newest.values(), *self._events]
            self._newest = {}
            self._events.clear()
        return found
