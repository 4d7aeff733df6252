"""The link: statistics against the binomial, timing, geometry of sight, determinism."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import binom, kstest

from shoal.fleet.link import Link, LinkSettings, in_sight
from shoal.fleet.neighbour_table import NeighbourTable
from shoal.messages.geometry import sight_angle_deg
from shoal.messages.plan import Plan

Array = NDArray[np.float64]


def plan(vehicle: str, sequence: int, t_s: float = 0.0) -> Plan:
    return Plan(vehicle, sequence, t_s, np.array([t_s]), np.zeros((1, 3)), np.zeros((1, 3)))


def state(position: list[float], yaw_deg: float = 0.0, pitch_deg: float = 0.0) -> Array:
    """At rest: yaw, then pitch."""
    y, p = np.radians([yaw_deg, pitch_deg]) / 2
    q = [np.cos(y) * np.cos(p), -np.sin(y) * np.sin(p), np.cos(y) * np.sin(p), np.sin(y) * np.cos(p)]
    return np.array([*position, *q, *np.zeros(6)])


HERE, THERE = state([0, 0, 5]), state([3, 0, 5], yaw_deg=180)


def link(seed: int = 1, **settings: object) -> Link:
    return Link(LinkSettings.model_validate(settings), np.random.default_rng(seed))


def fates(channel: Link, sender: str, receiver: str, count: int) -> list[bool]:
    """Which of `count` messages, one each 0.1 s, will arrive."""
    return [channel.send(0.1 * i, sender, receiver, plan(sender, i), HERE, THERE) for i in range(count)]


def test_perfect_link_delivers_at_once() -> None:
    channel = link()
    channel.send(1.0, "a", "b", plan("a", 7, 1.0), HERE, THERE)
    assert [p.sequence for p in channel.receive(1.0, "b")] == [7]
    assert channel.receive(1.0, "b") == []  # handed out once
    assert channel.receive(1.0, "a") == [] and channel.receive(1.0, "c") == []


@pytest.mark.parametrize("loss", [0.0, 0.2, 0.7, 1.0])
def test_loss_is_binomial(loss: float) -> None:
    lost = 4000 - sum(fates(link(loss=loss), "a", "b", 4000))
    low, high = binom.interval(0.9999, 4000, loss)
    assert low <= lost <= high


def test_a_link_that_turns_bad_at_run_time_loses_from_then_on() -> None:
    """The relay replaces its settings while it runs, and begins with a perfect link."""
    channel = link()
    assert all(fates(channel, "a", "b", 20))
    channel.settings = LinkSettings(loss=1.0)
    assert not any(fates(channel, "a", "b", 20))
    channel.broadcast(2.0, "a", plan("a", 99, 2.0), {"a": HERE, "b": THERE})
    channel.settings = LinkSettings()
    assert all(fates(channel, "a", "b", 20))
    assert 99 not in [p.sequence for p in channel.receive(10.0, "b")]


def test_losses_are_independent_in_time_and_between_pairs() -> None:
    channel = link(loss=0.5)
    pairs = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")]
    ab, ba, ac, cb = (np.array(fates(channel, a, b, 4000), dtype=float) for a, b in pairs)
    for x, y in ((ab[1:], ab[:-1]), (ab, ba), (ab, ac), (ab, cb)):
        assert abs(np.corrcoef(x, y)[0, 1]) < 4 / np.sqrt(4000)


def test_same_seed_same_fate_whatever_the_order_of_service() -> None:
    straight, mixed = link(3, loss=0.4), link(3, loss=0.4)
    names = [(a, b) for a in "abc" for b in "abc" if a != b]
    one = {p: fates(straight, *p, 50) for p in names}
    two: dict[tuple[str, str], list[bool]] = {p: [] for p in names}
    for i in range(50):  # interleaved, in another order each time
        for a, b in np.random.default_rng(i).permutation(names):
            two[a, b].append(mixed.send(0.1 * i, a, b, plan(a, i), HERE, THERE))
    assert one == two
    assert {p: fates(link(4, loss=0.4), *p, 50) for p in names} != one


def test_a_message_does_not_change_the_luck_of_later_ones() -> None:
    free, interrupted = link(5, loss=0.4), link(5, loss=0.4, dropouts=[[1.0, 2.0]])
    one, two = fates(free, "a", "b", 100), fates(interrupted, "a", "b", 100)
    assert one[:10] == two[:10] and one[20:] == two[20:]
    assert any(one[10:20]) and not any(two[10:20])


def test_names_do_not_run_together() -> None:
    channel = link(6, loss=0.5)
    assert fates(channel, "a", "bc", 64) != fates(channel, "ab", "c", 64)


@pytest.mark.parametrize("periods", [1, 3, 5, 7])
def test_delay_is_kept(periods: int) -> None:
    channel = link(delay_s=0.1 * periods)
    for i in range(20):
        t = 0.1 * i
        channel.send(t, "a", "b", plan("a", i, t), HERE, THERE)
        arrived = [p.sequence for p in channel.receive(t, "b")]
        assert arrived == ([i - periods] if i >= periods else [])
    assert [p.sequence for p in channel.receive(100.0, "b")] == list(range(20 - periods, 20))


def test_jitter_reorders_and_the_receiver_keeps_the_newest() -> None:
    channel, table = link(delay_s=0.1, jitter_s=1.0), NeighbourTable("me", ["a"], 0.0, 2.0)
    arrived: list[int] = []
    kept: list[int] = []
    for i in range(300):
        t = 0.1 * i
        channel.send(t, "a", "b", plan("a", i, t), HERE, THERE)
        for received in channel.receive(t, "b"):
            arrived.append(received.sequence)
            assert 0.1 - 1e-9 <= t - received.stamp_s <= 1.2
            table.add_plan(received, t)
        kept += [p.sequence for p in table.known(t).values()]
    assert sorted(arrived)[:285] == list(range(285))  # nobody is lost
    assert arrived != sorted(arrived) and kept == sorted(kept)  # overtaken ones never replace newer ones


def test_jitter_is_uniform() -> None:
    channel, delays = link(jitter_s=0.8), []
    for i in range(300):
        channel.send(10.0 * i, "a", "b", plan("a", i), HERE, THERE)
        looks = np.arange(0, 0.81, 0.01)
        delays.append(next(d for d in looks if i in {p.sequence for p in channel.receive(10.0 * i + d, "b")}))
    assert kstest(np.array(delays) / 0.8, "uniform").pvalue > 1e-3


def test_dropout_includes_its_start_and_not_its_end() -> None:
    channel = link(dropouts=[[1.0, 2.0], [5.0, 6.0]])
    sent = {t: channel.send(t, "a", "b", plan("a", 0), HERE, THERE) for t in (0.9, 1.0, 1.99, 2.0, 5.5, 6.0)}
    assert sent == {0.9: True, 1.0: False, 1.99: False, 2.0: True, 5.5: False, 6.0: True}


@pytest.mark.parametrize(
    ("a", "b", "seen"),
    [
        (state([0, 0, 5]), state([3, 0, 5], 180), True),
        (state([0, 0, 5]), state([3, 0, 5], 0), False),  # b looks away
        (state([0, 0, 5], 180), state([3, 0, 5], 180), False),  # a looks away
        (state([0, 0, 5], 59), state([3, 0, 5], 180), True),
        (state([0, 0, 5], 61), state([3, 0, 5], 180), False),
        (state([0, 0, 5]), state([3, 0, 5], 180 - 59), True),
        (state([0, 0, 5]), state([3, 0, 5], 180 - 61), False),
        (state([0, 0, 5], 0, 59), state([3, 0, 5], 180), True),  # pitch counts as much as yaw
        (state([0, 0, 5], 0, -61), state([3, 0, 5], 180), False),
        (state([0, 0, 5], 50, 50), state([3, 0, 5], 180), False),  # cos 50° cos 50° is 65.6°
        (state([0, 0, 5]), state([10, 0, 5], 180), True),
        (state([0, 0, 5]), state([10.01, 0, 5], 180), False),  # out of range
        (state([0, 0, 5], 90), state([0, 4, 9], -90, 45), True),  # b below a and looking up at it
        (state([0, 0, 5], 90, 45), state([0, 4, 9], -90, 45), False),  # a looks up and away
    ],
)
def test_sight_needs_both_cones_and_range(a: Array, b: Array, seen: bool) -> None:
    assert in_sight(a, b, 10.0, 60.0) is seen
    assert in_sight(b, a, 10.0, 60.0) is seen


def test_sight_angle_by_hand() -> None:
    assert sight_angle_deg(HERE, np.array([2.0, 0, 5])) == 0.0
    assert sight_angle_deg(HERE, np.array([0.0, 0, 8])) == pytest.approx(90.0)
    assert sight_angle_deg(HERE, np.array([-1.0, 0, 5])) == pytest.approx(180.0)
    assert sight_angle_deg(HERE, np.array([0.0, 0, 5])) == 180.0


def test_sight_is_judged_when_sent_and_only_if_asked() -> None:
    away = state([3, 0, 5], yaw_deg=0)
    optical, acoustic = link(line_of_sight=True, delay_s=1.0), link()
    assert acoustic.send(0.0, "a", "b", plan("a", 1), HERE, away)
    assert optical.send(0.0, "a", "b", plan("a", 1), HERE, THERE)
    assert not optical.send(0.5, "a", "b", plan("a", 2), HERE, away)
    assert [p.sequence for p in optical.receive(5.0, "b")] == [1]
    assert not link(line_of_sight=True, range_m=2.0).send(0.0, "a", "b", plan("a", 1), HERE, THERE)
    assert not link(line_of_sight=True, cone_deg=10.0).send(0.0, "a", "b", plan("a", 1), state([0, 0, 5], 11), THERE)


@pytest.mark.parametrize(
    "settings",
    [{"loss": 1.1}, {"loss": -0.1}, {"delay_s": -1}, {"dropouts": [[2, 1]]}, {"cone_deg": 0}, {"speed": 3}],
)
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LinkSettings.model_validate(settings)
