"""What a vehicle is to do for the next moments; the same in the simulator and on ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from shoal.messages.preview import Preview

NOBODY: Mapping[str, Preview] = MappingProxyType({})


@dataclass(frozen=True)
class Directive:
    """Follow a setpoint, or hold one; whom to see on the way, and where the others belong."""

    kind: Literal["follow", "hold"]
    setpoint: Preview  # our own, NED
    must_see: frozenset[str] = frozenset()
    # Of the others, for those that fall silent.
    formation_setpoints: Mapping[str, Preview] = field(default_factory=lambda: NOBODY)
    common: Preview | None = None  # the fleet's common setpoint, where there is one
