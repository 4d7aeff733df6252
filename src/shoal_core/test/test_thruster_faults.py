"""Faults of single thrusters: what they do in the water, how they are found, and how the vehicle goes on without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.assembly.file import load_assembly
from shoal.errors import ShoalError
from shoal.estimation.changed_water import ChangedWater
from shoal.estimation.thruster_fault import ThrusterFault
from shoal.estimation.thruster_faults import ThrusterWatch, ThrusterWatchSettings
from shoal.estimation.thruster_tests import opposed
from shoal.fleet.thruster_use import ThrusterUse
from shoal.messages.state import TWIST
from shoal.simulation.conditions import Fault
from shoal.simulation.faults import Faults
from shoal.vehicles.description import load_vehicle
from shoal.vehicles.parameters import mass_matrix

HEAVY = load_vehicle("bluerov2_heavy", "wu2018").with_thrust_limit(16.6)
DEFAULT = load_vehicle("bluerov2_heavy")
ASKED_N = np.arange(1.0, 9.0)
OFTEN = ThrusterWatchSettings(test_every_s=5.0)


# -- in the water ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "third_N"),
    [
        ({"kind": "thruster_dead"}, 0.0),
        ({"kind": "thruster_weak", "share": 0.5}, 1.5),
        ({"kind": "thruster_reversed"}, -3.0),
        ({"kind": "thruster_stuck", "force_N": 10.0}, 10.0),
    ],
)
def test_a_fault_changes_one_thruster_of_one_vehicle_while_it_lasts(fault: dict[str, object], third_N: float) -> None:
    entry = Fault.model_validate({"vehicle": 1, "thruster": "thruster3", "from_s": 1.0, "to_s": 2.0, **fault})
    faults = Faults([entry], ["a", "b"], [HEAVY, HEAVY])
    wanted = ASKED_N.copy()
    wanted[2] = third_N
    np.testing.assert_array_equal(faults.asked_N("b", 1.5, ASKED_N), wanted)
    for name, t_s in (("a", 1.5), ("b", 0.9), ("b", 2.0)):
        np.testing.assert_array_equal(faults.asked_N(name, t_s, ASKED_N), ASKED_N)


def test_a_dead_module_is_all_of_its_thrusters() -> None:
    vehicle = load_assembly("pair").composite().vehicle
    module = vehicle.thrusters[0].name.partition("/")[0]
    faults = Faults([Fault(vehicle=0, kind="module_dead", module=module)], ["a"], [vehicle])
    left = faults.asked_N("a", 0.0, np.ones(16))
    assert [bool(f) for f in left] == [not n.startswith(f"{module}/") for n in vehicle.input_names]
    with pytest.raises(ShoalError, match=r"faults.0.module = 'x' .* expected"):
        Faults([Fault(vehicle=0, kind="module_dead", module="x")], ["a"], [vehicle])


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "thruster_dead"},
        {"kind": "thruster_weak", "thruster": "thruster1"},
        {"kind": "thruster_stuck", "thruster": "thruster1"},
        {"kind": "frozen", "thruster": "thruster1"},
        {"kind": "thruster_dead", "thruster": "thruster1", "share": 0.5},
    ],
)
def test_a_fault_without_what_its_kind_needs_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Fault.model_validate({"vehicle": 0, **wrong})


def test_a_fault_of_an_unknown_thruster_is_refused() -> None:
    with pytest.raises(ShoalError, match=r"faults.0.thruster = 'bow' .* expected thruster1, "):
        Faults([Fault(vehicle=0, kind="thruster_dead", thruster="bow")], ["a"], [HEAVY])


# -- tests and signatures ---------------------------------------------------------------------------------------------


def test_opposed_thrusters_give_no_wrench_and_all_take_part() -> None:
    push = opposed(HEAVY.input_matrix)
    np.testing.assert_allclose(HEAVY.input_matrix @ push, 0.0, atol=1e-9)
    assert np.abs(push).max() == pytest.approx(1.0) and np.abs(push).min() > 0.5
    assert not opposed(HEAVY.input_matrix[:, :3]).any()  # three of them cannot cancel


class Trial:
    """A watch beside a vehicle at rest in the model's eyes: it feels just what the fault adds or takes."""

    def __init__(self, gain: float, stuck_N: float = 0.0, index: int = 5) -> None:
        self.watch = ThrusterWatch(HEAVY, OFTEN)
        self.gain, self.stuck_N, self.index, self.rng = gain, stuck_N, index, np.random.default_rng(3)
        self.steered_from_s, self.t_s = 0.0, 0.0
        self.twist, self.expected = np.zeros(6), np.zeros(6)

    def run(self, until_s: float) -> list[float]:
        """When who is used has changed."""
        per_thrust, twist, state = np.linalg.inv(mass_matrix(HEAVY)) @ HEAVY.input_matrix, self.twist, np.zeros(13)
        state[3], changes, use = 1.0, [], ThrusterUse(HEAVY, OFTEN)
        use._watch = self.watch
        use.fitted(HEAVY)  # suspects of before have no effect
        for k in range(round(self.t_s / 0.05) + 1, round(until_s / 0.05)):
            t_s = self.t_s = 0.05 * k
            force = 3.0 * np.sin(t_s + np.arange(8))
            if t_s < self.steered_from_s:
                force = np.zeros(8)
            else:
                force = use.command_N(t_s, force, HEAVY.input_min_N, HEAVY.input_max_N, test=True)
            true = force.copy()
            true[self.index] = self.gain * force[self.index] + self.stuck_N
            used = np.ones(8)
            used[use.unused] = 0.0
            twist = twist + 0.05 * per_thrust @ (true - used * force)  # beyond what the model explains
            # The model's own acceleration at rest is left out of the measurement: what is added is felt alone.
            measured = state.copy()
            measured[TWIST] = twist + self.drift(used * force, per_thrust) + self.rng.normal(0.0, 0.005, 6)
            if self.watch.see(t_s, 0.05, force, measured, state, np.zeros(3)):
                changes.append(t_s)
                use.fitted(HEAVY)
        self.twist = twist
        return changes

    def drift(self, force: np.ndarray, per_thrust: np.ndarray) -> np.ndarray:
        """Twist that the model expects of the forces so far."""
        self.expected = self.expected + 0.05 * per_thrust @ force
        return self.expected


