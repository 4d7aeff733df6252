"""The lock step: for whom the clock waits, and what counts as an answer. No ROS, no clock.

Whoever flies a joined group may drive a mate's thrusters. If that counted as the mate's answer, a controller that lags
behind would not be waited for; by its own clock it would then find that nobody flies, and take over from a pilot that
does. So a joined vehicle has answered when its own controller has stepped, too.
"""

from __future__ import annotations

from collections.abc import Iterable


class LockStep:
    """Times are nanoseconds of the system clock, as DDS stamps messages."""

    def __init__(self) -> None:
        self.given_up: set[str] = set()  # did not answer in time; not waited for until they do
        self._joined: frozenset[str] = frozenset()
        self._stepped_ns: dict[str, int] = {}  # joined ones: when their own controller last told of a step

    def join(self, members: Iterable[str]) -> None:
        """Who is joined to others now."""
        self._joined = frozenset(members)
        self._stepped_ns = {name: ns for name, ns in self._stepped_ns.items() if name in self._joined}

    def stepped(self, name: str, sent_ns: int) -> None:
        """Its own controller tells that it has stepped."""
        if name in self._joined:
            self._stepped_ns[name] = sent_ns
            self.given_up.discard(name)

    def commanded(self, name: str) -> None:
        """Thrust has come for it, whoever sent it."""
        if name not in self._stepped_ns:
            self.given_up.discard(name)

    def answered(self, name: str, commanded: bool, asked_ns: int) -> bool:
        """Whether it need not be waited for; `commanded`: all its thrusters were, since it was asked."""
        if name in self.given_up:
            return True
        return commanded and self._stepped_ns.get(name, asked_ns) >= asked_ns

    @property
    def hurries(self) -> bool:
        """Whether the clock may go as fast as it can: not ahead of a member of a group that cannot follow."""
        return not self.given_up & self._joined
