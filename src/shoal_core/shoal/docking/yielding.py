"""Who of two that dock moves, and who lets the other come: negotiated by the ports, by which has the better view.

An order names leader and follower; the follower moves first. There is one turn to move, and only who has it gives it
away: so there are never two that move, whatever messages are lost, and at worst both wait. It is given to the other
when that one's camera has seen markedly better for a while, before the ports are near: a follower whose lens is fouled,
or whose lamp blinds it, is fetched by the vehicle that it was to come to.
"""

from __future__ import annotations

import math

from shoal.docking.phases import Phase
from shoal.messages.docking import DockingWord

BETTER = 3.0  # so many times as sharp
LASTS_S = 3.0
HEARD_S = 4.0  # an older word is no word
MOST = 4  # changes in one docking
BEFORE = (Phase.SEARCH, Phase.APPROACH, Phase.ALIGN)  # nobody takes over between two ports that nearly touch


class Yielding:
    """One vehicle's knowledge of it, in one docking."""

    def __init__(self, counter: int, follows: bool) -> None:
        """`follows`: as ordered."""
        self.counter, self._follows, self.turn = counter, follows, 0
        self._others: tuple[float, float] | None = None  # the other's view, and when it was told
        self._better_s: float | None = None  # since when that has been the better one

    @property
    def moves(self) -> bool:
        """Whether it is our turn."""
        return (self.turn % 2 == 0) == self._follows

    @property
    def other_blind(self) -> bool:
        """By its own word."""
        return self._others is not None and self._others[0] == 0.0

    def hear(self, word: DockingWord, stamp_s: float) -> None:
        """The other's, with the plan of that stamp."""
        if word.counter != self.counter:
            return
        self.turn = max(self.turn, word.turn)
        self._others = word.view_pm, stamp_s

    def decide(self, t_s: float, view_pm: float, phase: Phase) -> None:
        """Our turn, and how sharply we see: perhaps the other takes over."""
        others_pm, heard_s = (0.0, -math.inf) if self._others is None else self._others
        better = t_s - heard_s <= HEARD_S and others_pm > BETTER * view_pm
        if not self.moves or not better or self.turn >= MOST:
            self._better_s = None
            return
        self._better_s = t_s if self._better_s is None else self._better_s
        if t_s - self._better_s >= LASTS_S and phase in BEFORE:
            self.turn, self._better_s = self.turn + 1, None
