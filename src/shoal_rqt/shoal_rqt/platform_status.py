"""`/fleet/platform` as the station shows it. No Qt, no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from shoal.config.files import validate
from shoal.config.json_text import json_object
from shoal.messages import topics
from shoal.platform.blueprint import Cell

MEMBER, WAITING = "member", "waiting"  # phases in which a vessel is not under way


class _Owner(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    owner: str


class PlatformStatus(BaseModel):
    """What the fleet manager says of its platform; keys that a newer one adds are not ours."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    phases: Mapping[str, str]  # by vessel
    cells: Mapping[str, Cell]  # of members
    wanted: tuple[Cell, ...] = ()  # all cells of the blueprint that it is to become
    owners: Mapping[str, _Owner] = {}
    owned: bool = False  # all members obey one of them
    complete: bool = False
    stage: str = ""
    over: bool = False  # nothing is left to do: an order is taken
    stopped: bool = False

    def owner_of(self, vessel: str) -> str:
        """Whose commands its thrusters obey; empty: not known."""
        found = self.owners.get(vessel)
        return "" if found is None else found.owner

    def sentence(self) -> str:
        """`2 of 3 joined, build; vessel3 approach`."""
        busy = [f"{v} {phase}" for v, phase in self.phases.items() if phase not in (MEMBER, WAITING)]
        words = f"{len(self.cells)} of {len(self.wanted) or len(self.phases)} joined, {self.stage}"
        if self.complete:
            words += ", complete" + ("" if self.owned else ", not yet flown by one")
        return ("stopped: " if self.stopped else "") + "; ".join([words, *busy])


def platform_from_json(text: str) -> PlatformStatus:
    """A ShoalError with key, value and expectation when it cannot be believed."""
    name = topics.PLATFORM.name
    return validate(Path(name), json_object(text, name), PlatformStatus)
