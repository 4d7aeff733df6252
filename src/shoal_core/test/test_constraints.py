"""The constraint engine: Nielsen 2018's own cases, its errata, loops, drift, and the ways to write a pendulum."""

from __future__ import annotations

import numpy as np
import pytest

from mur_modules import TURNED, joined_in_a_row, module, rod, stacked
from shoal.assembly.constraints import CUT_OFF, ConstraintEngine, joint_rows, printed_joint_rows
from shoal.assembly.file import load_assembly
from shoal.assembly.joints import Assembly, Joint
from shoal.errors import ShoalError
from shoal.frames import tilt_rad
from shoal.messages.state import ATTITUDE, POSITION, RATE, TWIST, VELOCITY
from shoal.vehicles.description import load_vehicle

NO_THRUST = np.zeros((2, 6))


def roll_rad(state: np.ndarray) -> float:
    w, x, y, z = state[ATTITUDE]
    return float(np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)))


def first_peak(length_m: float, added_mass: bool, limit_s: float) -> tuple[float, float]:
    """Time and roll of module A's first turning point (Case A: 90° of relative roll, released from rest)."""
    shipped = length_m == 1.0 and added_mass  # the other rods, and no added mass, are not files
    engine = ConstraintEngine(load_assembly("mur_case_a").assembly() if shipped else rod(length_m, TURNED, added_mass))
    states, h = stacked(engine.assembly), 0.02
    rolls = [0.0]
    for _ in range(round(limit_s / h)):
        states = engine.step(states, NO_THRUST, h)
        rolls.append(roll_rad(states[0]))
        if len(rolls) > 3 and rolls[-1] > rolls[-2] < rolls[-3]:
            a, b, c = rolls[-3:]
            return h * (len(rolls) - 2 + 0.5 * (a - c) / (a - 2 * b + c)), np.degrees(b)
    raise AssertionError("no peak")


@pytest.mark.parametrize(
    ("length_m", "thesis_s", "with_added_s", "roll_deg"),
    [(0.5, 0.980, 1.037, -85.0), (1.0, 1.951, 2.072, -80.5), (1.5, 2.931, 3.111, -76.6), (2.0, 3.921, 4.161, -73.1),
     (2.5, 4.932, 5.227, -69.9), (3.0, 5.972, 6.315, -67.1)],
)  # fmt: skip
def test_case_a_first_peaks(length_m: float, thesis_s: float, with_added_s: float, roll_deg: float) -> None:
    without, _ = first_peak(length_m, False, 7.0)
    assert without == pytest.approx(thesis_s, rel=0.02)  # Nielsen 2018, analytical row
    peak_s, roll = first_peak(length_m, True, 7.0)
    assert peak_s == pytest.approx(with_added_s, abs=0.002)
    assert roll == pytest.approx(roll_deg, abs=0.1)


def test_case_a_comes_to_rest_at_45_degrees_and_is_symmetric() -> None:
    engine = ConstraintEngine(rod(0.5, TURNED, True, cross_drag=40.0))
    states = stacked(engine.assembly)
    for k in range(1200):
        states = engine.step(states, NO_THRUST, 0.01)
        if k == 50:
            assert states[0][VELOCITY][2] == pytest.approx(-states[1][VELOCITY][1], abs=1e-9)
    assert np.degrees(roll_rad(states[0])) == pytest.approx(-45, abs=0.2)
    assert np.degrees(roll_rad(states[1])) == pytest.approx(45, abs=0.2)


