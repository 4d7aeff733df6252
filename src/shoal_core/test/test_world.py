"""The only plant: delays to the instant, commands on the way, timeouts, faults, mixed fleets, the same for a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml

from closed_loop import changed, simulated
from shoal.config.files import find_config, read_yaml
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, load_fleet
from shoal.messages.health import Mode
from shoal.messages.state import POSITION, State
from shoal.simulation.conditions import Condition
from shoal.simulation.world import World
from shoal.tasks.run import RunSpec, build_run

PERIOD_S = 0.05
THRUST_N = np.array([2.0, 2.5, 2.0, 2.5, 0.4, -0.6, -0.5, 0.5])
FLEET = load_fleet("fosso2023_two")
FIRST, SECOND = FLEET.names


def world(condition: Condition | None = None, fleet: Fleet = FLEET, seed: int = 4, **given: Any) -> World:
    start = {member.name: member.start_state() for member in fleet.vehicles}
    return World(fleet, start, condition or changed("ideal"), seed, PERIOD_S, 30.0, **given)


def force_N(at: World, vehicle: int = 0) -> np.ndarray:
    return at.plant.forces_N[vehicle]


@pytest.mark.parametrize("periods", [0, 1, 4])
def test_a_command_acts_after_the_delay_to_the_substep(periods: int) -> None:
    """The motion is that of a world without delay in which the command is given that much later, to 1e-12."""
    late, reference = world(changed("ideal", control_delay_periods=periods)), world(command_timeout_s=9.0)
    late.command(FIRST, THRUST_N, 0.0, 0.0)
    for k in range(10):
        if k == periods:
            reference.command(FIRST, THRUST_N, k * PERIOD_S, k * PERIOD_S)
        late.step(PERIOD_S)
        reference.step(PERIOD_S)
        np.testing.assert_allclose(late.states, reference.states, rtol=0, atol=1e-12)
        assert np.allclose(force_N(late), THRUST_N if k >= periods else 0.0)
    assert late.command_delay_s == pytest.approx(periods * PERIOD_S)


@pytest.mark.parametrize("arrives_s", [0.01, 0.02, 0.04])
def test_a_command_that_arrives_in_the_middle_of_a_step_acts_from_then_on(arrives_s: float) -> None:
    """As if the step had been cut there."""
    whole, cut = world(), world()
    whole.command(FIRST, THRUST_N, 0.0, arrives_s)
    whole.step(PERIOD_S)
    cut.step(arrives_s)
    assert not force_N(cut).any()
    cut.command(FIRST, THRUST_N, 0.0, arrives_s)
    cut.step(PERIOD_S - arrives_s)
    np.testing.assert_allclose(whole.states, cut.states, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(force_N(whole), force_N(cut))
    never = world()
    never.step(PERIOD_S)
    assert np.abs(whole.states - never.states).max() > 1e-5


def test_a_later_answer_does_not_wait_for_the_delay_twice() -> None:
    """A delay counts from the odometry that is answered; one that took longer to compute acts when it is there."""
    at = world(changed("ideal", control_delay_periods=1))
    at.command(FIRST, THRUST_N, 0.0, 0.07)
    at.step(PERIOD_S)
    assert not force_N(at).any()
    at.step(0.02)
    assert not force_N(at).any()
    at.step(0.01)
    np.testing.assert_allclose(force_N(at), THRUST_N)


def test_thrust_is_zero_after_the_timeout() -> None:
    at = world(command_timeout_s=0.5)
    at.command(FIRST, THRUST_N, 0.0, 0.0)
    for k in range(20):
        at.step(PERIOD_S)  # from k to k + 1 periods
        assert force_N(at).any() == (k * PERIOD_S <= 0.5 + 1e-9), k


def test_what_is_not_a_number_is_no_command() -> None:
    at = world()
    at.command(FIRST, np.full(8, np.nan), 0.0, 0.0)
    at.step(PERIOD_S)
    assert not force_N(at).any() and np.isfinite(at.states).all()


def test_stopped_means_zero_thrust_for_all_whatever_was_commanded() -> None:
    at = world()
    for name in FLEET.names:
        at.command(name, THRUST_N, 0.0, 0.0)
    at.step(PERIOD_S, stopped=True)
    assert not force_N(at, 0).any() and not force_N(at, 1).any()
    at.step(PERIOD_S)
    assert force_N(at, 0).any() and force_N(at, 1).any()


def faulty(*faults: dict[str, Any]) -> World:
    water = {"currents": [{"kind": "constant", "velocity_mps": [0.3, 0.2, -0.1]}]}
    return world(changed("default", faults=faults, environment=water))


def run(at: World, seconds: float) -> np.ndarray:
    """(T,V,13), everybody pushing all the time."""
    rows = [at.states.copy()]
    for _ in range(round(seconds / PERIOD_S)):
        for name in FLEET.names:
            at.command(name, THRUST_N, at.t_s, at.t_s)
        at.step(PERIOD_S)
        rows.append(at.states.copy())
    return np.array(rows)


def test_a_frozen_vehicle_stays_in_its_pose_whatever_pushes_it() -> None:
    rows = run(faulty({"vehicle": 1, "kind": "frozen", "from_s": 0.5, "to_s": 1.5}), 2.5)
    during = rows[10:31, 1]
    np.testing.assert_allclose(during[:, :7], np.tile(during[0, :7], (21, 1)), rtol=0, atol=1e-12)
    assert not during[1:, 7:].any()  # nor does its odometry claim a velocity
    assert np.linalg.norm(rows[10, 1, POSITION] - rows[0, 1, POSITION]) > 0.01  # before
    assert np.linalg.norm(rows[50, 1, POSITION] - rows[30, 1, POSITION]) > 0.01  # and after
    assert np.linalg.norm(rows[30, 0, POSITION] - rows[10, 0, POSITION]) > 0.05  # the other one swims on


def test_dead_thrusters_give_nothing_and_the_vehicle_drifts() -> None:
    at = faulty({"vehicle": 0, "kind": "thrusters_dead", "from_s": 1.0})
    run(at, 1.0)
    assert force_N(at, 0).any()
    rows = run(at, 3.0)
    assert np.abs(force_N(at, 0)).max() < 1e-6 and force_N(at, 1).any()
    assert np.linalg.norm(rows[-1, 0, POSITION] - rows[0, 0, POSITION]) > 0.1


def test_late_commands_act_later_for_as_long_as_they_are_late() -> None:
    late = faulty({"vehicle": 0, "kind": "commands_late", "from_s": 0.0, "to_s": 0.5, "late_s": 0.2})
    run(late, 0.2)  # the condition's delay is one period
    assert not force_N(late, 0).any() and force_N(late, 1).any()
    run(late, 0.15)
    assert force_N(late, 0).any()
    with pytest.raises(ValueError, match="late_s is None with kind 'commands_late'; expected a late_s"):
        faulty({"vehicle": 0, "kind": "commands_late"})


def test_a_silent_radio_changes_nothing_in_the_water() -> None:
    silent, free = faulty({"vehicle": 0, "kind": "radio_silent"}), faulty()
    np.testing.assert_array_equal(run(silent, 1.0), run(free, 1.0))


def test_a_fault_of_a_vehicle_that_is_not_there_is_refused() -> None:
    with pytest.raises(ShoalError, match=r"faults.0.vehicle = 2 in a fleet of 2; expected 0 to 1"):
        faulty({"vehicle": 2, "kind": "frozen"})


def test_same_seed_same_world_and_the_length_of_a_step_does_not_matter() -> None:
    one, again, other = (world(changed("worst_case"), seed=s) for s in (4, 4, 5))
    for _ in range(20):
        measured = [at.measure()[FIRST] for at in (one, again, other)]
        assert all(m is not None for m in measured)
        np.testing.assert_array_equal(measured[0].state, measured[1].state)  # type: ignore[union-attr]
        for at in (one, again, other):
            at.command(FIRST, THRUST_N, at.t_s, at.t_s)
        one.step(PERIOD_S)
        other.step(PERIOD_S)
        for _ in range(5):  # a node's ticks are shorter than the simulator's
            again.step(0.01)
        np.testing.assert_allclose(one.states, again.states, rtol=0, atol=1e-12)
    assert np.abs(one.states - other.states).max() > 1e-3
    assert one.t_s == pytest.approx(1.0)


def test_the_water_does_not_depend_on_how_long_it_is_asked_for() -> None:
    condition = changed("worst_case", environment={"currents": [{"kind": "gauss_markov"}]})
    start = {member.name: member.start_state() for member in FLEET.vehicles}
    short, long = (World(FLEET, start, condition, 4, PERIOD_S, lasting_s) for lasting_s in (30.0, 300.0))
    for t in (0.0, 3.7, 29.0):
        np.testing.assert_array_equal(short.current_at(t, np.zeros(3)), long.current_at(t, np.zeros(3)))
    assert np.abs(short.current_at(3.7, np.zeros(3))).max() > 0


def test_a_current_carries_everybody() -> None:
    at = world()
    north_m = at.states[:, 0].copy()
    at.set_current(np.array([0.4, 0.0, 0.0]))
    for _ in range(200):
        at.step(PERIOD_S)
    assert (at.states[:, 0] - north_m > 1.0).all()


def test_near_misses_are_reported_once() -> None:
    at = world()
    assert at.near_misses() == []
    at.states[1, POSITION] = at.states[0, POSITION] + np.array([0.5, 0, 0])
    assert "0.50 m apart" in at.near_misses()[0]
    assert at.near_misses() == []
    at.states[1, 0] += 5.0
    assert "clear" in at.near_misses()[0]


def test_truth_is_a_copy() -> None:
    at = world()
    truth = at.truth()
    assert isinstance(truth[FIRST], State)
    truth[FIRST].array[:] = 7.0
    assert not (at.states[0] == 7.0).any()


# -- vehicles of different kinds in one fleet ---------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Eight and six thrusters."""
    data = read_yaml(find_config("vehicles", "bluerov2_heavy"))
    data["name"] = "six"
    data["thrusters"] = [t for i, t in enumerate(data["thrusters"]) if i not in (3, 7)]
    del data["sets"]["ng2024"], data["sets"]["von_benzon2022"]  # their limits are given thruster by thruster
    data["default_set"] = "wu2018"
    file = tmp_path_factory.mktemp("vehicles") / "six.yaml"
    file.write_text(yaml.safe_dump(data))
    fleet = FLEET.model_dump(mode="json", exclude_none=True)
    fleet["vehicles"][1]["type"] = str(file)
    fleet["formation"].pop("radius_m", None)
    return Fleet.model_validate(fleet)


def test_a_fleet_of_eight_and_six_thrusters_swims(mixed: Fleet) -> None:
    assert [len(m.vehicle().thrusters) for m in mixed.vehicles] == [8, 6]
    recording = simulated("circle", mixed, "default", seed=1, duration_s=8.0)
    assert {name: thrust.shape for name, thrust in recording.thrust_N.items()} == {FIRST: (161, 8), SECOND: (161, 6)}
    assert (recording.mode == int(Mode.CONTROLLER)).all()
    error_m = np.linalg.norm(recording.states[:, :, POSITION] - recording.setpoints_m, axis=2)
    assert error_m[-20:].max() < 0.3


def test_each_runtime_has_as_many_commands_as_its_vehicle_has_thrusters(mixed: Fleet) -> None:
    built = build_run(RunSpec("circle", mixed, "ideal", duration_s=1.0))
    for name, count in ((FIRST, 8), (SECOND, 6)):
        assert len(built.simulator.runtimes[name].agent.vehicle.thrusters) == count
        assert built.simulator.world.queues[name].acting(0.0).shape == (count,)
