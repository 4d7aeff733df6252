"""Who steers which vessel: exactly one controller at any time, counted, so that an older order never wins.

The ledger is the fleet manager's; every vessel latches the newest entry about itself and obeys its owner alone. So the
answer survives the manager, and two controllers that both believe to own a vessel cannot both be obeyed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shoal.errors import ShoalError

TAKE_OVER_S = 1.0  # silence of the owner after which the next in line may claim a vessel


@dataclass(frozen=True)
class Entry:
    """A vessel's owner, by the name of the vessel whose controller it is, since which count."""

    owner: str
    counter: int


class Ledger:
    """At the fleet manager: a transfer takes effect with a higher count than anything before."""

    def __init__(self, vessels: Iterable[str], entries: Mapping[str, Entry] | None = None) -> None:
        """Everybody owns itself, unless `entries` (such as the vessels' own, after a restart) say otherwise."""
        given = entries or {}
        self._entries = {name: given.get(name, Entry(name, 0)) for name in vessels}

    @property
    def counter(self) -> int:
        """The highest there is."""
        return max((entry.counter for entry in self._entries.values()), default=0)

    @property
    def entries(self) -> dict[str, Entry]:
        """Of every vessel."""
        return dict(self._entries)

    def owner(self, vessel: str) -> str:
        """Whose commands the vessel obeys."""
        return self._entries[vessel].owner

    def owned_by(self, owner: str) -> tuple[str, ...]:
        """All vessels that the controller of `owner` steers; empty: it is inactive."""
        return tuple(name for name, entry in self._entries.items() if entry.owner == owner)

    def transfer(self, vessels: Iterable[str], owner: str) -> int:
        """From now on `owner` steers these; all under one count."""
        chosen = tuple(vessels)
        for name in (*chosen, owner):
            if name not in self._entries:
                raise ShoalError(f"ownership: '{name}' is unknown; expected one of {', '.join(self._entries)}")
        counter = self.counter + 1
        self._entries |= {name: Entry(owner, counter) for name in chosen}
        return counter


class OwnerLatch:
    """At a vessel: the newest owner heard of. One at a time, whatever is lost, late or repeated on the way."""

    def __init__(self, vessel: str, entry: Entry | None = None) -> None:
        self.vessel, self.entry = vessel, entry or Entry(vessel, 0)
        self._heard_s: float | None = None

    def learn(self, entry: Entry) -> bool:
        """What the manager, or another member, says; whether it was newer. Equal counts: the first stays."""
        if entry.counter <= self.entry.counter:
            return False
        self.entry, self._heard_s = entry, None
        return True

    def obeys(self, sender: str, counter: int, t_s: float) -> bool:
        """Whether a command is acted upon: the owner's, under the present count."""
        if sender != self.entry.owner or counter != self.entry.counter:
            return False
        self._heard_s = t_s
        return True

    def claimed(self, by: str, t_s: float) -> Entry | None:
        """A member claims the vessel because its owner is silent; None: it is not, or `by` is the owner already."""
        if by == self.entry.owner:
            return None
        if self._heard_s is None:
            self._heard_s = t_s  # silence counts from now
            return None
        if t_s - self._heard_s < TAKE_OVER_S:
            return None
        self.entry, self._heard_s = Entry(by, self.entry.counter + 1), t_s
        return self.entry
