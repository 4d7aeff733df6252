"""What a controller says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Mode(IntEnum):
    """Who made the thrust, best first."""

    NMPC = 0
    SHIFTED_PLAN = 1
    STATION_KEEPING = 2
    ZERO_THRUST = 3


@dataclass(frozen=True)
class Health:
    """Which mode, and why it is not the best one."""

    mode: Mode
    reason: str = ""  # empty when all is well
    solve_ms: float = 0.0
    iterations: int = 0
    slack_max: float = 0.0  # largest planned violation of a soft bound
    slack_hard_max: float = 0.0
    neighbour_age_s: Mapping[str, float] = field(default_factory=dict)
    overrun: bool = False
    committed: bool = True
    warnings: tuple[str, ...] = ()  # what is wrong although it steers
