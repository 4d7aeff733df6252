"""Between the two threads: ROS puts news in, the window takes all of it out. Bounded however slow the window is."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable

from shoal_rqt.news import News

MOST_EVENTS = 500


class Mailbox:
    """News with a key is replaced by newer, events are kept in order; when there are too many, the oldest go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[Hashable, News] = {}
        self._events: deque[News] = deque(maxlen=MOST_EVENTS)

    def put(self, news: News) -> None:
        """From any thread."""
        with self._lock:
            if news.key is None:
                self._events.append(news)
            else:
                self._newest[news.key] = news

    def drain(self) -> list[News]:
        """All there is, and it is gone."""
        with self._lock:
            found = [*self._newest.values(), *self._events]
            self._newest = {}
            self._events.clear()
        return found
