"""What guidance sends to the fleet at one instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from shoal.messages.docking import DockingOrder
from shoal.messages.health import Issue
from shoal.messages.joining import Joining
from shoal.messages.pilot import PilotInput
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview


@dataclass(frozen=True)
class Orders:
    """Whatever is new; None: nothing."""

    reference: Preview | None = None  # the common setpoint over the next seconds, or everybody's own track
    placement: Placement | None = None
    stop: Literal["stop", "release"] | None = None
    issues: tuple[Issue, ...] = ()  # of guidance itself
    joining: Joining | None = None
    docking: DockingOrder | None = None
    pilot: Mapping[str, PilotInput] = field(default_factory=dict)  # what a vehicle's pilot sends, by vehicle
