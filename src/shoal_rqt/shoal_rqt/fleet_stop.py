"""STOP as the fleet's own nodes report it. The station holds no STOP of its own. No Qt, no ROS."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from shoal.fleet.stop import StopState


class FleetStop:
    """The states of all holders (controllers, plant or watchdog, guidance), and the one that holds for the fleet."""

    def __init__(self) -> None:
        self.state = StopState()
        self.requested = False  # STOP was sent from here and no holder has confirmed it yet
        self._holders: dict[str, StopState] = {}  # by full name of the node

    @property
    def stopped(self) -> bool:
        """By the fleet's own account."""
        return self.state.stopped

    def report(self, holder: str, state: StopState) -> None:
        """A holder has published its state."""
        self._holders[holder] = state
        self._merge()
        self.requested = self.requested and not state.stopped

    def forget(self, nodes: Iterable[str]) -> None:
        """Nodes are gone: they report anew when they come back. With no holder left the last state stays."""
        for node in nodes:
            self._holders.pop(node, None)
        self._merge()

    def _merge(self) -> None:
        if self._holders:
            self.state = reduce(StopState.merged, self._holders.values())

    @property
    def dissenting(self) -> tuple[str, ...]:
        """Holders that differ from the state that holds: still stopped after a release, or not stopped yet."""
        return tuple(sorted(h for h, state in self._holders.items() if state.stopped != self.stopped))

    @property
    def releasable(self) -> int | None:
        """Counter of the STOP that a release has to name; None: nobody is stopped."""
        stopped = [state.counter for state in (self.state, *self._holders.values()) if state.stopped]
        return max(stopped, default=None)

    @property
    def refusal(self) -> str:
        """Why nothing may be started now; empty: it may."""
        return "the fleet is stopped: release STOP first" if self.stopped or self.requested else ""

    def sentence(self) -> str:
        """For the operator; empty: not stopped, and all holders agree."""
        others = ", ".join(self.dissenting)
        if self.stopped:
            late = f"; not stopped yet: {others}" if others else ""
            return f"STOP {self.state.counter} by {self.state.owner}{late}"
        if self.requested:
            return "STOP sent, not confirmed by any node yet"
        return f"released, but still stopped: {others}" if others else ""
