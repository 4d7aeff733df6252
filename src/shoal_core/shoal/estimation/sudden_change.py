"""A thruster that fails from one moment to the next: what the model misses jumps along one signature alone.

What the model misses all the time (5 sigmas and more where drag is large) hides a jump's direction for a second, and a
reversed thruster turns a vehicle over within that. So it is the change since a second ago that is looked at: its
direction shows the thruster after 0.2 s, before force and filter have followed.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
RECENT, BEFORE = 10, 20  # looks of 0.05 s: the latest ones are the change, those before them what it is a change of
ALONG = 0.93  # share of the change along one signature
APART, CLEAR = 3.0, 9.0  # the next thruster must leave so many times what the first one leaves, and squared sigmas
LASTING = 3  # looks in a row


class SuddenChange:
    """`see` each missing wrench (6,) in sigmas; the input that its change points to, or -1."""

    def __init__(self, signatures: Array, usable: Array) -> None:
        """Signatures (6,n) in sigmas per newton; `usable` (n,): inputs with a direction of their own."""
        length = np.sqrt(np.maximum((signatures**2).sum(axis=0), 1e-12))
        self._directions = np.where(usable, signatures / length, 0.0)
        self.clear()

    def clear(self) -> None:
        """Nothing is known of the time before."""
        self._looks: deque[Array] = deque(maxlen=RECENT + BEFORE)
        self._suspect, self._count = -1, 0
        self.share, self.before = 0.0, np.zeros(6)  # explained by the suspect; what was usual until now

    def see(self, missing: Array, level: float) -> int:
        """`level`: squared sigmas that the change must have."""
        self._looks.append(missing)
        found = self._found(missing, level) if len(self._looks) == RECENT + BEFORE else -1
        self._count = self._count + 1 if found == self._suspect and found >= 0 else int(found >= 0)
        self._suspect = found
        return found if self._count >= LASTING else -1

    def _found(self, missing: Array, level: float) -> int:
        self.before = np.mean([self._looks[k] for k in range(BEFORE)], axis=0)
        change = missing - self.before
        size2 = float(change @ change)
        if size2 < level:
            return -1
        shares = (change @ self._directions) ** 2 / size2
        first = int(np.argmax(shares))
        self.share = float(shares[first])
        next_best = float(np.max(np.delete(shares, first))) if len(shares) > 1 else 0.0
        left, next_left = (1 - self.share) * size2, (1 - next_best) * size2
        return first if self.share > ALONG and next_left > max(APART * left, CLEAR) else -1
