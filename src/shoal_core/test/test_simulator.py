"""The lock-step simulator carries messages and nothing else: what is lost, late, slow or stopped shows in the run."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from closed_loop import changed, simulated
from shoal.fleet.file import load_fleet
from shoal.messages.health import Code, Mode
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import POSITION
from shoal.recordings.recording import Recording
from shoal.simulation.conditions import Condition, ControllerTime, ReferenceLink
from shoal.simulation.reference_link import ReferenceChannel
from shoal.simulation.simulator import SimulatedStopwatch
from shoal.simulation.world import World
from shoal.tasks.run import Run, RunSpec, build_run

PERIOD_S = 0.05


def finished(condition: Condition, duration_s: float = 6.0, task: str = "follow_path", **given: Any) -> Run:
    """A run that has run, with its runtimes to look at."""
    run = build_run(RunSpec("circle", "2", condition, 3, duration_s=duration_s, task=task, task_settings=given))
    run.simulator.run()
    return run


def reported(recording: Recording, vehicle: str) -> dict[Code, float]:
    """When each issue was first reported."""
    found: dict[Code, float] = {}
    for event in recording.events:
        if event.vehicle == vehicle:
            for issue in event.issues:
                found.setdefault(issue.code, event.t_s)
    return found


# -- plans --------------------------------------------------------------------------------------------------------


def test_a_silent_radio_sends_no_plans() -> None:
    silent = changed("ideal", faults=[{"vehicle": 0, "kind": "radio_silent", "from_s": 2.0, "to_s": 5.0}])
    run = build_run(RunSpec("circle", "2", silent, 3, duration_s=6.0))
    first, second = run.fleet.names
    newest: dict[str, list[float]] = {name: [] for name in run.fleet.names}
    for k, _ in enumerate(run.simulator.ticks()):
        t_s = k * PERIOD_S
        for name, other in ((first, second), (second, first)):
            newest[name].append(t_s - run.simulator.runtimes[name].neighbours.known(t_s)[other].stamp_s)
    times = np.arange(121) * PERIOD_S
    during = (times >= 2.0 + PERIOD_S) & (times < 5.0)
    np.testing.assert_allclose(np.array(newest[second])[during], times[during] - (2.0 - PERIOD_S), atol=1e-9)
    assert max(newest[first]) <= PERIOD_S + 1e-9  # the silent one still receives
    assert max(np.array(newest[second])[times >= 5.0 + PERIOD_S]) <= PERIOD_S + 1e-9  # and is back
    recording = run.recording()
    assert Code.LOST_CONTACT in reported(recording, second) and reported(recording, first) == {}


def test_silent_from_the_beginning_has_never_been_known() -> None:
    run = finished(changed("ideal", faults=[{"vehicle": 0, "kind": "radio_silent"}]), 1.0)
    first, second = run.fleet.names
    assert run.simulator.runtimes[second].neighbours.known(1.0) == {}
    assert list(run.simulator.runtimes[first].neighbours.known(1.0)) == [second]


def test_plans_are_those_of_the_link_and_not_better() -> None:
    """2 s of delay: the newest plan that anybody has is 2 s old, from the first step on."""
    recording = simulated(condition=changed("ideal", link={"delay_s": 2.0}), duration_s=3.0)
    np.testing.assert_allclose(recording.neighbour_age_s, 2.0, atol=PERIOD_S + 1e-9)
    lost = finished(changed("ideal", link={"loss": 1.0}), 1.0)
    assert all(not runtime.neighbours.known(1.0) for runtime in lost.simulator.runtimes.values())


def test_the_loss_of_the_link_shows_in_the_age_of_plans() -> None:
    """With 70 % loss the age in periods is geometric: 7/3 on average, beyond what a perfect link gives."""
    perfect, lossy = (
        simulated(condition=changed("ideal", link={"loss": loss}), duration_s=60.0).neighbour_age_s / PERIOD_S
        for loss in (0.0, 0.7)
    )
    assert lossy.mean() - perfect.mean() == pytest.approx(7 / 3, rel=0.15)


# -- references ---------------------------------------------------------------------------------------------------


def test_references_that_are_all_lost_mean_hold() -> None:
    recording = simulated(condition=changed("ideal", reference={"loss": 1.0}), duration_s=4.0)
    for name in recording.names:
        assert reported(recording, name) == {Code.NO_REFERENCE: 0.0}
    moved_m = np.linalg.norm(recording.states[-1, :, POSITION] - recording.states[0, :, POSITION], axis=1)
    assert moved_m.max() < 0.05


def test_references_later_than_the_timeout_are_never_followed() -> None:
    late = simulated(condition=changed("ideal", reference={"delay_s": 1.6}), duration_s=4.0)
    for name in late.names:
        assert reported(late, name) == {Code.NO_REFERENCE: 0.0, Code.STALE_REFERENCE: pytest.approx(1.6)}
    assert np.linalg.norm(late.states[-1, :, POSITION] - late.states[0, :, POSITION], axis=1).max() < 0.05


def test_references_half_a_second_late_are_followed_as_if_in_time() -> None:
    in_time, late = (
        simulated("line", condition=changed("ideal", reference={"delay_s": d}), duration_s=8.0) for d in (0.0, 0.5)
    )
    assert {code for name in late.names for code in reported(late, name)} == {Code.NO_REFERENCE}  # until the first
    assert np.abs(late.states[-1, :, POSITION] - in_time.states[-1, :, POSITION]).max() < 0.02


def test_every_other_reference_lost_is_hardly_noticed() -> None:
    recording = simulated(condition=changed("ideal", reference={"loss": 0.5}), duration_s=8.0)
    error_m = np.linalg.norm(recording.centroid_m - recording.reference_m, axis=1)
    assert error_m[recording.times_s > 2.0].max() < 0.05


def channel(loss: float, delay_s: float = 0.0, count: int = 2) -> ReferenceChannel:
    names = [f"v{i}" for i in range(count)]
    settings = ReferenceLink(loss=loss, delay_s=delay_s)
    return ReferenceChannel(settings, names, np.random.default_rng(1))


def arrivals(of: ReferenceChannel, count: int, names: tuple[str, ...] = ("v0", "v1")) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {name: [] for name in names}
    for k in range(count):
        point = Preview(np.array([float(k)]), np.zeros((1, 3)), np.zeros((1, 3)))
        of.send(float(k), point, {})
        for name in names:
            found[name].append(bool(of.arrivals(float(k), name)))
    return found


def test_each_vehicle_loses_references_of_its_own() -> None:
    found = arrivals(channel(0.3), 4000)
    low, high = binom.interval(0.9999, 4000, 0.7)
    assert all(low <= sum(got) <= high for got in found.values())
    one, two = (np.array(found[name], dtype=float) for name in ("v0", "v1"))
    assert abs(np.corrcoef(one, two)[0, 1]) < 4 / np.sqrt(4000)


def test_the_share_of_losses_does_not_change_the_draws() -> None:
    few, many = arrivals(channel(0.2), 200), arrivals(channel(0.6), 200)
    assert all(b <= a for name in few for a, b in zip(few[name], many[name], strict=True))  # only more are lost


def test_references_arrive_in_order_after_their_delay() -> None:
    late = channel(0.0, 0.5)
    for k in range(5):
        late.send(0.2 * k, Preview(np.array([0.2 * k]), np.zeros((1, 3)), np.zeros((1, 3))), {})
    assert late.arrivals(0.49, "v0") == []
    assert [item[0].times_s[0] for item in late.arrivals(0.9, "v0")] == pytest.approx([0.0, 0.2, 0.4])
    assert [item[0].times_s[0] for item in late.arrivals(5.0, "v0")] == pytest.approx([0.6, 0.8])
    assert len(late.arrivals(5.0, "v1")) == 5


# -- time that controllers take -----------------------------------------------------------------------------------


def test_a_slow_controller_misses_deadlines() -> None:
    """Every step takes four periods: there is never a plan, station keeping holds."""
    slow = changed("ideal", controller_time={"median_ms": 200.0, "p99_ms": 200.0})
    recording = simulated(condition=slow, duration_s=4.0)
    assert (recording.mode == int(Mode.STATION_KEEPING)).all()
    for name in recording.names:
        assert reported(recording, name) == {Code.DEADLINE_MISSED: 0.0}
    moved_m = np.linalg.norm(recording.states[-1, :, POSITION] - recording.states[0, :, POSITION], axis=1)
    assert moved_m.max() < 0.1


def test_one_step_in_ten_is_late_and_the_previous_plan_bridges_it() -> None:
    """Log-normal with median 40 and 99 % below 60 ms: beyond a period of 50 ms in 10 % of all cases."""
    recording = simulated(
        condition=changed("ideal", controller_time={"median_ms": 40.0, "p99_ms": 60.0}), duration_s=20.0
    )
    bridged = np.mean(recording.mode == int(Mode.PREVIOUS_PLAN))
    assert 0.06 < bridged < 0.14
    assert (recording.mode[1:] <= int(Mode.PREVIOUS_PLAN)).all()
    error_m = np.linalg.norm(recording.centroid_m - recording.reference_m, axis=1)
    assert error_m[recording.times_s > 10.0].max() < 0.1


@pytest.mark.parametrize("took_ms", [0.0, 20.0, 40.0])
def test_thrust_comes_later_by_the_time_that_a_step_takes(took_ms: float) -> None:
    """The first period is that of a world in which the same command arrives then."""
    given = {"controller_time": {"median_ms": took_ms, "p99_ms": took_ms}} if took_ms else {}
    condition = changed("ideal", **given)
    recording = simulated(condition=condition, duration_s=0.1, task="hold_station")
    fleet = load_fleet("two")
    world = World(fleet, {m.name: m.start_state() for m in fleet.vehicles}, condition, 0, PERIOD_S, 1.0)
    for name in fleet.names:
        assert np.abs(recording.thrust_N[name][0]).max() > 0.1  # the vehicle is light, and trimmed down at once
        world.command(name, recording.thrust_N[name][0], 0.0, took_ms * 1e-3)
    world.step(PERIOD_S)
    np.testing.assert_allclose(recording.states[1], world.states, rtol=0, atol=1e-12)


def test_plans_leave_when_they_have_been_computed() -> None:
    """Without computing time the second vehicle has the first one's plan of the same instant."""
    at_once, later = (
        simulated(condition=changed("ideal", **given), duration_s=1.0).neighbour_age_s
        for given in ({}, {"controller_time": {"median_ms": 20.0, "p99_ms": 20.0}})
    )
    np.testing.assert_allclose(at_once[2:], np.tile([PERIOD_S, 0.0], (19, 1)), atol=1e-9)
    np.testing.assert_allclose(later[2:], PERIOD_S, atol=1e-9)