@pytest.mark.parametrize(
    ("drag_b", "at_10_s", "at_20_s", "at_40_s", "steady_radps"),
    [(5.0, (1.20, 0.50, 0.0), (3.11, 0.50, 0.0), (7.10, 0.50, 0.0), 0.0),
     (10.0, (0.98, 0.58, 23.9), (2.18, 1.30, 74.0), (1.59, 3.75, 176.5), 0.0892),
     (15.0, (0.87, 0.61, 35.7), (1.73, 1.47, 101.3), (0.18, 2.79, 231.8), 0.1135)],
)  # fmt: skip
def test_case_b_bends_to_the_side_of_more_drag(
    drag_b: float, at_10_s: tuple, at_20_s: tuple, at_40_s: tuple, steady_radps: float
) -> None:
    file = load_assembly("mur_case_b")
    modules = {name: entry.vehicle() for name, entry in file.modules.items()}
    if drag_b != 10.0:
        modules["b"] = load_vehicle("mur_sphere", "theory" if drag_b == 5.0 else f"theory_drag_{drag_b:.0f}")
    engine = ConstraintEngine(file.assembly(modules))
    states, thrust = stacked(engine.assembly), np.zeros((2, 6))
    thrust[:, 0] = 1.0
    yaw_deg, last = 0.0, 0.0
    for k in range(1, 2001):
        states = engine.step(states, thrust, 0.02)
        w, x, y, z = states[0][ATTITUDE]
        yaw = float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
        yaw_deg, last = yaw_deg + np.degrees((yaw - last + np.pi) % (2 * np.pi) - np.pi), yaw
        if k in (500, 1000, 2000):
            north, east, turn = {500: at_10_s, 1000: at_20_s, 2000: at_40_s}[k]
            middle = states[:, POSITION].mean(axis=0)
            assert middle[:2] == pytest.approx([north, east], abs=0.01)
            assert yaw_deg == pytest.approx(turn, abs=0.06)
    assert states[0][RATE][2] == pytest.approx(steady_radps, rel=0.01, abs=1e-6)


def test_as_printed_the_constraints_are_wrong_for_turned_modules() -> None:
    def after(rows) -> tuple[float, float]:
        base = module(True, inertia=0.1, righting=False)
        assembly = Assembly({"a": base, "b": base}, (_turned_joint(1.0),))
        engine = ConstraintEngine(assembly, stabilise_per_s=0.0, rows=rows)
        states, torque = stacked(assembly), np.zeros((2, 6))
        torque[0, 5] = 2.0
        for _ in range(300):
            states = engine.step(states, torque, 0.01)
        return engine.worst_gap(states)

    gap_m, turn_rad = after(joint_rows)
    assert gap_m < 1e-9 and turn_rad < 1e-5
    gap_m, turn_rad = after(printed_joint_rows)
    assert gap_m > 0.1 and turn_rad > np.radians(20)


def test_as_printed_they_are_right_in_the_plane() -> None:
    def after(rows) -> np.ndarray:
        engine = ConstraintEngine(rod(1.0, None, True, surge_drag_b=10.0), stabilise_per_s=0.0, rows=rows)
        states, thrust = stacked(engine.assembly), np.zeros((2, 6))
        thrust[:, 0] = 1.0
        for _ in range(150):
            states = engine.step(states, thrust, 0.01)
        return states

    assert after(printed_joint_rows) == pytest.approx(after(joint_rows), abs=1e-7)


@pytest.mark.parametrize("count", [3, 4, 6])
def test_a_ring_moves_as_the_same_modules_in_a_chain(count: int) -> None:
    """A joint that closes a rigid loop adds nothing; its rows follow from the others."""
    ring = joined_in_a_row(count, closed=True)
    chain = joined_in_a_row(count)
    rng = np.random.default_rng(3)
    states = stacked(chain, rng)
    wrenches = rng.normal(size=(count, 6))
    engines = [ConstraintEngine(ring), ConstraintEngine(chain), ConstraintEngine(ring, "tree")]
    phi, _ = engines[0].rows(states)
    assert np.linalg.matrix_rank(phi, tol=1e-8) == 6 * (count - 1) < len(phi)
    free = engines[0].free_accelerations(states, wrenches, np.array([0.2, -0.1, 0.05]))
    found = [e.constrain(states, free).accelerations for e in engines]
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-9, abs=1e-9)
    with pytest.raises(AssertionError):  # the multiplier form (3.23) cannot be solved with redundant rows
        scaled = engines[0]._scaled(phi)
        assert np.linalg.cond(scaled @ scaled.T) < 1 / CUT_OFF


def test_momentum_is_kept_and_energy_never_grows_when_modules_join_at_a_speed() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        assembly = joined_in_a_row(4)
        engine = ConstraintEngine(assembly)
        states = stacked(assembly)
        states[:, TWIST] = rng.normal(size=(4, 6)) * 0.3
        after = engine.joined(states)
        assert _momentum(engine, after) == pytest.approx(_momentum(engine, states), abs=1e-12)
        assert _energy(engine, after) <= _energy(engine, states) + 1e-12
        phi, _ = engine.rows(after)
        assert phi @ after[:, TWIST].ravel() == pytest.approx(0, abs=1e-12)
        assert engine.joined(after) == pytest.approx(after, abs=1e-12)  # who moves along already loses nothing


