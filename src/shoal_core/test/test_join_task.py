"""A group flown by one of its members: estimate fused and handed on, next step with the new vehicle, take-over."""

from __future__ import annotations

import numpy as np
import pytest

from closed_loop import changed
from shoal.assembly.composite import Composite, compose
from shoal.assembly.joints import Assembly, Joint
from shoal.errors import ShoalError
from shoal.estimation.timing_bank import TimingEstimate
from shoal.fleet.handover import Knowledge, fused, joined, parted
from shoal.fleet.helm import Helm
from shoal.fleet.joint_watch import JointWatch
from shoal.fleet.neighbour_table import NeighbourTable
from shoal.frames import from_euler
from shoal.messages.health import Mode
from shoal.messages.joining import DrawnJoint, GroupCommand
from shoal.messages.odometry import Odometry
from shoal.messages.plan import Plan
from shoal.messages.state import ATTITUDE, POSITION, TWIST
from shoal.recordings.recording import Recording
from shoal.tasks.join import jump_m
from shoal.tasks.run import Run, RunSpec, build_run
from vehicles_for_tests import shipped

SETTINGS = {"join_from_s": 3.0, "part_at_s": 18.0, "duration_s": 26.0, "closing_mps": 0.3}


def pair() -> tuple[Assembly, Composite]:
    rov = shipped("wu2018")
    turn = from_euler(0.0, 0.0, 2.0)
    assembly = Assembly({"a": rov, "b": rov}, (Joint("a", "b", np.array([0.4, 0, 0]), np.array([0.3, 0.1, 0]), turn),))
    return assembly, compose(assembly, ("a", "b"))


def somewhere(seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=3), from_euler(*rng.uniform(-1, 1, 3).tolist()), rng.normal(size=6) / 5])


def test_fused_odometry_is_the_composites_whatever_the_sign_and_without_late_ones() -> None:
    _, composite = pair()
    state = somewhere()
    modules = composite.module_states(state)
    modules["b"][ATTITUDE] *= -1
    found = fused(composite, {name: Odometry(2.0, own) for name, own in modules.items()})
    assert found is not None and found.state == pytest.approx(state, abs=1e-12)
    late = {"a": Odometry(2.0, modules["a"]), "b": Odometry(1.5, somewhere(5))}
    found = fused(composite, late)
    assert found is not None and found.state == pytest.approx(state, abs=1e-12) and found.stamp_s == 2.0
    assert fused(composite, {"a": None, "b": None}) is None


def test_what_is_known_survives_joining_and_parting() -> None:
    """Momentum of the velocities, sum of the wrenches, everybody's thrust; parted, the shares add up to the whole."""
    assembly, composite = pair()
    states = composite.module_states(somewhere())
    known = {}
    for k, name in enumerate(composite.poses):
        rng = np.random.default_rng(k)
        own = Odometry(1.0, states[name])
        known[name] = Knowledge(
            own, rng.normal(size=6), rng.normal(size=3), rng.normal(size=8), TimingEstimate(0.1, 0.05)
        )
    whole = joined(composite, assembly.modules, known)
    assert whole is not None
    assert whole.odometry.state == pytest.approx(somewhere(), abs=1e-12)
    assert whole.thrust_N == pytest.approx(np.concatenate([k.thrust_N for k in known.values()]))
    shares = {name: parted(composite, name, assembly.modules[name], whole) for name in known}
    total = sum(composite.poses[name].twist().T @ share.wrench for name, share in shares.items())
    assert total == pytest.approx(whole.wrench)
    for name, share in shares.items():
        assert share.odometry.state == pytest.approx(states[name], abs=1e-12)
        assert share.thrust_N == pytest.approx(known[name].thrust_N)


def order(pilot: str, term: int = 0) -> GroupCommand:
    return GroupCommand(pilot, 1, term, 0.0, np.zeros(16))


