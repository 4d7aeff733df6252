"""Every vessel obeys exactly one controller, whatever is lost, late, repeated or restarted."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shoal.errors import ShoalError
from shoal.platform.ownership import TAKE_OVER_S, Entry, Ledger, OwnerLatch

VESSELS = ("v1", "v2", "v3", "v4")
vessels = st.sampled_from(VESSELS)


class Fleet(RuleBasedStateMachine):
    """A manager that may die, messages that may be lost or come in any order, members that claim silent ones."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(VESSELS)
        self.latches = {name: OwnerLatch(name) for name in VESSELS}
        self.sent: list[tuple[str, Entry]] = []
        self.t_s = 0.0
        self.seen: dict[str, int] = dict.fromkeys(VESSELS, 0)

    @rule(chosen=st.sets(vessels, min_size=1), owner=vessels)
    def transfer(self, chosen: set[str], owner: str) -> None:
        counter = self.ledger.transfer(sorted(chosen), owner)
        self.sent += [(name, Entry(owner, counter)) for name in chosen]

    @rule(data=st.data())
    def deliver(self, data: st.DataObject) -> None:
        """Any message ever sent, perhaps once more."""
        if self.sent:
            name, entry = data.draw(st.sampled_from(self.sent))
            self.latches[name].learn(entry)

    @rule(name=vessels, by=vessels, wait=st.floats(0, 3))
    def claim(self, name: str, by: str, wait: float) -> None:
        self.t_s += wait
        self.latches[name].claimed(by, self.t_s)

    @rule()
    def manager_dies(self) -> None:
        """The next one asks the vessels."""
        self.ledger = Ledger(VESSELS, {name: latch.entry for name, latch in self.latches.items()})

    @rule(name=vessels)
    def vessel_restarts(self, name: str) -> None:
        self.latches[name] = OwnerLatch(name, self.latches[name].entry)

    @invariant()
    def exactly_one_is_obeyed(self) -> None:
        for name, latch in self.latches.items():
            obeyed = [
                (sender, counter)
                for sender in VESSELS
                for counter in range(latch.entry.counter + 3)
                if OwnerLatch(name, latch.entry).obeys(sender, counter, self.t_s)
            ]
            assert obeyed == [(latch.entry.owner, latch.entry.counter)]

    @invariant()
    def counts_never_go_back(self) -> None:
        for name, latch in self.latches.items():
            assert latch.entry.counter >= self.seen[name]
            self.seen[name] = latch.entry.counter

    @invariant()
    def the_ledger_knows_one_owner_of_each(self) -> None:
        owned = [vessel for owner in VESSELS for vessel in self.ledger.owned_by(owner)]
        assert sorted(owned) == sorted(VESSELS)


Fleet.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestFleet = Fleet.TestCase


def test_a_silent_owner_is_replaced_within_two_seconds_and_not_obeyed_again() -> None:
    latch = OwnerLatch("v2", Entry("v1", 5))
    assert latch.obeys("v1", 5, 10.0)
    assert latch.claimed("v3", 10.9) is None
    assert latch.claimed("v3", 10.0 + TAKE_OVER_S) == Entry("v3", 6)
    assert TAKE_OVER_S <= 2.0
    assert not latch.obeys("v1", 5, 11.1)
    assert latch.obeys("v3", 6, 11.1)


def test_equal_counts_do_not_change_the_owner() -> None:
    latch = OwnerLatch("v2", Entry("v1", 5))
    assert not latch.learn(Entry("v3", 5))
    assert not latch.learn(Entry("v3", 4))
    assert latch.learn(Entry("v3", 6))


def test_unknown_vessels_are_refused() -> None:
    with pytest.raises(ShoalError, match="'v9' is unknown"):
        Ledger(VESSELS).transfer(["v9"], "v1")
