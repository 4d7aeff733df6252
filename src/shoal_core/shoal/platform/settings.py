"""Of the fleet manager: its settings, and what it notes down."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from shoal.config.file_model import FileModel
from shoal.platform.berth import BerthSettings


class ManagerSettings(FileModel):
    """Of the manager."""

    berth: BerthSettings = BerthSettings()
    staging_m: float = Field(default=0.45, gt=0, description="gap at which a vessel begins to berth")
    margin_m: float = Field(default=0.35, gt=0, description="kept from the platform on the way")
    transit_s: float = Field(default=90.0, gt=0, description="then a vessel under way is given up")
    stuck_s: float = Field(default=12.0, gt=0, description="then a vessel that is asked to move and does not is, too")


@dataclass(frozen=True)
class Event:
    """What happened, for logs and tables."""

    t_s: float
    vessel: str
    what: str
