"""Commands act when they should, and not for ever."""

from __future__ import annotations

import numpy as np

from shoal.simulation.command_queue import CommandQueue

ALL = {0: 1.0, 1: 2.0}


def test_delay_counts_from_the_odometry_that_is_answered() -> None:
    commands = CommandQueue(2, delay_s=0.05, timeout_s=0.5)
    commands.update(0.112, 0.10, ALL)  # 12 ms after the odometry of 0.10
    assert commands.acting(0.14).tolist() == [0, 0]
    assert commands.acting(0.15).tolist() == [1, 2]


def test_without_delay_at_once() -> None:
    commands = CommandQueue(2, delay_s=0.0, timeout_s=0.5)
    commands.update(0.1, 0.1, {1: 3.0})
    assert commands.acting(0.1).tolist() == [0, 3]


def test_a_command_in_two_pieces_is_one() -> None:
    commands = CommandQueue(2, delay_s=0.05, timeout_s=0.5)
    commands.update(0.10, 0.1, {0: 1.0})
    commands.update(0.11, 0.1, {1: 2.0})
    assert commands.acting(0.15).tolist() == [1, 2]


def test_zero_after_the_timeout_and_back_with_the_next() -> None:
    commands = CommandQueue(2, delay_s=0.0, timeout_s=0.5)
    assert commands.silent(0.0)
    commands.update(1.0, 1.0, ALL)
    assert commands.acting(1.5).tolist() == [1, 2]
    assert commands.acting(1.51).tolist() == [0, 0]
    commands.update(2.0, 2.0, {0: 4.0})  # nothing of the old command comes back with it
    assert commands.acting(2.0).tolist() == [4, 0]


def test_what_is_not_a_number_counts_as_silence() -> None:
    commands = CommandQueue(2, delay_s=0.0, timeout_s=0.5)
    commands.update(1.0, 1.0, ALL)
    for t in np.arange(1.0, 2.0, 0.05):
        commands.update(float(t), float(t), {0: float("nan"), 1: float("inf")})
    assert commands.acting(2.0).tolist() == [0, 0]


def test_a_delay_that_shrinks_lets_the_newest_command_overtake() -> None:
    commands = CommandQueue(2, delay_s=0.05, timeout_s=0.5, late_s=lambda t_s: 0.2 if t_s < 1.0 else 0.0)
    for t_s, force_N in ((0.9, 1.0), (0.95, 2.0), (1.0, 3.0)):  # due at 1.15, 1.2 and 1.05
        commands.update(t_s, t_s, {0: force_N, 1: force_N})
    assert commands.acting(1.04).tolist() == [0, 0]
    assert commands.acting(1.05).tolist() == [3, 3]
    assert commands.acting(1.4).tolist() == [3, 3]
