"""A group of joined modules as one vehicle: equal to the constraint engine, for any shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mur_modules import joined_in_a_row, module, stacked
from shoal.assembly.compiled_engine import CompiledEngine
from shoal.assembly.composite import compose
from shoal.assembly.constraints import ConstraintEngine
from shoal.assembly.joints import Assembly, Joint, Pose
from shoal.errors import ShoalError
from shoal.messages.state import ATTITUDE, TWIST
from shoal.vehicles.functions import VehicleModel, ode_function
from shoal.vehicles.parameters import mass_matrix, parameter_vector, structure_of
from shoal.vehicles.ports import Port, mating
from vehicles_for_tests import full_matrices, shipped, vessel


def tree(count: int) -> Assembly:
    """Every module joined to one at random, with random points, angles and coefficients; full matrices among them."""
    rng = np.random.default_rng(count)
    modules, joints = {}, []
    for i in range(count):
        base = full_matrices() if i % 3 == 2 else shipped("wu2018")
        modules[f"m{i}"] = base.scaled(*rng.uniform(0.8, 1.2, 4))
        if i:
            q = rng.normal(size=4)
            joints.append(
                Joint(f"m{rng.integers(i)}", f"m{i}", rng.normal(size=3), rng.normal(size=3), q / np.linalg.norm(q))
            )
    return Assembly(modules, tuple(joints))


@pytest.mark.parametrize("assembly", [tree(2), tree(5), tree(10), tree(20), joined_in_a_row(4, closed=True)])
def test_accelerations_equal_the_constraint_engines(assembly: Assembly) -> None:
    rng = np.random.default_rng(1)
    group = assembly.groups()[0]
    composite = compose(assembly, group)
    structure = structure_of(composite.vehicle)
    ode, theta = ode_function(structure), parameter_vector(composite.vehicle, structure)
    engine = ConstraintEngine(assembly, stabilise_per_s=0.0)
    for _ in range(5 if len(group) < 20 else 2):
        states = stacked(assembly, rng)
        thrusts = [rng.uniform(-15, 15, m.input_count) for m in assembly.modules.values()]
        wrenches = np.array([m.input_matrix @ u for m, u in zip(assembly.modules.values(), thrusts, strict=True)])
        current = rng.normal(size=3) * 0.3
        joined = engine.constrain(states, engine.free_accelerations(states, wrenches, current)).accelerations
        own = composite.state_from(group[0], states[0])
        found = np.array(ode(own, np.concatenate(thrusts), current, np.zeros(6), theta)).ravel()[TWIST]
        each = np.array([composite.poses[name].twist() @ found for name in assembly.modules])
        assert np.abs(each - joined).max() <= 1e-10 * np.abs(joined).max()


def fleet_of_vessels(count: int, submerged: int = 0) -> Assembly:
    """A tree of vessels and of vehicles hanging below them, all turned and tilted at random."""
    drawn, rng = tree(count), np.random.default_rng(count + 50)
    modules = {
        name: m if i < submerged else replace(m, waterplane=rng.uniform(1.0, 900.0, 3))
        for i, (name, m) in enumerate(drawn.modules.items())
    }
    return Assembly(modules, drawn.joints)


@pytest.mark.parametrize("assembly", [fleet_of_vessels(2), fleet_of_vessels(5, submerged=2)])
def test_joined_waterplanes_equal_the_constraint_engines(assembly: Assembly) -> None:
    rng = np.random.default_rng(7)
    group = assembly.groups()[0]
    # The composite of a composite, in a frame of its own, has to move alike: assemblies may be joined again.
    inner = compose(assembly, group)
    nested = compose(Assembly({"whole": inner.vehicle}), ["whole"], Pose(rng.normal(size=3), _attitude(rng)))
    engine = ConstraintEngine(assembly, stabilise_per_s=0.0)
    for _ in range(3):
        states = stacked(assembly, rng)
        still = np.zeros((len(group), 6))
        joined = engine.constrain(states, engine.free_accelerations(states, still, np.zeros(3))).accelerations
        own = inner.state_from(group[0], states[0])
        outer = nested.state_from("whole", own)
        for composite, state, poses in (
            (inner, own, [inner.poses[n] for n in group]),
            (nested, outer, [nested.poses["whole"].then(inner.poses[n]) for n in group]),
        ):
            structure = structure_of(composite.vehicle)
            theta = parameter_vector(composite.vehicle, structure)
            inputs = np.zeros(composite.vehicle.input_count)
            found = np.array(ode_function(structure)(state, inputs, np.zeros(3), np.zeros(6), theta)).ravel()[TWIST]
            each = np.array([pose.twist() @ found for pose in poses])
            assert np.abs(each - joined).max() <= 1e-10 * np.abs(joined).max()


def _attitude(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


def test_two_vessels_abreast_float_as_one_does_and_roll_less() -> None:
    single = replace(vessel(), weight_N=vessel().weight_N + 9.0)  # 1 cm deeper
    half = np.array([0.0, 0.25, 0.0])
    pair = compose(Assembly({"a": single, "b": single}, (Joint("a", "b", half, -half),)), ["a", "b"]).vehicle
    below_m = pair.floating_depth_m - single.floating_depth_m
    assert below_m == pytest.approx(single.cg_m[2])  # the pair's origin is its centre of mass
    assert pair.waterplane is not None
    assert pair.waterplane[0] == pytest.approx(2 * 900.0)
    # 12 N m/rad each, and each hull 0.25 m off the middle.
    lever = 2 * (12.0 + 900.0 * 0.25**2)
    assert pair.waterplane[1] == pytest.approx(lever - 2 * 900.0 * single.cg_m[2] ** 2)
    assert {"heave", "roll", "pitch"} <= set(pair.returning_axes())


def test_states_of_the_modules_and_back() -> None:
    assembly = tree(5)
    composite = compose(assembly, assembly.groups()[0])
    states = stacked(assembly, np.random.default_rng(5))
    own = composite.state_from("m3", states[3])
    for state, found in zip(states, composite.module_states(own).values(), strict=True):
        found[ATTITUDE] *= np.sign(found[ATTITUDE] @ state[ATTITUDE])
        assert found == pytest.approx(state, abs=1e-12)


def test_joining_at_a_speed_is_what_the_constraint_engine_says() -> None:
    assembly = tree(4)
    composite = compose(assembly, assembly.groups()[0])
    states = stacked(assembly)
    states[:, TWIST] = np.random.default_rng(3).normal(size=(4, 6))
    after = ConstraintEngine(assembly).joined(states)
    found = composite.joined(assembly.modules, dict(zip(assembly.modules, states, strict=True)))
    assert found == pytest.approx(composite.state_from("m0", after[0]), abs=1e-12)


def test_numbers_of_a_pair_side_by_side() -> None:
    rov = shipped("wu2018")
    side = np.array([0.0, 0.4, 0.0])
    pair = compose(Assembly({"a": rov, "b": rov}, (Joint("a", "b", side, -side),)), ("a", "b"))
    assert pair.vehicle.mass_kg == pytest.approx(2 * rov.mass_kg)
    assert pair.vehicle.cg_m == pytest.approx(np.zeros(3), abs=1e-12)  # the frame is there
    assert [p.position_m[1] for p in pair.poses.values()] == pytest.approx([-0.4, 0.4])
    assert pair.vehicle.added_mass[0, 0] == pytest.approx(2 * rov.added_mass[0, 0])
    assert pair.vehicle.input_count == 16 and pair.inputs["b"] == slice(8, 16)
    assert pair.vehicle.controlled_axes == rov.controlled_axes
    one, two = VehicleModel(rov), VehicleModel(pair.vehicle)
    assert two.terminal_speed(0, 40.0) == pytest.approx(one.terminal_speed(0, 20.0))
    yaw = mass_matrix(rov)[5, 5] * 2 + 2 * mass_matrix(rov)[0, 0] * 0.4**2
    assert mass_matrix(pair.vehicle)[5, 5] == pytest.approx(yaw, rel=1e-9)


def test_a_weight_that_is_not_spread_as_the_mass_keeps_its_moment() -> None:
    heavy = replace(shipped("wu2018"), weight_N=150.0)
    side = np.array([0.5, 0.0, 0.0])
    assembly = Assembly({"a": heavy, "b": shipped("wu2018")}, (Joint("a", "b", side, -side),))
    composite = compose(assembly, ("a", "b"), Pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])))
    v = composite.vehicle
    moment = np.cross(v.cg_m, [0, 0, v.weight_N]) - np.cross(v.cb_m, [0, 0, v.buoyancy_N])
    separate = np.zeros(3)
    for name, m in assembly.modules.items():
        place = composite.poses[name].position_m
        separate += np.cross(place + m.cg_m, [0, 0, m.weight_N]) - np.cross(place + m.cb_m, [0, 0, m.buoyancy_N])
    assert moment == pytest.approx(separate, abs=1e-9)


def test_hulls_are_padded_so_that_assemblies_share_code() -> None:
    three, four = (compose(a, a.groups()[0]).vehicle for a in (joined_in_a_row(3), joined_in_a_row(4)))
    assert structure_of(three).hulls == structure_of(four).hulls == 4
    assert structure_of(module(True)).hulls == 0


def test_what_has_no_exact_composite_is_refused() -> None:
    side = np.array([0.0, 0.4, 0.0])
    with pytest.raises(ShoalError, match=r"module 'b' \(bluerov2_heavy, ng2024\).*expected another parameter set"):
        compose(Assembly({"a": shipped("wu2018"), "b": shipped("ng2024")}, (Joint("a", "b", side, -side),)), ("a", "b"))


def test_ports_move_with_their_modules() -> None:
    port = Port("bow", np.array([0.3, 0.0, 0.1]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, -1.0]))
    drawn = tree(3)
    assembly = Assembly({n: replace(m, ports=(port,)) for n, m in drawn.modules.items()}, drawn.joints)
    composite = compose(assembly, assembly.groups()[0])
    states = stacked(assembly, np.random.default_rng(2))
    whole = composite.state_from("m0", states[0])
    assert [p.name for p in composite.vehicle.ports] == ["m0/bow", "m1/bow", "m2/bow"]
    for own, seen, state in zip([port] * 3, composite.vehicle.ports, states, strict=True):
        now = mating(own, state, seen, whole)  # the same place, moving alike, and facing outwards, not each other
        assert np.allclose(now.gap_m, 0.0, atol=1e-12) and now.speed_mps < 1e-12
        assert now.angle_deg == pytest.approx(180.0)


@pytest.mark.parametrize("assembly", [tree(4), joined_in_a_row(4, closed=True), fleet_of_vessels(3)])
def test_the_compiled_engine_moves_as_the_other_does(assembly: Assembly) -> None:
    """A spanning tree and LDLᵀ against the pseudo-inverse; the joints a little apart, so that stabilising acts."""
    rng = np.random.default_rng(4)
    judge, engine = ConstraintEngine(assembly), CompiledEngine(assembly, use_compiler=False)
    states = stacked(assembly, rng)
    wrenches, current = rng.normal(size=(len(states), 6)) * 5, rng.normal(size=3) * 0.3
    found, wanted = (e.derivative(states, wrenches, current).copy() for e in (engine, judge))
    assert np.abs(found - wanted).max() <= 1e-10 * np.abs(wanted).max()
    if len(assembly.joints) < len(assembly.modules):  # a loop that is apart cannot be closed by its tree alone
        states[0, :3] += 1e-3
        found, wanted = (e.derivative(states, wrenches, current).copy() for e in (engine, judge))
        assert np.abs(found - wanted).max() <= 1e-10 * np.abs(wanted).max()
        unstable = CompiledEngine(assembly, 0.0, use_compiler=False).derivative(states, wrenches, current)
        assert np.abs(unstable - wanted).max() > 1e-4
