"""The watchdog's rule, without ROS."""

from __future__ import annotations

import math

from shoal_gazebo.thrust_watch import Moment, ThrustWatch

ONE, TWO = ("rov1", "thruster1"), ("rov2", "thruster4")


def at(sim_s: float, wall_s: float | None = None) -> Moment:
    return Moment(sim_s, sim_s if wall_s is None else wall_s)


def test_only_silent_pushing_thrusters_are_stopped() -> None:
    watch = ThrustWatch(0.5, 3.0)
    watch.on_command(ONE, 4.0, at(1.0))
    watch.on_command(TWO, -2.0, at(1.3))
    assert watch.overdue(at(1.5)) == []
    assert watch.overdue(at(1.6)) == [ONE]
    assert watch.overdue(at(1.9)) == [ONE, TWO]
    watch.on_command(ONE, 0.0, at(1.9))  # its own zero comes back
    assert watch.overdue(at(9.0)) == [TWO]
    assert watch.pushing() == [TWO]


def test_zero_and_nan_need_no_watching() -> None:
    watch = ThrustWatch(0.5, 3.0)
    watch.on_command(ONE, 0.0, at(0))
    watch.on_command(TWO, math.nan, at(0))
    assert watch.overdue(at(100)) == []


def test_a_slow_simulation_is_no_fault() -> None:
    watch = ThrustWatch(0.5, 3.0)
    watch.on_command(ONE, 1.0, at(10.0, 50.0))
    assert watch.overdue(at(10.1, 52.0)) == []


def test_a_clock_that_stops_or_jumps_back_is() -> None:
    watch = ThrustWatch(0.5, 3.0)
    watch.on_command(ONE, 1.0, at(10.0, 50.0))
    assert watch.overdue(at(10.0, 53.5)) == [ONE]
    assert watch.overdue(at(0.0, 50.1)) == [ONE]
