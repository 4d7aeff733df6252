"""Vehicles joined and parted in the water: momentum, energy, and the same motion as under the joints' constraints."""

from __future__ import annotations

import numpy as np
import pytest

from closed_loop import changed
from shoal.assembly.constraints import ConstraintEngine
from shoal.errors import ShoalError
from shoal.fleet.file import Fleet, load_fleet
from shoal.frames import from_euler, matrix
from shoal.messages.state import ATTITUDE, POSITION, TWIST, State
from shoal.simulation.conditions import Condition
from shoal.simulation.world import World
from shoal.vehicles.parameters import mass_matrix

PERIOD_S = 0.05
STILL = changed("ideal")
NAMES = ("rov1", "rov2", "rov3")


def adrift(count: int = 2, condition: Condition = STILL, seed: int = 3) -> World:
    """Side by side at an angle, each with a velocity of its own."""
    rng = np.random.default_rng(seed)
    fleet = load_fleet("fosso2023_two")
    members = [fleet.vehicles[0].model_copy(update={"name": name}) for name in NAMES[:count]]
    fleet = Fleet.model_validate(fleet.model_dump() | {"vehicles": [m.model_dump() for m in members]})
    starts = {}
    for i, name in enumerate(NAMES[:count]):
        attitude = from_euler(*rng.uniform(-0.3, 0.3, 3).tolist())
        starts[name] = State(np.concatenate([[0.0, 0.8 * i, 8.0], attitude, rng.uniform(-0.2, 0.2, 6)]))
    return World(fleet, starts, condition, seed, PERIOD_S, 60.0, command_timeout_s=1e3)


def momentum(world: World) -> np.ndarray:
    """(6,) linear, and angular about the origin; NED."""
    total = np.zeros(6)
    for name, state in zip(world.names, world.states, strict=True):
        own, turn = mass_matrix(world.assembly.modules[name]) @ state[TWIST], matrix(state[ATTITUDE])
        total[:3] += turn @ own[:3]
        total[3:] += turn @ own[3:] + np.cross(state[POSITION], turn @ own[:3])
    return total


def energy_J(world: World) -> float:
    modules = world.assembly.modules
    pairs = zip(world.names, world.states, strict=True)
    return sum(0.5 * float(s[TWIST] @ mass_matrix(modules[n]) @ s[TWIST]) for n, s in pairs)


@pytest.mark.parametrize("count", [2, 3])
def test_joining_keeps_momentum_and_pose_and_gains_no_energy(count: int) -> None:
    world = adrift(count, changed("default"))
    for a, b in zip(world.names, world.names[1:], strict=False):
        before, poses, energy = momentum(world), world.states[:, :7].copy(), energy_J(world)
        world.attach(a, b)
        assert momentum(world) == pytest.approx(before, rel=1e-12, abs=1e-12 * np.abs(before).max())
        assert world.states[:, :7] == pytest.approx(poses, abs=1e-13)
        assert energy_J(world) < energy
    assert world.groups == (world.names,)


@pytest.mark.parametrize("count", [2, 3])
def test_joined_vehicles_move_as_the_constraint_engine_says(count: int) -> None:
    """10 s under thrust: one composite body against every module with its own state and six rows for each joint."""
    world = adrift(count)
    rng = np.random.default_rng(5)
    for a, b in zip(world.names, world.names[1:], strict=False):
        world.attach(a, b, rng.uniform(-0.4, 0.4, 3))
    engine = ConstraintEngine(world.assembly, method="tree")
    states, wrenches = world.states.copy(), np.zeros((count, 6))
    for i, (name, vehicle) in enumerate(world.assembly.modules.items()):
        thrust_N = rng.uniform(-3, 3, vehicle.input_count)
        world.command(name, thrust_N, 0.0, 0.0)
        wrenches[i] = vehicle.input_matrix @ thrust_N
    for k in range(200):
        world.step(PERIOD_S)
        for _ in range(5):
            states = engine.step(states, wrenches, 0.01)
        if k % 40 == 39:
            assert np.abs(world.states - states).max() < 1e-8
            gap_m, turn_rad = engine.worst_gap(world.states)
            assert gap_m < 1e-9 and turn_rad < 1e-9


def test_a_parted_vehicle_goes_on_with_its_own_velocity_and_swims_like_any_other() -> None:
    world = adrift(3)
    world.attach(*world.names[:2])
    world.attach(*world.names[1:])
    world.step(1.0)
    before = world.states.copy()
    world.detach(*world.names[:2])
    assert world.states == pytest.approx(before, abs=1e-13)
    assert world.groups == (world.names[1:],)
    alone = adrift(3)
    alone.plant.states[:] = before
    world.step(1.0)
    alone.step(1.0)
    assert world.states[0] == pytest.approx(alone.states[0], abs=1e-13)
    assert np.abs(world.states[1] - alone.states[1]).max() > 1e-3
    engine = ConstraintEngine(world.assembly)
    assert max(engine.worst_gap(world.states)) < 1e-9


def test_sensors_and_commands_stay_each_vehicles_own_and_one_held_fast_holds_all() -> None:
    held = {"faults": [{"vehicle": 1, "kind": "frozen", "from_s": 1.0}]}
    world = adrift(2, changed("ideal", **held))
    world.attach(*world.names)
    assert {n: len(q.acting(0.0)) for n, q in world.queues.items()} == dict.fromkeys(world.names, 8)
    measured = world.measure()
    for name, state in zip(world.names, world.states, strict=True):
        odometry = measured[name]
        assert odometry is not None and odometry.state == pytest.approx(state)
    for _ in range(21):
        world.step(PERIOD_S)
    stuck = world.states[:, :7].copy()
    world.step(PERIOD_S)
    assert world.states[:, :7] == pytest.approx(stuck, abs=1e-12) and not world.states[:, TWIST].any()
    assert world.near_misses() == []


def test_what_cannot_be_joined_or_parted_is_refused_in_a_sentence() -> None:
    world = adrift(2)
    with pytest.raises(ShoalError, match=r"attach: 'nobody' is unknown; expected one of rov1, rov2"):
        world.attach("nobody", world.names[0])
    with pytest.raises(ShoalError, match="and itself; expected two different vehicles"):
        world.attach(world.names[0], world.names[0])
    with pytest.raises(ShoalError, match="are not joined; expected a pair that is"):
        world.detach(*world.names)
    world.attach(*world.names)
    with pytest.raises(ShoalError, match="are joined already; expected a pair that is not"):
        world.attach(*world.names)
