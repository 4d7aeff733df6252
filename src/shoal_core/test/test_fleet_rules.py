"""One test for each rule around the controller, with its effect as a number: switched off, the test fails.

The rules inside the optimisation are in `test_nmpc_rules.py`, faults and delays of the plant in `test_world.py` and
`test_simulator.py`; `make mutants` switches each of them off and sees a test fail.
"""

from __future__ import annotations

import numpy as np
import pytest

from closed_loop import changed
from shoal.control.base import ControllerContext
from shoal.control.nmpc.controller import NmpcController
from shoal.control.registry import load_controller_file
from shoal.control.settings import NmpcSettings
from shoal.estimation.timing_bank import TimingBankSettings
from shoal.fleet.agent import Agent
from shoal.fleet.agent_settings import AgentSettings, Timing
from shoal.fleet.neighbours import NeighbourSettings, forecast
from shoal.messages.command import Command
from shoal.messages.directive import Directive
from shoal.messages.geometry import distances_m
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION, State
from shoal.recordings.recording import Recording
from shoal.simulation.plant import Plant
from shoal.tasks.run import RunSpec, simulate
from shoal.vehicles.description import load_vehicle
from vehicles_for_tests import light_fleet

VEHICLE = load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6)
PERIOD_S = 0.05
PLACE_M = np.array([0.0, 0.0, 5.0])
FOLLOW = Directive("follow", Preview(np.zeros(1), PLACE_M[None], np.zeros((1, 3)), np.zeros(1)))


def agent() -> Agent:
    settings = NmpcSettings()
    controller = NmpcController(ControllerContext("a", VEHICLE, settings, settings.limits, PERIOD_S, ("b",)))
    return Agent(
        "a", VEHICLE, controller, AgentSettings(), Timing(PERIOD_S), lambda: 0.0, settings.limits.distance_hard_m
    )


def plan_of(position_m: tuple[float, float, float], stamp_s: float = 0.0, committed: bool = True) -> Plan:
    """Of a neighbour that stands."""
    return Plan("b", 1, stamp_s, np.array([stamp_s]), np.array([position_m]), np.zeros((1, 3)), committed)


def answer(plan: Plan) -> Command:
    """Of a vehicle in its place that has just received that plan."""
    return agent().step(0.0, Odometry(0.0, State.at_rest((0.0, 0.0, 5.0)).array), FOLLOW, {"b": plan})


# -- give-way -----------------------------------------------------------------------------------------------------


def head_on(turn_deg: float) -> Recording:
    """Two vehicles change places on a straight line, exactly symmetric."""
    file = load_controller_file("nmpc").model_copy(update={"settings": {"give_way": {"turn_deg": turn_deg}}})
    return simulate(RunSpec("circle", "fosso2023_two", "ideal", 0, controller=file, duration_s=20.0, task="exchange"))


def test_give_way_passes_port_to_port_with_room() -> None:
    """They miss each other by 2.3 m, both to starboard; without the rule they scrape along the soft 2.0 m."""
    recording = head_on(75.0)
    distance = distances_m(recording.states)[:, 0]
    assert distance.min() > 2.2
    southbound, northbound = recording.states[int(np.argmin(distance)), :, POSITION]
    assert southbound[1] < -0.5 and northbound[1] > 0.5  # west and east: each to its starboard
    without = head_on(0.0)
    assert distances_m(without.states).min() < 2.05
    assert recording.outcome is not None and without.outcome is not None
    assert recording.outcome.reached_s is not None and without.outcome.reached_s is not None
    assert recording.outcome.reached_s < without.outcome.reached_s - 0.5  # and it is not slower, but faster


# -- plans that cross are not committed -----------------------------------------------------------------------------


@pytest.mark.parametrize(("gap_m", "committed"), [(0.7, False), (0.8, True), (1.5, True)])
def test_a_plan_within_the_hard_distance_of_a_neighbours_is_not_committed(gap_m: float, committed: bool) -> None:
    """The hard distance is 0.75 m; a plan that starts closer cannot keep it."""
    command = answer(plan_of((gap_m, 0.0, 5.0)))
    assert command.plan.committed is committed and command.health.committed is committed


def test_a_plan_that_crosses_a_neighbours_is_not_committed() -> None:
    """The neighbour shoots past within half a second: nobody gets out of its way, so nobody may rely on our plan."""
    times = np.array([0.1, 0.6])
    crossing = Plan("b", 1, 0.0, times, np.array([[3.0, 0, 5], [-3.0, 0, 5]]), np.zeros((2, 3)))
    passing = Plan("b", 1, 0.0, times, np.array([[3.0, 3.0, 5], [-3.0, 3.0, 5]]), np.zeros((2, 3)))
    assert not answer(crossing).plan.committed
    assert answer(passing).plan.committed


