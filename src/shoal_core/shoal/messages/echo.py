"""The answer to a message that tells its sender how long the round trip took (two-way time transfer)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Echo:
    """The last message received of somebody: its stamp, in its sender's clock, and how long ago it came."""

    stamp_s: float  # as it was in that message
    held_s: float  # from its arrival to this answer


NO_ECHOES: Mapping[str, Echo] = MappingProxyType({})