def drawn_ms(settings: ControllerTime, stream: int, count: int = 20_000) -> np.ndarray:
    watch = SimulatedStopwatch(settings, stream)
    readings = [watch() for _ in range(2 * count)]
    between = [b - a for a, b in pairwise(readings)]
    assert not any(between[1::2])  # no time passes between two steps
    return np.array(between[0::2]) * 1e3


def test_times_are_drawn_as_the_condition_has_them() -> None:
    settings = ControllerTime(median_ms=3.0, p99_ms=12.0, seed=1)
    times = drawn_ms(settings, 0)
    assert np.median(times) == pytest.approx(3.0, rel=0.03)
    assert np.percentile(times, 99) == pytest.approx(12.0, rel=0.08)
    np.testing.assert_array_equal(times, drawn_ms(settings, 0))
    assert np.abs(np.corrcoef(times, drawn_ms(settings, 1))[0, 1]) < 0.03  # another vehicle
    assert not np.array_equal(times, drawn_ms(settings.model_copy(update={"seed": 2}), 0))


def test_no_time_passes_unless_the_condition_has_it() -> None:
    watch = SimulatedStopwatch(None, 0)
    assert {watch() for _ in range(10)} == {0.0}


# -- what an operator does ----------------------------------------------------------------------------------------


def test_stop_and_release_by_script() -> None:
    script = [{"at_s": 2.0, "do": "stop"}, {"at_s": 4.0, "do": "release"}]
    recording = simulated("line", condition="ideal", duration_s=6.0, settings={"script": script})
    stopped = (recording.times_s > 2.0 - 1e-9) & (recording.times_s < 4.0 - 1e-9)
    assert (recording.mode[stopped] == int(Mode.ZERO_THRUST)).all()
    assert (recording.mode[~stopped] == int(Mode.CONTROLLER)).all()
    for thrust in recording.thrust_N.values():
        assert not thrust[stopped].any() and thrust[~stopped].any()
    for name in recording.names:
        assert reported(recording, name) == {Code.STOPPED: pytest.approx(2.0)}