def test_an_uncommitted_plan_is_kept_off_from_by_ten_centimetres_more() -> None:
    """From the sender's flag to where the receiver ends up."""
    distances = []
    for committed in (True, False):
        plant, own = Plant([VEHICLE], State.at_rest((0.0, 0.0, 5.0)).array[None]), agent()
        for k in range(160):
            t_s = k * PERIOD_S
            near = {"b": plan_of((1.5, 0.0, 5.0), t_s, committed)}
            command = own.step(t_s, Odometry(t_s, plant.states[0].copy()), FOLLOW, near)
            plant.step(command.thrust_N[None], PERIOD_S)
        distances.append(float(np.linalg.norm(plant.states[0, POSITION] - [1.5, 0.0, 5.0])))
    assert distances[0] == pytest.approx(2.0, abs=0.03)
    assert distances[1] - distances[0] == pytest.approx(NeighbourSettings().uncommitted_m, abs=0.02)


# -- neighbours that fall silent are forgotten ----------------------------------------------------------------------


def test_a_plan_of_61_seconds_is_no_longer_used() -> None:
    """One that stood a metre away and fell silent: for a minute it is kept off from, then our place is our own."""
    own, plant = agent(), Plant([VEHICLE], State.at_rest((0.0, 0.0, 5.0)).array[None])
    silent = {"b": plan_of((1.0, 0.0, 5.0))}
    off_m, known = [], []
    for k in range(round(8.0 / PERIOD_S)):
        t_s = 53.0 + k * PERIOD_S
        command = own.step(t_s, Odometry(t_s, plant.states[0].copy()), FOLLOW, silent)
        known.append((t_s, "b" in command.health.neighbour_age_s))
        plant.step(command.thrust_N[None], PERIOD_S)
        off_m.append(float(np.linalg.norm(plant.states[0, POSITION] - [1.0, 0.0, 5.0])))
    assert all(used == (t_s < 60.0 - 1e-6) for t_s, used in known)
    assert off_m[round(6.9 / PERIOD_S)] > 2.5  # 2 m, and 0.8 m for its age
    assert off_m[-1] < off_m[round(6.9 / PERIOD_S)] - 0.15  # on its way back


@pytest.mark.parametrize(("age_s", "used"), [(59.0, True), (61.0, False)])
def test_forgetting_counts_from_the_plans_stamp(age_s: float, used: bool) -> None:
    command = answer(plan_of((5.0, 0.0, 5.0), -age_s))
    assert (dict(command.health.neighbour_age_s) == {"b": age_s}) is used
    known = forecast([plan_of((5.0, 0.0, 5.0), -age_s)], 0.0, np.zeros(1), {}, NeighbourSettings())
    assert known.names == ("b",)  # whoever asks for the forecast decides whom to forget


# -- delays ---------------------------------------------------------------------------------------------------------


def settled_off_m(believed_periods: int | None) -> float:
    """Largest distance from the place in 4 s, 6 s after a start up to 2 m off; thrust acts 8 periods (0.4 s) late."""
    model = {} if believed_periods is None else {"control_delay_periods": believed_periods}
    condition = changed(control_delay_periods=8, controller_model=model)
    as_configured = load_controller_file("nmpc").model_copy(
        update={"runtime": {"agent": {"timing": {"enabled": False}}}}
    )
    recording = simulate(RunSpec("line", light_fleet(), condition, 1, as_configured, duration_s=10.0))
    off = np.linalg.norm(recording.states[:, 0, POSITION] - recording.setpoints_m[:, 0], axis=1)
    return float(off[recording.times_s >= 6.0].max())


def test_a_delay_that_is_predicted_costs_nothing_and_one_that_is_not_swings() -> None:
    """0.4 s from odometry to thrust: known to the controller it stays within 4 cm, unknown it swings by decimetres.

    Timing as configured here; what its estimate does is in test_timing_bank.py.
    """
    assert settled_off_m(None) < 0.04
    assert settled_off_m(0) > 0.2


def test_a_step_of_one_metre_with_delay_does_not_overshoot() -> None:
    """The same without noise: 1 m north with 0.4 s of delay, predicted or not."""
    overshoot_m = {}
    for believed_s in (0.4, 0.0):
        settings = NmpcSettings()
        controller = NmpcController(ControllerContext("a", VEHICLE, settings, settings.limits, PERIOD_S, ("b",)))
        timing = Timing(PERIOD_S, actuation_delay_s=believed_s)
        around = AgentSettings(timing=TimingBankSettings(enabled=False))
        own = Agent("a", VEHICLE, controller, around, timing, lambda: 0.0, settings.limits.distance_hard_m)
        plant, waiting = Plant([VEHICLE], State.at_rest((-1.0, 0.0, 5.0)).array[None]), [np.zeros(8)] * 8
        north_m = []
        for k in range(160):
            t_s = k * PERIOD_S
            waiting.append(own.step(t_s, Odometry(t_s, plant.states[0].copy()), FOLLOW, {}).thrust_N)
            plant.step(waiting.pop(0)[None], PERIOD_S)
            north_m.append(float(plant.states[0, 0]))
        overshoot_m[believed_s] = max(north_m)
    assert overshoot_m[0.4] < 0.01
    assert overshoot_m[0.0] > 0.1
