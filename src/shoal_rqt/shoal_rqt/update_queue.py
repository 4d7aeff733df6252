"""Between the two threads: ROS puts update in, the window takes all of it out. Bounded however slow the window is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable

from shoal_rqt.updates import Update

MOST_EVENTS = 500


class UpdateQueue:
    """Update with a key is replaced by newer, events are kept in order; when there are too many, the oldest go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[Hashable, Update] = {}
        self._events: deque[Update] = deque(maxlen=MOST_EVENTS)

    def put(self, update: Update) -> None:
        """From any thread."""
        with self._lock:
            if update.key is None:
                self._events.append(update)
            else:
                self._newest[update.key] = update

    def drain(self) -> list[Update]:
        """All there is, and it is gone."""
        with self._lock:
            found = [*self._newest.values(), *self._events]
            self._newest = {}
            self._events.clear()
        return found
