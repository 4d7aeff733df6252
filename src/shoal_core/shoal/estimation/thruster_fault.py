"""What may be the matter with a thruster, and which it is by its gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["suspect", "dead", "weak", "reversed", "stuck"]
# Gain below which one is dead rather than weak, reversed rather than dead. Half of one answers like 0.3 at times: the
# vehicle may be heavier than it is described.
DEAD, REVERSED = 0.2, -0.5


@dataclass(frozen=True)
class ThrusterFault:
    """What is the matter with an input."""

    kind: Kind
    gain: float = 0.0  # force per force asked for
    force_N: float = 0.0  # of one that is stuck
    certainty: float = 0.0  # 0 to 1


def kind_of(gain: float) -> Kind:
    """Of one that does answer."""
    return "weak" if gain > DEAD else "dead" if gain > REVERSED else "reversed"
