"""A behaviour between two vehicles that takes part in every step of a runtime, such as docking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from shoal.messages.directive import Directive
from shoal.messages.docking import DockingWord
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.relative_pose import FiducialPose


class Companion(Protocol):
    """Given to a runtime by whoever carries its messages; see `shoal.docking.pilot`."""

    def on_sighting(self, sighting: FiducialPose) -> None:
        """What our camera has found of the partner."""
        ...

    @property
    def word(self) -> DockingWord | None:
        """What our next plan tells the partner."""
        ...

    def guide(
        self, t_s: float, own: Odometry, directive: Directive, plans: Mapping[str, Plan]
    ) -> tuple[Directive, Mapping[str, Plan]]:
        """What to do instead, and where the others are by what is seen; `own`: the newest estimate."""
        ...