@pytest.mark.parametrize(
    ("gain", "stuck_N", "kind"), [(0.0, 0.0, "dead"), (0.5, 0.0, "weak"), (-1.0, 0.0, "reversed"), (0.0, 8.0, "stuck")]
)
def test_each_fault_is_named(gain: float, stuck_N: float, kind: str) -> None:
    trial = Trial(gain, stuck_N)
    changes = trial.run(14.0)
    assert len(changes) == 1 and changes[0] < 10.0
    assert {i: f.kind for i, f in trial.watch.faults.items()} == {5: kind}
    found = trial.watch.faults[5]
    assert found.gain == pytest.approx(gain, abs=0.15)
    assert 0 <= found.force_N <= stuck_N + 0.5  # from the start on: part of it counts as usual


@pytest.mark.parametrize(("gain", "kinds"), [(1.0, {}), (0.0, {5: "dead"})])
def test_no_verdict_without_a_test(gain: float, kinds: dict[int, str]) -> None:
    """A suspect whose pushes were not sent (STOP) stays a suspect; it is tested when the vehicle is steered again."""
    trial = Trial(gain)
    trial.watch._take_out(0.0, [5], 0.9)
    trial.steered_from_s = 9.0
    trial.run(8.0)
    assert {i: f.kind for i, f in trial.watch.faults.items()} == {5: "suspect"}
    trial.run(16.0)
    assert {i: f.kind for i, f in trial.watch.faults.items()} == kinds


def test_a_suspect_is_tested_after_a_restart_of_the_clock() -> None:
    trial = Trial(1.0)
    trial.watch._take_out(0.0, [5], 0.9)
    trial.watch.clear()
    trial.run(8.0)
    assert not trial.watch.faults


def test_a_healthy_thruster_is_left_alone() -> None:
    trial = Trial(0.93)
    assert trial.run(20.0) == [] and not trial.watch.faults


@pytest.mark.parametrize(("noise", "tests", "kind"), [(0.1, 1, "suspect"), (0.1, 2, "weak"), (3.0, 2, "suspect")])
def test_weak_is_a_verdict_of_two_clear_tests(noise: float, tests: int, kind: str) -> None:
    watch, rng = ThrusterWatch(HEAVY, OFTEN), np.random.default_rng(2)
    watch._take_out(0.0, [5], 0.9)
    for k in range(tests):
        felt = np.zeros((20, 8))
        felt[:, 5] = 4.0 * np.repeat([1.0, -1.0, -1.0, 1.0], 5) * (-1) ** k
        z = np.outer(0.45 * felt[:, 5], watch._signatures[:, 5]) + noise * rng.standard_normal((20, 6))
        watch._flown.append([(0.1 * j, z[j], felt[j]) for j in range(20)])
        watch._judge(3.0, [5])
    assert watch.faults[5].kind == kind


