"""Who is rigidly joined to whom: counted, so that nobody acts on an older order; and what a group's members share."""

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
    magnets: tuple[tuple[str, ...], ...] | None = None  # groups whose magnets are on; None: those of all partners

    def without(self, pair: frozenset[str]) -> Joining:
        """The order that undoes one joint."""
        left = tuple(j for j in self.joints if j.pair != pair)
        return Joining(self.counter + 1, left, self.partners, self.magnets)


@dataclass(frozen=True)
class GroupCommand:
    """Thrust of a whole group, from the member that flies it to the others."""

    pilot: str
    counter: int  # of the assembly that it is meant for
    term: int  # how often the group has changed its pilot: the highest is obeyed
    stamp_s: float
    thrust_N: Array  # (n,) inputs of the composite


@dataclass(frozen=True)
class Ownership:
    """Whose controller steers a vehicle, and since when: of two the newer one counts, so that an older never wins."""

    owner: str
    assembly: int  # counter of the joining it belongs to
    term: int = 0  # how often the group has changed its pilot since

    @property
    def count(self) -> tuple[int, int]:
        """Grows with every change of owner."""
        return self.assembly, self.term
