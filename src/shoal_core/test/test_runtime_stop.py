"""A runtime that is stopped, released and restarted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoal.fleet.stop import StopLatch, StopState
from shoal.messages.command import Command
from shoal.messages.health import Code, Mode
from shoal.messages.odometry import Odometry
from swim import PERIOD_S, Swim


def test_stop_is_acted_upon_at_once() -> None:
    swim = Swim()
    swim.run(2.0, velocity_mps=(0.3, 0.0, 0.0))
    assert swim.thrust_N.any()
    swim.runtime.tick(swim.t_s)
    between_s = swim.t_s + 0.2 * PERIOD_S
    assert swim.runtime.tick(between_s) is None  # no step is due
    swim.runtime.on_stop("station")
    command = swim.runtime.tick(between_s)
    assert command is not None and not command.thrust_N.any()
    assert command.health.mode is Mode.ZERO_THRUST and command.health.issues[0].code is Code.STOPPED
    assert command.health.issues[0].subject == "station"


def test_a_stopped_vehicle_reports_where_it_is_and_stays_stopped() -> None:
    swim = Swim()
    swim.run(1.0)
    swim.runtime.on_stop("station")
    found = swim.run(3.0, velocity_mps=(0.3, 0.0, 0.0))
    assert {h.mode for h in found} == {Mode.ZERO_THRUST} and not swim.thrust_N.any()
    assert swim.runtime.last is not None
    np.testing.assert_allclose(swim.runtime.last.plan.positions_m[-1], swim.state.position_m, atol=0.02)


def test_release_needs_the_counter_that_holds() -> None:
    swim = Swim()
    swim.run(1.0)
    first = swim.runtime.on_stop("station").counter
    second = swim.runtime.on_stop("pad").counter
    assert not swim.runtime.on_release(first, "station")
    assert {h.mode for h in swim.run(0.5)} == {Mode.ZERO_THRUST}
    assert swim.runtime.on_release(second, "station")
    assert swim.run(0.5)[-1].mode is Mode.CONTROLLER


def test_stop_is_learned_from_a_peer_and_acted_upon_at_once() -> None:
    swim = Swim()
    swim.run(1.0)
    assert swim.runtime.on_stop_state(StopState(7, True, "peer"))
    command = swim.runtime.tick(swim.t_s + 0.001)
    assert command is not None and command.health.mode is Mode.ZERO_THRUST
    assert not swim.runtime.on_stop_state(StopState(7, True, "peer"))
    assert swim.runtime.on_stop_state(StopState(8, False, "peer"))
    assert swim.run(0.5)[-1].mode is Mode.CONTROLLER


def test_stop_outlives_a_clock_that_goes_back() -> None:
    swim = Swim()
    swim.run(2.0)
    swim.runtime.on_stop("station")
    swim.run(0.2)
    assert swim.runtime.time(0.0) == 0.0  # reset: everything timed is void
    swim.t_s, swim.k, swim.referred_s = 0.0, 0, -np.inf
    assert {h.mode for h in swim.run(0.5)} == {Mode.ZERO_THRUST}
    swim.runtime.on_release(swim.runtime.stop.state.counter, "station")
    assert swim.run(0.5)[-1].mode is Mode.CONTROLLER


def test_a_restarted_runtime_stays_stopped_by_its_file(tmp_path: Path) -> None:
    Swim(stop=StopLatch(tmp_path / "a.json")).runtime.on_stop("station")
    restarted = Swim(stop=StopLatch(tmp_path / "a.json"))
    assert {h.mode for h in restarted.run(0.5)} == {Mode.ZERO_THRUST} and not restarted.thrust_N.any()


def test_a_clock_that_jitters_is_not_reset() -> None:
    swim = Swim()
    swim.run(2.0)
    assert swim.runtime.time(swim.t_s - 0.3) >= swim.t_s - PERIOD_S - 1e-9
    assert swim.runtime.last is not None
    assert swim.runtime.time(0.0) == 0.0 and swim.runtime.last is None


def test_time_is_that_of_odometry_while_the_clock_message_is_on_its_way() -> None:
    """Of a simulated clock; by any other one a stamp that is ahead is wrong."""
    for coarse_clock, expected_s in ((True, 1.05), (False, 1.0)):
        swim = Swim(coarse_clock=coarse_clock)
        swim.runtime.on_odometry(Odometry(1.05, swim.odometry().state), 1.0)
        assert swim.runtime.time(1.0) == expected_s
        swim.runtime.on_odometry(Odometry(1001.0, swim.odometry().state), 1.1)
        assert swim.runtime.time(1.1) == 1.1  # an absurd stamp is no time
        swim.runtime.on_odometry(Odometry(1.1, swim.odometry().state), 1.2)
        assert swim.runtime.time(1.2) == 1.2


class Disarmed(Swim):
    """Nothing that is commanded reaches the thrusters."""

    asked_N = 0.0

    def apply(self, command: Command) -> None:
        self.asked_N = float(np.abs(command.thrust_N).max())


def test_thrusters_that_do_not_listen_are_not_asked_for_ever_more() -> None:
    """Disarmed for 20 s while the reference swims away; unknowing, the controller ends at the limits."""
    unknowing, told = Disarmed(), Disarmed()
    told.runtime.on_thrusters(False)
    for swim in (unknowing, told):
        found = swim.run(20.0, velocity_mps=(0.3, 0.0, 0.0))[-1]
    assert unknowing.asked_N > 20.0
    assert told.asked_N == 0.0 and found.has(Code.THRUSTERS_OFF) and found.mode is Mode.ZERO_THRUST
    told.runtime.on_thrusters(True)
    told.apply = lambda armed: Swim.apply(told, armed)  # type: ignore[method-assign]
    assert {h.mode for h in told.run(3.0)} == {Mode.CONTROLLER}
    assert not told.runtime.last.health.has(Code.TIMING_DIFFERS)
