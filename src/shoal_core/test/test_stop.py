"""STOP is remembered: whoever holds it, in whatever order it is received, over restarts and with a broken file."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ShoalError
from shoal.fleet.stop import StopLatch, StopState

STATES = st.builds(StopState, st.integers(0, 5), st.booleans(), st.sampled_from(["", "station", "pad"]))


@given(STATES, STATES, STATES)
def test_merging_does_not_depend_on_order_or_repetition(a: StopState, b: StopState, c: StopState) -> None:
    assert a.merged(b) == b.merged(a)
    assert a.merged(b).merged(c) == a.merged(b.merged(c))
    assert a.merged(a) == a
    assert a.merged(b).merged(b) == a.merged(b)


@given(st.lists(STATES, min_size=1, max_size=5))
def test_all_holders_end_up_alike(states: list[StopState]) -> None:
    ends = set()
    for order in itertools.permutations(states):
        latch = StopLatch()
        for state in order:
            latch.learn(state)
        ends.add(latch.state)
    assert len(ends) == 1


@given(STATES, st.integers(0, 5))
def test_only_the_counter_that_holds_can_be_released(state: StopState, counter: int) -> None:
    latch = StopLatch()
    latch.learn(state)
    before = latch.state
    released = latch.release(counter, "station")
    assert released == (before.stopped and counter == before.counter)
    assert latch.stopped == (before.stopped and not released)
    assert latch.state.counter == before.counter + released


@given(STATES)
def test_stop_beats_a_release_at_the_same_time(state: StopState) -> None:
    """One holder is released while another one is stopped again; when they meet, everybody is stopped."""
    one, other = StopLatch(), StopLatch()
    for latch in (one, other):
        latch.learn(state)
        latch.learn(StopState(6, True, "station"))
    assert one.release(6, "pad")
    other.stop("station")
    one.learn(other.state)
    other.learn(one.state)
    assert one.stopped and other.stopped and one.state == other.state


def test_a_stop_repeated_outruns_a_release_under_way() -> None:
    latch = StopLatch()
    first = latch.stop("station").counter
    latch.stop("pad")
    assert not latch.release(first, "station") and latch.stopped
    assert latch.release(latch.state.counter, "station") and not latch.stopped


def test_what_is_known_already_changes_nothing() -> None:
    latch = StopLatch()
    assert latch.learn(StopState(3, True, "station"))
    assert not latch.learn(StopState(3, True, "station"))
    assert not latch.learn(StopState(2, False, "station"))
    assert not latch.learn(StopState(3, False, "station"))  # a release of another STOP, which counted to three too
    assert latch.learn(StopState(4, False, "station")) and not latch.stopped


def test_survives_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "run" / "rov1.stop.json"
    StopLatch(file).stop("station")
    again = StopLatch(file)
    assert again.state == StopState(1, True, "station")
    again.release(1, "pad")
    assert StopLatch(file).state == StopState(2, False, "pad")
    again.learn(StopState(9, True, "peer"))
    assert StopLatch(file).state == StopState(9, True, "peer")
    assert [p.name for p in file.parent.iterdir()] == [file.name]  # nothing half-written is left


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"counter": 1}', b'{"counter": -1, "stopped": false, "owner": ""}',
     b'{"counter": 1, "stopped": 0, "owner": ""}', b'{"counter": 1.5, "stopped": false, "owner": ""}',
     b'{"counter": 99999999999999999, "stopped": false, "owner": ""}', b"[" * 100_000],
)  # fmt: skip
def test_an_unreadable_file_means_stopped(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "stop.json"
    file.write_bytes(content)
    latch = StopLatch(file)
    assert latch.stopped and "stop.json" in latch.state.owner
    assert latch.release(latch.state.counter, "station")
    assert not StopLatch(file).stopped


def test_something_else_in_place_of_the_file_means_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "stop.json"
    folder.mkdir()
    assert StopLatch(folder).stopped
    assert StopLatch(tmp_path / "stop.json" / "below").stopped is False  # there has never been one
    (tmp_path / "file").write_text("")
    assert StopLatch(tmp_path / "file" / "below").stopped  # a folder that is none


def test_stops_with_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("")
    latch = StopLatch(tmp_path / "full" / "stop.json")  # no folder can be made there
    latch.release(latch.state.counter, "station")
    assert latch.stop("station").stopped and latch.stopped


@given(STATES)
def test_text_and_back(state: StopState) -> None:
    assert StopState.from_json(state.to_json()) == state


def test_nonsense_on_the_topic_is_refused() -> None:
    for text in ("true", "STOP", '{"counter": true, "stopped": true, "owner": ""}'):
        with pytest.raises(ShoalError, match="expected counter, stopped and owner"):
            StopState.from_json(text)