def test_small_gains_keep_the_joints_together() -> None:
    def gap(stabilise: float) -> tuple[float, float]:
        assembly = joined_in_a_row(3)
        engine = ConstraintEngine(assembly, stabilise_per_s=stabilise)
        states = stacked(assembly)
        states[:, TWIST][:, 5] = 0.0
        torque = np.zeros((3, 6))
        torque[0] = [3.0, 1.0, -2.0, 0.4, -0.3, 0.5]
        for k in range(600):
            states = engine.step(states, torque * np.cos(0.02 * k), 0.02)
        return engine.worst_gap(states)

    (held_m, held_rad), (drifted_m, _) = gap(2.0), gap(0.0)
    assert held_m < 1e-8 and held_rad < 1e-8
    assert drifted_m > 5 * held_m


def test_joint_loads_balance_what_the_joints_do_to_the_modules() -> None:
    assembly = joined_in_a_row(3, alike=True)
    engine = ConstraintEngine(assembly, stabilise_per_s=0.0)
    states, wrenches = stacked(assembly), np.zeros((3, 6))
    wrenches[0, 0] = 10.0  # the first one tows
    free = engine.free_accelerations(states, wrenches, np.zeros(3))
    loads, forces = engine.joint_loads(states, free), engine.constrain(states, free).forces
    assert forces.sum(axis=0)[:3] == pytest.approx(0, abs=1e-9)
    assert loads["m0", "m1"][:3] == pytest.approx(forces[0][:3], abs=1e-9)
    assert -loads["m1", "m2"][:3] == pytest.approx(forces[2][:3], abs=1e-9)
    assert loads["m0", "m1"][0] == pytest.approx(-2 / 3 * 10, rel=0.01)  # two of three equal modules hang on the joint


def test_what_cannot_be_joined_gets_a_sentence() -> None:
    chain = joined_in_a_row(3, alike=True)
    with pytest.raises(ShoalError, match=r"'m9' is not a module; expected one of m0, m1, m2"):
        chain.attach(Joint("m0", "m9", np.zeros(3), np.zeros(3)))
    with pytest.raises(ShoalError, match=r"m1 to m2 is 0\.1 m .* expected a loop that closes"):
        chain.attach(Joint("m0", "m2", np.array([2.1, 0, 0]), np.zeros(3)))
    with pytest.raises(ShoalError, match=r"'m0' and 'm2' are not joined"):
        chain.detach("m0", "m2")
    with pytest.raises(ShoalError, match=r"joined to itself"):
        chain.attach(Joint("m0", "m0", np.zeros(3), np.zeros(3)))
    assert chain.detach("m0", "m1").groups() == (("m0",), ("m1", "m2"))


def test_joined_as_they_lie_keeps_gap_and_angle() -> None:
    rng = np.random.default_rng(2)
    states = stacked(joined_in_a_row(2), rng)
    states[1][POSITION] += 0.02
    joint = Joint.between("a", "b", states[0], states[1], np.array([0.3, 0.0, 0.1]))
    engine = ConstraintEngine(Assembly({"a": module(True), "b": module(True)}, (joint,)))
    assert engine.worst_gap(states) == pytest.approx((0, 0), abs=1e-12)
    assert tilt_rad(states[0][ATTITUDE]) > 0.1  # not a trivial case


def _turned_joint(length_m: float) -> Joint:
    return Joint("a", "b", np.array([0.0, length_m / 2, 0.0]), TURNED[1] * length_m / 2, TURNED[0])


def _momentum(engine: ConstraintEngine, states: np.ndarray) -> np.ndarray:
    """Linear and angular, about the world's origin, NED."""
    from shoal.frames import matrix

    total = np.zeros(6)
    for mass, state in zip(engine.masses, states, strict=True):
        own = mass @ state[TWIST]
        turn = matrix(state[ATTITUDE])
        linear = turn @ own[:3]
        total += np.concatenate([linear, turn @ own[3:] + np.cross(state[POSITION], linear)])
    return total


def _energy(engine: ConstraintEngine, states: np.ndarray) -> float:
    return sum(0.5 * s[TWIST] @ m @ s[TWIST] for m, s in zip(engine.masses, states, strict=True))