@pytest.mark.parametrize(
    ("gain", "noise", "force_N", "kind"),
    [(0.6, 0.02, 0.0, "weak"), (0.6, 0.8, 0.0, "suspect"), (0.0, 0.02, 3.0, "dead"), (0.0, 0.02, 6.0, "stuck")],
)
def test_what_two_tests_of_a_suspect_say(gain: float, noise: float, force_N: float, kind: str) -> None:
    """Half of one on a light vehicle only in calm water; a force that the water may be is no stuck thruster."""
    watch, rng = ThrusterWatch(HEAVY, OFTEN), np.random.default_rng(5)
    watch._take_out(0.0, [5], 0.9)
    for k in range(2):
        felt = np.zeros((20, 8))
        felt[:, 5] = 4.0 * np.repeat([1.0, -1.0, -1.0, 1.0], 5) * (-1) ** k
        z = np.outer(gain * felt[:, 5] + force_N, watch._signatures[:, 5]) + noise * rng.standard_normal((20, 6))
        watch._flown.append([(0.1 * j, z[j], felt[j]) for j in range(20)])
    watch._judge(6.0, [5])
    assert watch.faults[5].kind == kind


@pytest.mark.parametrize(("noise", "suspects"), [(0.05, []), (0.35, [3])])
def test_one_test_of_all_makes_a_suspect_where_errors_blur_it(noise: float, suspects: list[int]) -> None:
    """A clear one is repeated at once instead: two of them are a verdict."""
    watch, rng = ThrusterWatch(HEAVY, OFTEN), np.random.default_rng(1)
    felt = np.outer(np.repeat([1.0, -1.0, -1.0, 1.0], 5), opposed(HEAVY.input_matrix))
    z = np.outer(-0.4 * felt[:, 3], watch._signatures[:, 3]) + noise * rng.standard_normal((20, 6))
    watch._test_s, watch._rows = 10.0, [(10.0 + 0.1 * j, z[j], felt[j]) for j in range(20)]
    assert watch._rhythm(13.0, np.zeros(6)) == bool(suspects)
    assert [i for i, f in watch.faults.items() if f.kind == "suspect"] == suspects
    assert watch._tested == (-1 if suspects else 3)


def test_what_is_missing_changes_at_once_when_a_thruster_is_taken_out() -> None:
    """Of one that gives half, minus half of its force is missing; of one that is out of use, plus half of it."""
    watch, felt = ThrusterWatch(HEAVY, OFTEN), 3.0 * np.ones(8)
    own = HEAVY.input_matrix[:, 5] * felt[5]
    for seen in (watch._missing, watch._at_once):
        seen.felt_N, seen.value = felt, np.linalg.solve(mass_matrix(HEAVY), -0.5 * own)
    without = [replace(t, direction=np.zeros(3)) if t.name == "thruster6" else t for t in HEAVY.thrusters]
    watch.set_vehicle(replace(HEAVY, thrusters=tuple(without)))
    for seen in (watch._missing, watch._at_once):
        np.testing.assert_allclose(mass_matrix(HEAVY) @ seen.value, 0.5 * own, atol=1e-9)
    watch.set_vehicle(HEAVY)
    for seen in (watch._missing, watch._at_once):
        np.testing.assert_allclose(mass_matrix(HEAVY) @ seen.value, -0.5 * own, atol=1e-9)


@pytest.mark.parametrize(("gain", "tests"), [(0.3, 1), (0.3, 2), (0.15, 1)])
def test_a_single_test_is_not_trusted_beyond_what_bends_it(gain: float, tests: int) -> None:
    """0.15 may be a half thruster on a heavy vehicle: dead is not said of it after one test."""
    watch, rng = ThrusterWatch(HEAVY, OFTEN), np.random.default_rng(2)
    watch._take_out(0.0, [5], 0.9)
    for k in range(tests):
        felt = np.zeros((20, 8))
        felt[:, 5] = 4.0 * np.repeat([1.0, -1.0, -1.0, 1.0], 5) * (-1) ** k
        z = np.outer(gain * felt[:, 5], watch._signatures[:, 5]) + 0.02 * rng.standard_normal((20, 6))
        watch._flown.append([(0.1 * j, z[j], felt[j]) for j in range(20)])
        watch._judge(3.0, [5])
    assert watch.faults[5].kind == ("weak" if tests == 2 else "suspect")


