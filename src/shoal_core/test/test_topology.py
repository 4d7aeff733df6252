"""Who must see whom."""

from __future__ import annotations

import pytest

from shoal.errors import ShoalError
from shoal.fleet.topology import pairs

ABCD = ("a", "b", "c", "d")


def words(found: tuple[tuple[str, str], ...]) -> set[str]:
    assert len(set(found)) == len(found)
    return {a + b for a, b in found}


def test_named_topologies() -> None:
    assert words(pairs("all", ABCD)) == {x + y for x in "abcd" for y in "abcd" if x != y}
    assert words(pairs("ring", ABCD)) == {"ab", "bc", "cd", "da"}
    assert words(pairs("chain", ABCD)) == {"ba", "cb", "dc"}
    assert words(pairs("star", ABCD, stride=1)) == {"ab", "ba", "bc", "cb", "cd", "dc", "da", "ad"}
    assert words(pairs("star", ABCD, stride=2)) == {"ac", "ca", "bd", "db"}
    assert pairs("none", ABCD) == ()


@pytest.mark.parametrize("kind", ["all", "ring", "star"])
def test_two_see_each_other(kind: str) -> None:
    assert words(pairs(kind, ("a", "b"))) == {"ab", "ba"}


@pytest.mark.parametrize("kind", ["all", "ring", "chain", "star", "none"])
def test_alone_there_is_nobody_to_see(kind: str) -> None:
    assert pairs(kind, ("a",)) == ()


@pytest.mark.parametrize("count", [3, 5, 10, 11])
@pytest.mark.parametrize("stride", [1, 2])
def test_star_is_mutual_and_fair(count: int, stride: int) -> None:
    names = [f"v{i}" for i in range(count)]
    found = set(pairs("star", names, stride))
    assert {(b, a) for a, b in found} == found
    assert {sum(a == n for a, _ in found) for n in names} == {2}


def test_given_pairs_are_kept_directed_and_once() -> None:
    assert pairs([["a", "c"], ("d", "a"), ("a", "c")], ABCD) == (("a", "c"), ("d", "a"))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("mesh", "'mesh' is unknown; expected one of: all, ring, chain, star, across, none"),
        ([("a", "x")], "'x' in pair .* is unknown; expected one of: a, b, c, d"),
        ([("a", "a")], "one vehicle twice"),
        ([("a", "b", "c")], "expected two vehicle names"),
        (["ab"], "expected two vehicle names"),
    ],
)
def test_mistakes_are_refused(kind: str | list[tuple[str, ...]], expected: str) -> None:
    with pytest.raises(ShoalError, match=expected):
        pairs(kind, ABCD)


@pytest.mark.parametrize("stride", [0, 4, -1])
def test_bad_stride_is_told(stride: int) -> None:
    with pytest.raises(ShoalError, match="expected 1 to 3"):
        pairs("star", ABCD, stride)


def test_repeated_names_are_refused() -> None:
    with pytest.raises(ShoalError, match="repeat a name"):
        pairs("all", ("a", "a"))