def test_stop_without_release_lasts() -> None:
    recording = simulated("line", duration_s=5.0, settings={"script": [{"at_s": 1.0, "do": "stop"}]})
    assert (recording.mode[recording.times_s > 1.0 + 1e-9] == int(Mode.ZERO_THRUST)).all()


def test_hold_by_script_brakes_and_stands() -> None:
    script = [{"at_s": 6.0, "do": "hold"}]
    held = simulated("circle", condition="ideal", duration_s=14.0, settings={"script": script})
    free = simulated("circle", condition="ideal", duration_s=14.0)
    before = held.times_s < 6.0
    np.testing.assert_array_equal(held.states[before], free.states[before])
    assert np.abs(held.states[-1, :, 7:10]).max() < 0.02 < np.abs(free.states[-1, :, 7:10]).max()
    np.testing.assert_allclose(held.reference_m[-20:], np.tile(held.reference_m[-1], (20, 1)), atol=1e-3)
    assert (held.mode == int(Mode.CONTROLLER)).all()


# -- the whole ----------------------------------------------------------------------------------------------------

EVERYTHING: dict[str, Any] = {
    "link": {"loss": 0.4, "delay_s": 0.1, "jitter_s": 0.2},
    "reference": {"loss": 0.2, "delay_s": 0.1},
    "controller_time": {"median_ms": 10.0, "p99_ms": 60.0, "seed": 3},
    "faults": [{"vehicle": 1, "kind": "radio_silent", "from_s": 1.0, "to_s": 2.0}],
}