@pytest.mark.parametrize("truth", ["water", "thruster"])
def test_a_changed_current_is_told_from_a_thruster(truth: str) -> None:
    """At speed a current from abeam turns the vehicle as one horizontal thruster does; forces and moments differ."""
    watch, water, felt = ThrusterWatch(HEAVY, OFTEN), ChangedWater(), np.full(8, 6.0)
    signature, change = watch._signatures[:, 3], np.array([-0.1, 0.5, 0.05])
    for k in range(6):
        state = np.zeros(13)
        state[3], state[TWIST] = 1.0, [0.3 + 0.02 * k, 0.1, 0.0, 0.0, 0.0, 0.1]
        missing = watch._water_wrench(state, change) - watch._water_wrench(state, np.zeros(3))
        water.add(state, np.zeros(3), missing if truth == "water" else -6.0 * signature, felt)
    by_water, by_thruster = water.left_by_water(watch._water_wrench), water.left_by_thruster(3, signature)
    if truth == "water":
        assert by_water < 1e-3 < by_thruster
    else:
        assert by_thruster < 1e-9 and by_water > 20.0


def looks_of_a_jump(direction: np.ndarray, size: float = 14.0) -> list[int]:
    """What each look finds from a jump on, on the default vehicle with the noise of its odometry."""
    watch, rng = ThrusterWatch(DEFAULT, OFTEN), np.random.default_rng(4)
    for _ in range(30):
        assert watch._sudden.see(rng.normal(0.0, 0.3, 6), OFTEN.level) == -1
    growing = size * np.minimum(1.0, np.arange(1, 8) / 5)  # lag and filter
    return [watch._sudden.see(k * direction + rng.normal(0.0, 0.3, 6), OFTEN.level) for k in growing]


@pytest.mark.parametrize("index", range(8))
def test_a_jump_shows_its_thruster_beside_those_that_nearly_push_alike(index: int) -> None:
    """Moments weigh so much that two vertical thrusters across from each other share half of their signatures."""
    directions = ThrusterWatch(DEFAULT, OFTEN)._sudden._directions
    aside = np.zeros(6)
    aside[5 if index >= 4 else 2] = 0.15  # of the change is nobody's: lag and drag that are believed wrong
    found = looks_of_a_jump(directions[:, index] + aside)
    assert set(found) == {-1, index} and found.index(index) <= 4  # 0.25 s after the jump


@pytest.mark.parametrize(
    ("loss", "out_of_use", "suspected"), [(0.2, [], False), (0.3, [], True), (0.3, [5], False), (0.5, [5], True)]
)
def test_a_thruster_that_works_hard_for_another_is_no_suspect(
    loss: float, out_of_use: list[int], suspected: bool
) -> None:
    """It carries 18 N and the model's errors of two; without both of them the vehicle tumbles."""
    watch, felt, state = ThrusterWatch(DEFAULT, OFTEN), np.zeros(8), np.zeros(13)
    watch.faults = {i: ThrusterFault("stuck", force_N=10.0) for i in out_of_use}
    state[3], felt[6] = 1.0, 18.0
    watch._missing.felt_N, z = felt, -loss * 18.0 * watch._signatures[:, 6]
    assert z @ z > 1.5 * OFTEN.level
    found = False
    for k in range(30):
        watch._water.add(state, np.zeros(3), z, felt)
        found = found or watch._weigh(10.0 + 0.1 * k, 0.1, z)
    assert found == suspected and (6 in watch.faults) == suspected


@pytest.mark.parametrize(("out_of_use", "tests"), [([], 1), ([5], 2)])
def test_beside_one_out_of_use_two_blurred_tests_must_agree(out_of_use: list[int], tests: int) -> None:
    watch, rng = ThrusterWatch(HEAVY, OFTEN), np.random.default_rng(1)
    watch.faults = {i: ThrusterFault("dead") for i in out_of_use}
    felt = np.outer(np.repeat([1.0, -1.0, -1.0, 1.0], 5), opposed(HEAVY.input_matrix))
    z = np.outer(-0.4 * felt[:, 3], watch._signatures[:, 3]) + 0.35 * rng.standard_normal((20, 6))
    for k in range(tests):
        start_s = 10.0 + 3.0 * k
        watch._test_s, watch._rows = start_s, [(start_s + 0.1 * j, z[j], felt[j]) for j in range(20)]
        assert watch._rhythm(start_s + 3.0, np.zeros(6)) == (k == tests - 1)
    assert watch.faults[3].kind == "suspect"


def test_a_jump_between_two_thrusters_is_neither() -> None:
    directions = ThrusterWatch(DEFAULT, OFTEN)._sudden._directions
    between = directions[:, 4] - directions[:, 7]
    assert set(looks_of_a_jump(between / np.linalg.norm(between))) == {-1}
