"""What a vehicle is to do for the next moments; the same in the simulator and on ROS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.messages.preview import Preview

Array = NDArray[np.float64]
NOBODY: Mapping[str, Preview] = MappingProxyType({})


@dataclass(frozen=True)
class View:
    """A camera that must keep a mark on another vehicle in its cone."""

    camera_m: Array  # (3,) own body
    axis: Array  # (3,) own body, unit
    mark_m: Array  # (3,) NED, from the other's origin
    soft_deg: float  # off the axis
    hard_deg: float


@dataclass(frozen=True)
class Partner:
    """One that we may come closer to than the fleet's limits say."""

    soft_m: float  # between the origins
    hard_m: float
    view: View | None = None  # None: it need not be seen


ALONE: Mapping[str, Partner] = MappingProxyType({})


@dataclass(frozen=True)
class Directive:
    """Follow a setpoint, or hold one; whom to see on the way, and where the others belong."""

    kind: Literal["follow", "hold"]
    setpoint: Preview  # our own, NED
    must_see: frozenset[str] = frozenset()
    # Of the others, for those that fall silent.
    formation_setpoints: Mapping[str, Preview] = field(default_factory=lambda: NOBODY)
    common: Preview | None = None  # the fleet's common setpoint, where there is one
    partners: Mapping[str, Partner] = field(default_factory=lambda: ALONE)  # about to dock with us, by name