@pytest.mark.parametrize("task", ["follow_path", "exchange", "recover", "hold_station"])
def test_bit_for_bit_the_same_for_a_seed(task: str) -> None:
    condition = changed("worst_case", **EVERYTHING)
    first, again, other = (simulated(condition=condition, seed=s, duration_s=3.0, task=task) for s in (1, 1, 2))
    for key in ("states", "odometry", "mode", "slack_max", "neighbour_age_s", "current_mps", "plans_m", "setpoints_m"):
        np.testing.assert_array_equal(getattr(first, key), getattr(again, key), err_msg=key)
    for name in first.names:
        np.testing.assert_array_equal(first.thrust_N[name], again.thrust_N[name])
    assert first.events == again.events and first.issue_shares == again.issue_shares
    assert not np.array_equal(first.states, other.states)


def test_what_was_run_is_written_by_the_simulator() -> None:
    """A recovery once ignored path, fleet and controller, and was labelled with them."""
    about = simulated("torus", "two_fosso2023", "default", task="recover", seed=7, duration_s=0.2).about
    assert (about.task, about.path, about.fleet, about.condition) == ("recover", "", "two_fosso2023", "default")
    assert (about.controller, about.seed, about.control_period_s) == ("nmpc", 7, 0.05)


def test_the_formation_is_sent_before_any_reference_counts() -> None:
    run = build_run(RunSpec("circle", "2", "ideal", duration_s=0.1))
    sent: list[Placement] = []
    for runtime in run.simulator.runtimes.values():
        runtime.on_formation = sent.append  # type: ignore[method-assign]
    next(iter(run.simulator.ticks()))
    assert len(sent) == 2 and set(sent[0].offsets) == set(run.fleet.names)
