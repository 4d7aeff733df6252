"""CommandQueue act when they should, and not for ever."""

from __future__ import annotations

import numpy as np

from shoal.simulation.command_queue import CommandQueue
from shoal_dynamics.response_time import ResponseTimer

ALL = {0: 1.0, 1: 2.0}


def test_delay_counts_from_the_odometry_that_is_answered() -> None:
    commands = CommandQueue(2, delay_s=0.05, timeout_s=0.5)
    commands.hear(0.112, 0.10, ALL)  # 12 ms after the odometry of 0.10
    assert commands.acting(0.14).tolist() == [0, 0]
    assert commands.acting(0.15).tolist() == [1, 2]


def test_without_delay_at_once() -> None:
    commands = CommandQueue(2, delay_s=0.0, timeout_s=0.5)
    commands.hear(0.1, 0.1, {1: 3.0})
    assert commands.acting(0.1).tolist() == [0, 3]


def test_a_command_in_two_pieces_is_one() -> None:
    commands = CommandQueue(2, delay_s=0.05, timeout_s=0.5)
    commands.hear(0.10, 0.1, {0: 1.0})
    commands.hear(0.11, 0.1, {1: 2.0})
    assert commands.acting(0.15).tolist() == [1, 2]


def test_zero_after_the_timeout_and_back_with_the_next() -> None:
    commands = CommandQueue(2, delay_s=0.0, timeout_s=0.5)
    assert commands.silent(0.0)
    commands.hear(1.0, 1.0, ALL)
    assert commands.acting(1.5).tolist() == [1, 2]
    assert commands.acting(1.51).tolist() == [0, 0]
    commands.hear(2.0, 2.0, {0: 4.0})  # nothing of the old command comes back with it
    assert commands.acting(2.0).tolist() == [4, 0]


def test_what_is_not_a_number_counts_as_silence() -> None:
    commands = CommandQueue(2, delay_s=0.0, timeout_s=0.5)
    commands.hear(1.0, 1.0, ALL)
    for t in np.arange(1.0, 2.0, 0.05):
        commands.hear(float(t), float(t), {0: float("nan"), 1: float("inf")})
    assert commands.acting(2.0).tolist() == [0, 0]


def test_answers_know_which_odometry_they_belong_to() -> None:
    answers = ResponseTimer(thrusters=2)
    ms = 1_000_000
    answers.hear(1, 1 * ms, 1 * ms)  # before any question: no latency of it
    for k in range(1, 101):
        answers.ask(100 * k * ms)
        assert not answers.complete
        answers.hear(0, (100 * k + 4) * ms, (100 * k + 5) * ms)
        answers.hear(1, (100 * k + 5) * ms, (100 * k + 6) * ms)
        assert answers.complete
    answers.ask(10_100 * ms)
    answers.ask(10_200 * ms)  # one is not answered
    answers.hear(1, 10_199 * ms, 10_201 * ms)  # and then late: to the one before
    figures = answers.summary(0.1)
    assert figures["latency_median_ms"] == 6.0
    assert figures["latency_max_ms"] == 101.0
    assert figures["asked"] == 102 and answers.in_time == 100
    assert figures["jitter_median_ms"] == 0.0
