"""Arrivals in simulated time, and the small rules of the recorder."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal_recorder.times import KEPT, ArrivalTimes, ClockSteps

S = 10**9


def test_arrivals_between_two_looks_at_any_rate() -> None:
    times = ArrivalTimes()
    times.look(100 * S, 5 * S)
    assert times.of(100 * S) == 5 * S  # one look is all there is
    times.look(101 * S, 15 * S)  # ten times real time
    assert times.of(100 * S + S // 2) == 10 * S
    assert times.of(99 * S) == 5 * S and times.of(102 * S) == 15 * S  # never outside
    times.look(102 * S, 15 * S)  # a pause
    assert times.of(101 * S + S // 3) == 15 * S
    times.look(103 * S, 1 * S)  # a reset
    assert times.of(102 * S + S // 2) == 1 * S


def test_in_lock_step_a_message_is_of_the_tick_before_it_however_many_passed_at_once() -> None:
    steps = ClockSteps()
    assert steps.of(100 * S) is None
    for k in range(3 * KEPT):
        steps.tick(100 * S + k * S // 1000, k * S // 20)
    last = 3 * KEPT - 1
    assert steps.of(100 * S + last * S // 1000) == last * S // 20  # on it
    assert steps.of(100 * S + (last - 4) * S // 1000 + S // 1500) == (last - 4) * S // 20  # between two
    steps.tick(300 * S, 0)  # a reset
    assert steps.of(301 * S) == 0


def test_names_patterns_and_folders(tmp_path: Path) -> None:
    pytest.importorskip("rclpy")
    from shoal.errors import ShoalError
    from shoal_recorder.session import check_name, compile_pattern, free_folder

    assert check_name("") == "" and check_name("dive 7.b") == "dive 7.b"
    for bad in ("../up", "a/b", "/abs", ".."):
        with pytest.raises(ShoalError, match="without folders"):
            check_name(bad)
    with pytest.raises(ShoalError, match="regular expression"):
        compile_pattern("include", "(")
    assert free_folder(tmp_path, "x").name == "x"
    (tmp_path / "x").mkdir()
    assert free_folder(tmp_path, "x").name == "x_2"


def test_qos_fits_every_publisher() -> None:
    pytest.importorskip("rclpy")
    import yaml
    from rclpy.qos import DurabilityPolicy as D
    from rclpy.qos import QoSProfile
    from rclpy.qos import ReliabilityPolicy as R

    from shoal_recorder.subscription_qos import fitting_qos, message_class, qos_yaml

    strong = QoSProfile(depth=1, reliability=R.RELIABLE, durability=D.TRANSIENT_LOCAL)
    weak = QoSProfile(depth=1, reliability=R.BEST_EFFORT, durability=D.VOLATILE)
    both = fitting_qos([strong, weak])
    assert (both.reliability, both.durability) == (R.BEST_EFFORT, D.VOLATILE)
    assert (fitting_qos([strong]).reliability, fitting_qos([strong]).durability) == (R.RELIABLE, D.TRANSIENT_LOCAL)
    (entry,) = yaml.safe_load(qos_yaml([strong]))
    assert entry["reliability"] == "reliable" and entry["durability"] == "transient_local"
    assert message_class("no_such_msgs/msg/Thing") is None and message_class("std_msgs/msg/NoSuch") is None
