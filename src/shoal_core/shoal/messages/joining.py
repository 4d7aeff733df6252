"""Who is rigidly joined to whom, as guidance orders it: counted, so that nobody acts on an older order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DrawnJoint:
    """A joint as drawn: a point that both share, in the body frame of each, and how B is turned against A."""

    a: str
    b: str
    at_a_m: Array  # (3,)
    at_b_m: Array  # (3,)
    attitude: Array  # (4,) of B in A

    @property
    def pair(self) -> frozenset[str]:
        """Whom it joins."""
        return frozenset((self.a, self.b))


@dataclass(frozen=True)
class Joining:
    """All joints there are from now on; and who may come closer to each other than the limits say."""

    counter: int
    joints: tuple[DrawnJoint, ...] = ()
    partners: tuple[tuple[str, ...], ...] = ()  # about to be joined, or just parted: neither distance nor sight
