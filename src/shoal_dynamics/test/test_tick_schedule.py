"""Ticks that divide the period and never come too often; a pace that slips instead of hurrying."""

from __future__ import annotations

import pytest

from shoal.errors import ShoalError
from shoal_dynamics.tick_schedule import MOST_TICKS_HZ, SLACK_S, Pacer, choose_schedule


@pytest.mark.parametrize("period_s", [0.01, 0.05, 0.1, 0.2, 1.0])
@pytest.mark.parametrize("rate", [0.1, 1.0, 2.0, 4.0, 10.0, 100.0])
def test_ticks_divide_the_period_and_are_not_too_many(period_s: float, rate: float) -> None:
    schedule = choose_schedule(period_s, 0.01, rate)
    assert schedule.period % schedule.tick == 0
    assert schedule.period_s == pytest.approx(period_s)
    assert rate / schedule.tick_s <= MOST_TICKS_HZ + 1e-6 or schedule.tick == schedule.period


def test_real_time_ticks_with_the_plants_own_step() -> None:
    assert choose_schedule(0.05, 0.01, 1.0).tick == 1
    assert choose_schedule(0.05, 0.01, 0.0).tick == 5  # as fast as it goes: once a period
    assert choose_schedule(0.05, 0.01, 1.0, whole=True).tick == 5


def test_period_must_fit() -> None:
    with pytest.raises(ShoalError, match="multiple"):
        choose_schedule(0.033, 0.01, 1.0)


def test_pace_keeps_the_rate() -> None:
    pacer, now = Pacer(2.0), 100.0
    dues = []
    for _ in range(10):
        now = pacer.next(now + 0.001, 0.02)  # each tick takes a millisecond of its own
        dues.append(now)
    assert dues[-1] - dues[0] == pytest.approx(9 * 0.01)


def test_a_slow_machine_slips_and_does_not_hurry_afterwards() -> None:
    pacer = Pacer(1.0)
    due = pacer.next(0.0, 0.01)
    late = due + 5.0  # something held the process up for five seconds
    assert pacer.next(late, 0.01) == pytest.approx(late - SLACK_S)
    hurried = 0
    now = late
    while pacer.next(now, 0.01) <= now:
        hurried += 1
        now += 1e-4
    assert hurried <= SLACK_S / 0.01


def test_no_pace_at_rate_zero() -> None:
    assert Pacer(0.0).next(3.0, 0.01) == 3.0