def test_the_helm_passes_on_when_commands_stay_away_and_stays_there() -> None:
    """Each member decides for itself, by what it hears; a falls silent after 0.45 s and comes back at 2 s."""
    members = ("a", "b", "c")
    helms = {name: Helm(name, members, 0.0) for name in members}
    pilots = []
    for k in range(80):
        t_s = 0.05 * k
        if k == 40:
            helms["a"] = Helm("a", members, t_s, listen_first=True)
        up = [name for name in members if name != "a" or t_s < 0.5 or t_s >= 2.0]
        for name in up:
            helms[name].watch(t_s)
        flying = [name for name in up if helms[name].flies]
        for pilot in flying:
            for name in up:
                helms[name].heard(order(pilot, helms[pilot].term), t_s)
        pilots.append(flying)
    assert pilots[:10] == [["a"]] * 10 and pilots[10:15] == [[]] * 5
    assert pilots[15:] == [["b"]] * 65  # 0.3 s after the last command, and for good


def test_of_two_that_fly_one_stands_down() -> None:
    first, second = Helm("a", ("a", "b"), 0.0), Helm("b", ("a", "b"), 0.0)
    assert [second.watch(0.1 * k) for k in (1, 2, 3)] == [False, False, True]
    assert first.flies and second.flies  # the cable was out
    assert not second.heard(order("a", first.term), 0.35)
    assert first.heard(order("b", second.term), 0.35) and not first.flies
    assert not first.heard(order("stranger", 9), 0.4)
    late = Helm("b", ("a", "b"), 0.0, listen_first=True)  # its clock was not set yet
    taken = [t_s for t_s in np.arange(5.0, 6.0, 0.05) if late.watch(float(t_s))]
    assert taken == pytest.approx([5.6])  # nobody flies: after those before us would have spoken


def test_a_group_is_one_neighbour_and_ones_own_group_is_none() -> None:
    def plan(name: str, t_s: float) -> Plan:
        return Plan(name, 1, t_s, np.array([t_s]), np.zeros((1, 3)), np.zeros((1, 3)))

    table = NeighbourTable("me", ("mate", "x", "y"), 0.0, 2.0)
    for name in table.others:
        table.add_plan(plan(name, 0.0), 0.0)
    table.set_groups([("me", "mate"), ("x", "y")])
    assert table.known(0.0) == {}
    for k in range(1, 81):  # x speaks for y; then y for x
        table.add_plan(plan("x" if k < 40 else "y", 0.1 * k), 0.1 * k)
        table.add_plan(plan("mate", 0.1 * k), 0.1 * k)
        assert set(table.known(0.1 * k)) == {"x" if k < 40 else "y"}
        assert not table.lost(0.1 * k) and not table.hazards(0.1 * k)
    assert set(table.lost(11.0)) == {"x", "y"}
    table.set_groups([])
    table.known(12.0)
    assert not table.lost(12.1)  # nobody has been silent since
    table.add_plan(plan("mate", 12.1), 12.1)
    assert set(table.known(12.1)) == {"mate"}


def run_of(condition: str = "ideal", **changes: object) -> tuple[Run, Recording]:
    given = changed(condition, **changes)
    run = build_run(RunSpec(fleet="two", condition=given, seed=1, task="join", task_settings=SETTINGS))
    run.simulator.run()
    return run, run.recording()


def test_joined_and_parted_on_the_way_with_the_first_pilot_lost() -> None:
    """The sea trial; 0.3 s after the last command of the flying member the other one flies, and nobody jumps."""
    fails = {"vehicle": 0, "kind": "reboot", "from_s": 12.0, "to_s": 14.0}
    run, recording = run_of("default", faults=[fails])
    assert recording.outcome is not None and recording.outcome.reached_s == pytest.approx(18.0)
    director = run.task._director  # type: ignore[attr-defined]
    assert 3.0 < director.joined_s < 11.5
    joined_now = (recording.times_s > director.joined_s + 0.01) & (recording.times_s < 17.9)
    first, second = (recording.states[joined_now, i, POSITION] for i in (0, 1))
    apart = np.linalg.norm(first - second, axis=1)
    assert np.ptp(apart) < 1e-9  # one body
    assert apart[0] == pytest.approx(0.7, abs=0.06)
    assert (recording.mode[recording.times_s > 0.5] == Mode.CONTROLLER).all()
    assert max(jump_m(recording, t_s) for t_s in (director.joined_s, 18.0)) < 0.05
    off = np.linalg.norm(recording.states[:, :, POSITION] - recording.setpoints_m, axis=2)
    dying = (recording.times_s > 12.0) & (recording.times_s < 16.0)
    assert off[dying].max() < 0.1
    counts = {r.agent.vehicle.input_count for r in run.simulator.runtimes.values()}
    assert counts == {8}
    assert not np.abs(recording.states[:, :, TWIST]).max() > 1.0


