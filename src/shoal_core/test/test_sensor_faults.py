"""Sensors and radios that fail at a time: what is measured, what arrives, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from closed_loop import changed
from shoal.fleet.file import load_fleet
from shoal.fleet.link import Link, LinkSettings
from shoal.frames import yaw_of
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION, TWIST
from shoal.simulation.fault_entry import Fault
from shoal.simulation.faults import Faults
from shoal.simulation.plan_faults import RADIO_FAULTS
from shoal.simulation.world import World
from shoal.tasks.run import RunSpec, build_run

FLEET = load_fleet("two")
PERIOD_S = 0.05
FROM_S, TO_S = 1.0, 2.0


def measured(**fault: Any) -> tuple[list[Odometry | None], list[Odometry | None]]:
    """Of both vehicles over 3 s, adrift; the first one has the fault from 1 to 2 s."""
    given = [{"vehicle": 0, "from_s": FROM_S, "to_s": TO_S, **fault}] if fault else []
    water = {"currents": [{"kind": "constant", "velocity_mps": [0.3, 0.2, 0.0]}]}
    start = {member.name: member.start_state() for member in FLEET.vehicles}
    at = World(FLEET, start, changed("default", faults=given, environment=water), 4, PERIOD_S, 10.0)
    rows: tuple[list[Odometry | None], list[Odometry | None]] = [], []
    for _ in range(60):
        for row, odometry in zip(rows, at.measure().values(), strict=True):
            row.append(odometry)
        at.step(PERIOD_S)
    return rows


HEALTHY = measured()


def during(rows: list[Odometry | None]) -> list[tuple[float, Odometry, Odometry]]:
    """Time, measurement and what a healthy sensor would have measured, while the fault lasts; else they are equal."""
    found = []
    for k, (is_now, was) in enumerate(zip(rows, HEALTHY[0], strict=True)):
        assert is_now is not None and was is not None
        if FROM_S <= k * PERIOD_S + 1e-9 < TO_S:
            found.append((k * PERIOD_S, is_now, was))
        else:
            np.testing.assert_array_equal(is_now.state, was.state)
    assert len(found) == 20
    return found


def test_a_bias_lasts_as_long_as_the_fault_and_is_of_one_vehicle() -> None:
    broken, other = measured(kind="sensor_bias", offset_m=[1.0, -2.0, 0.5], heading_deg=30.0)
    for _, found, was in during(broken):
        np.testing.assert_allclose(found.state[POSITION] - was.state[POSITION], [1.0, -2.0, 0.5], atol=1e-12)
        turned = np.degrees(yaw_of(found.state[ATTITUDE]) - yaw_of(was.state[ATTITUDE]))
        assert (turned + 180) % 360 - 180 == pytest.approx(30.0, abs=0.5)
        np.testing.assert_array_equal(found.state[TWIST], was.state[TWIST])
    for found, was in zip(other, HEALTHY[1], strict=True):
        assert found is not None and was is not None
        np.testing.assert_array_equal(found.state, was.state)


def test_a_drift_grows_from_its_beginning_on() -> None:
    for t_s, found, was in during(measured(kind="sensor_drift", drift_mps=[0.1, 0.0, -0.2])[0]):
        off_m = found.state[POSITION] - was.state[POSITION]
        np.testing.assert_allclose(off_m, (t_s - FROM_S) * np.array([0.1, 0.0, -0.2]), atol=1e-12)


def test_jumps_come_and_go() -> None:
    rows = during(measured(kind="sensor_jumps", offset_m=[3.0, 0.0, 0.0], every_s=0.3)[0])
    off_m = [round(float(found.state[0] - was.state[0]), 9) for _, found, was in rows]
    assert off_m == [3.0] * 6 + [0.0] * 6 + [3.0] * 6 + [0.0] * 2


def test_a_frozen_sensor_repeats_itself_under_fresh_stamps() -> None:
    rows = during(measured(kind="sensor_frozen")[0])
    for t_s, found, _ in rows:
        np.testing.assert_array_equal(found.state, rows[0][1].state)
        assert found.stamp_s == pytest.approx(t_s)
    assert np.abs(rows[-1][2].state - rows[0][2].state).max() > 0.01


@pytest.mark.parametrize(("fault", "stamps_s"), [
    ({"kind": "sensor_silent"}, {0.95}),
    ({"kind": "sensor_slow", "rate_hz": 4.0}, {1.0, 1.25, 1.5, 1.75}),
])  # fmt: skip
def test_a_silent_sensor_gives_nothing_and_a_slow_one_little(fault: dict[str, Any], stamps_s: set[float]) -> None:
    rows = measured(**fault)[0]
    assert {round(o.stamp_s, 6) for o in rows[20:40] if o is not None} == stamps_s
    assert {round(o.stamp_s, 6) for o in rows[40:] if o is not None} == {round(k * PERIOD_S, 6) for k in range(40, 60)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "sensor_bias"},
        {"kind": "sensor_drift"},
        {"kind": "sensor_drift", "drift_mps": [0, 0, 0]},
        {"kind": "sensor_jumps", "offset_m": [1, 0, 0]},
        {"kind": "sensor_slow"},
        {"kind": "sensor_frozen", "rate_hz": 3.0},
        {"kind": "sensor_silent", "heading_deg": 3.0},
        {"kind": "link_loss"},
        {"kind": "link_loss", "share": 0.0},
        {"kind": "link_delay"},
        {"kind": "thruster_weak", "thruster": "thruster1", "share": 1.0},
    ],
)
def test_a_fault_without_what_its_kind_needs_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Fault.model_validate({"vehicle": 0, **wrong})


# -- radios -----------------------------------------------------------------------------------------------------------


def linked(*faults: dict[str, Any], **settings: Any) -> Link:
    given = Faults([Fault.model_validate({"vehicle": 0, **f}) for f in faults], ["a", "b", "c"])
    return Link(LinkSettings.model_validate(settings), np.random.default_rng(0), given.of_link if faults else None)


def arrivals(link: Link, sender: str, receiver: str) -> list[float]:
    """Delays of 400 plans, one each 10 ms, that arrive."""
    states, found = dict.fromkeys("abc", np.zeros(13)), []
    for k in range(400):
        t_s = 0.01 * k
        plan = Plan(sender, k, t_s, np.array([t_s]), np.zeros((1, 3)), np.zeros((1, 3)))
        link.broadcast(t_s, sender, plan, states)
    for arrived_s, plan in link.arrivals(99.0, receiver):
        found.append(arrived_s - plan.stamp_s)
    return found


def test_a_lossy_radio_loses_what_it_sends_and_what_is_sent_to_it() -> None:
    fault = {"kind": "link_loss", "share": 0.7, "from_s": 2.0}
    for sender, receiver in (("a", "b"), ("b", "a")):
        assert 200 + 30 < len(arrivals(linked(fault), sender, receiver)) < 200 + 95  # 60 of the later half expected
    assert len(arrivals(linked(fault), "b", "c")) == 400


def test_a_late_radio_delays_both_ways_and_faults_add_to_the_link() -> None:
    fault = {"kind": "link_delay", "delay_s": 0.5}
    assert arrivals(linked(fault, delay_s=0.2), "a", "b") == pytest.approx([0.7] * 400)
    assert arrivals(linked(fault, delay_s=0.2), "b", "a") == pytest.approx([0.7] * 400)
    assert arrivals(linked(fault, delay_s=0.2), "b", "c") == pytest.approx([0.2] * 400)


def test_link_faults_reach_the_vehicles_and_count_as_radio_faults() -> None:
    """On ROS the relay is started for them."""
    faults = [{"vehicle": 1, "kind": "link_delay", "delay_s": 1.0, "from_s": 0.5}]
    run = build_run(RunSpec(fleet="2", condition=changed("ideal", faults=faults), duration_s=1.4))
    run.simulator.run()
    ages_s = run.recording().neighbour_age_s
    assert ages_s[8].max() < 0.2 and ages_s[-1].min() > 0.7
    assert {"link_loss", "link_delay"} <= set(RADIO_FAULTS)
