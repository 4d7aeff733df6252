"""How far many runs are: a bar on a terminal, one line a minute without one; both with a steady time to go."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

LINE_EVERY_S = 60.0
WINDOW = 100  # runs; the pace is that of the last ones, in this session


def duration_words(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class Pace:
    """Time to go from the mean time per run over many runs: single ones are long or short, and come in bursts."""

    def __init__(self, now_s: float) -> None:
        self._marks: deque[tuple[float, int]] = deque([(now_s, -1)], maxlen=WINDOW)

    def update(self, now_s: float, done: int) -> None:
        """`done` runs by now; the first call says what was there before."""
        if self._marks[-1][1] < 0:
            self._marks[-1] = (now_s, done)
        elif done > self._marks[-1][1]:
            self._marks.append((now_s, done))

    def to_go_s(self, now_s: float, total: int) -> float | None:
        """None before anything has been done."""
        (first_s, first), (_, last) = self._marks[0], self._marks[-1]
        if last <= first or first < 0:
            return None
        return max(0.0, (total - last) * (now_s - first_s) / (last - first))


class Progress:
    """Call `update(done, total, what)` as often as you like."""

    def __init__(self, name: str = "", clock: Callable[[], float] = time.monotonic, stream: Any = None) -> None:
        self._name, self._clock, self._stream = name, clock, stream or sys.stderr
        self._start_s = self._said_s = clock()
        self._pace, self._what = Pace(self._start_s), ""
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[time]}"),
            )
            self._bar = Bar(*columns, console=Console(file=self._stream))
            self._bar.add_task(self._name or "starting", total=None, time="")
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int, what: str) -> None:
        """Shown at once on a terminal; elsewhere once a minute, at the beginning of a kind of work and at its end."""
        now = self._clock()
        fresh, self._what = what != self._what, what
        if fresh:
            self._pace = Pace(now)
        self._pace.update(now, done)
        to_go = self._pace.to_go_s(now, total)
        times = f"{duration_words(now - self._start_s)} so far"
        if to_go is not None and done < total:
            times += f", about {duration_words(to_go)} to go"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, time=times,
                             description=f"{self._name} {what}".strip())  # fmt: skip
        elif fresh or done == total or now - self._said_s >= LINE_EVERY_S:
            self._said_s = now
            print(f"{self._name} {what}: {done} of {total}, {times}".strip(), file=self._stream, flush=True)