def test_the_step_after_a_change_uses_the_new_vehicle() -> None:
    run = build_run(RunSpec(fleet="two", condition=changed("ideal"), seed=1, task="join", task_settings=SETTINGS))
    simulator, director = run.simulator, run.task._director  # type: ignore[attr-defined]
    for _ in simulator.ticks():
        joined_now = director.joined_s is not None and director.parted_s is None
        wanted = 16 if joined_now else 8
        assert {r.agent.vehicle.input_count for r in simulator.runtimes.values()} == {wanted}
        pilot = simulator.runtimes["rov1"]
        assert pilot.last is not None and len(pilot.last.thrust_N) == wanted
        if director.parted_s is not None:
            return
    raise AssertionError("never parted")


def test_a_joint_that_breaks_is_noticed_given_up_and_both_swim_on() -> None:
    """The sea trial; whoever flies finds it from odometry, and orders the joint to be given up."""
    run, recording = run_of("default", faults=[{"vehicle": 1, "kind": "joint_breaks", "from_s": 12.0}])
    simulator, director = run.simulator, run.task._director  # type: ignore[attr-defined]
    assert director.joined_s is not None and director.joined_s < 12.0
    assert recording.outcome is not None and recording.outcome.reached_s is None  # it was not parted by order
    assert not simulator.world.groups and not simulator._joined.joining.joints
    assert {r.agent.vehicle.input_count for r in simulator.runtimes.values()} == {8}
    found_s = run.simulator._joined.broken_s
    assert found_s is not None and 12.0 < found_s < 17.0
    settled = recording.times_s > 24.0
    off = np.linalg.norm(recording.states[settled][:, :, POSITION] - recording.setpoints_m[settled], axis=2)
    assert off.max() < 0.1
    assert (recording.mode[recording.times_s > 0.5] == Mode.CONTROLLER).all()


def test_a_joint_holds_whatever_navigation_does() -> None:
    """Constant errors, a slow drift and a corrected map; a steady parting is none of them."""
    assembly, composite = pair()
    (joint,) = assembly.joints
    drawn = DrawnJoint(joint.a, joint.b, joint.at_a_m, joint.at_b_m, joint.attitude)
    rng = np.random.default_rng(3)

    def swims(
        apart_mps: float, drift_mps: float = 0.0, jump_m: float = 0.0, turns_radps: float = 0.0, biased_m: float = 0.1
    ) -> float | None:
        watch = JointWatch(drawn)
        for k in range(600):
            t_s = 0.05 * k
            state = somewhere()
            state[POSITION] = [0.3 * t_s, 0.0, 5.0]
            state[ATTITUDE] = from_euler(0.0, 0.0, turns_radps * t_s)
            modules = composite.module_states(state)
            modules["b"][POSITION] += np.array([0.02, biased_m, 0.0]) + rng.normal(size=3) * 0.02
            modules["b"][POSITION] += drift_mps * t_s + (jump_m if t_s > 10.0 else 0.0)
            modules["b"][POSITION][1] += apart_mps * max(0.0, t_s - 15.0)
            if watch.see({name: Odometry(t_s, own) for name, own in modules.items()}):
                return t_s
        return None

    assert swims(0.0) is None and swims(0.0, drift_mps=0.002) is None and swims(0.0, jump_m=1.0) is None
    assert swims(0.0, turns_radps=0.4, biased_m=0.6) is None  # what two navigations differ by does not turn with them
    found = swims(0.05, turns_radps=0.4, biased_m=0.6)
    assert found is not None and 15.0 < found < 21.0
    for apart_mps, at_most_s in ((0.05, 20.0), (0.3, 16.2)):
        found = swims(apart_mps, jump_m=1.0)
        assert found is not None and 15.0 < found < at_most_s


def test_an_assembly_of_another_size_is_refused_in_a_sentence() -> None:
    with pytest.raises(ShoalError, match=r"assembly 'square' has 4 modules and the fleet 2 vehicles; expected as many"):
        build_run(RunSpec(fleet="two", task="join", task_settings={"assembly": "square"}))
    with pytest.raises(ShoalError, match=r"spacing_m = 1.6 is below the fleet's soft distance of 2 m; expected more"):
        build_run(RunSpec(fleet="two", task="join", task_settings={"spacing_m": 1.6}))
