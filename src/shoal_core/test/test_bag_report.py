"""A recording gives the same verdict as the run that it recorded, whoever wrote it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from typer.testing import CliRunner

from shoal.cli import app
from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.evaluation.summary import Summary
from shoal.fleet.file import load_fleet
from shoal.messages import topics
from shoal.messages.health import Code, Issue, Mode, Severity
from shoal.messages.limits import Limits
from shoal.messages.odometry import Odometry
from shoal.messages.placement import Placement
from shoal.messages.preview import Preview
from shoal.messages.state import ATTITUDE, POSITION
from shoal.messages.topics import Topic
from shoal.recordings import resample
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.bag_repair import repair
from shoal.recordings.codec import odometry_to_bytes, pose_to_bytes, preview_to_bytes
from shoal.recordings.codec_display import float_to_bytes, text_to_bytes
from shoal.recordings.placement_json import formation_to_json
from shoal.recordings.recording import HealthEvent, Outcome, Recording
from shoal.recordings.run_messages import write_bag
from shoal.recordings.typestore import kind_of, store
from synthetic_runs import make_record

ABOUT_THE_MACHINE = {"solve_median_ms", "solve_p99_ms", "solve_max_ms", "wall_s", "real_time_factor"}


def run(**changes: Any) -> Recording:
    """Two vehicles on the circle, late and noisy, with a stretch of fallback and one that turns away."""
    record = make_record(duration_s=30.0, shift_s=0.8, noise_m=0.02, about={"seed": 7})
    mode = record.mode.copy()
    mode[100:140, 1] = Mode.STATION_KEEPING
    failed = Issue(Code.SOLVER_FAILED, Severity.ERROR, value=3.0)
    events = (
        *record.events,
        HealthEvent(10.0, "rov2", Mode.STATION_KEEPING, (failed,)),
        HealthEvent(14.0, "rov2", Mode.CONTROLLER, ()),
    )
    shares = record.issue_shares | {"solver failed": 40 / 602}
    states = record.states.copy()
    turn = np.radians(np.interp(record.times_s, [12, 16, 20], [0, 50, 0]))
    states[:, 0, 3], states[:, 0, 6] = np.cos(turn / 2), np.sin(turn / 2)
    return replace(record, mode=mode, states=states, events=events, issue_shares=shares, **changes)


def assert_same_verdict(bag: Summary, run_: Summary, tolerance: float) -> None:
    assert bag.model_dump(exclude={"metrics", "issues"}) == run_.model_dump(exclude={"metrics", "issues"})
    assert bag.issues == pytest.approx(run_.issues)
    assert bag.metrics.keys() | ABOUT_THE_MACHINE == run_.metrics.keys() | ABOUT_THE_MACHINE
    for name in run_.metrics.keys() - ABOUT_THE_MACHINE:
        before, after = run_.metrics[name], bag.metrics[name]
        assert after.value == pytest.approx(before.value, rel=tolerance, abs=1e-3 if "shift" in name else 1e-6), name
        assert (after.subject, after.failed, after.bound) == (before.subject, before.failed, before.bound), name


def test_equals_the_simulations_own_metrics(tmp_path: Path) -> None:
    bounds = {"rov2": np.array([[-1.0] * 6, [2.0] * 6])}
    record = run(limits=Limits(sight_hard_deg=45.0), thrust_bounds_N=bounds)  # so that it fails, with a pair and a time
    write_bag(record, tmp_path / "bag")
    (back,) = read_runs(tmp_path / "bag")
    assert summarise(record).broke("fov_max_deg") and summarise(back).failure == summarise(record).failure
    assert_same_verdict(summarise(back), summarise(record), 1e-6)
    assert np.allclose(back.times_s, record.times_s, atol=1e-9)
    assert np.allclose(back.states[..., POSITION], record.states[..., POSITION], atol=1e-9)
    assert np.allclose(np.abs(np.sum(back.states[..., ATTITUDE] * record.states[..., ATTITUDE], axis=2)), 1.0)
    assert {name: thrust.shape[1] for name, thrust in back.thrust_N.items()} == {"rov1": 8, "rov2": 6}
    assert all(np.array_equal(back.thrust_N[name], record.thrust_N[name]) for name in record.names)
    assert np.array_equal(back.mode, record.mode)
    assert back.events == record.events
    assert back.issue_shares == pytest.approx(record.issue_shares)
    assert (back.must_see, back.limits) == (record.must_see, record.limits)
    assert back.thrust_bounds_N["rov2"].tolist() == [[-1.0] * 6, [2.0] * 6]
    assert replace(back.about, wall_s=4.0) == record.about


@pytest.mark.parametrize("reached_s", [2.0, None])
def test_an_outcome_is_of_the_whole_run(tmp_path: Path, reached_s: float | None) -> None:
    write_bag(run(outcome=Outcome("all in place", reached_s)), tmp_path / "bag")
    (back,) = read_runs(tmp_path / "bag")
    assert back.outcome == Outcome("all in place", reached_s)
    (part,) = read_runs(tmp_path / "bag", from_s=5.0)
    assert part.outcome is None


def test_what_is_the_matter_at_the_start_of_a_part_is_an_event_there(tmp_path: Path) -> None:
    record = run()
    write_bag(record, tmp_path / "bag")
    (part,) = read_runs(tmp_path / "bag", from_s=12.0, to_s=20.0)
    stale, failed, fine = record.events
    assert [(e.t_s, e.vehicle, e.mode, e.issues) for e in part.events] == [
        (0.0, "rov1", Mode.CONTROLLER, stale.issues),
        (0.0, "rov2", Mode.STATION_KEEPING, failed.issues),
        (pytest.approx(2.0), "rov2", Mode.CONTROLLER, fine.issues),
    ]


def test_limits_and_thrust_bounds_of_the_fleet_asked_for(tmp_path: Path) -> None:
    write_bag(run(limits=Limits(sight_hard_deg=45.0)), tmp_path / "bag")
    (back,) = read_runs(tmp_path / "bag", fleet="two")
    fleet = load_fleet("two")
    assert back.limits == fleet.limits
    assert np.array_equal(back.thrust_bounds_N["rov1"][1], fleet.vehicles[0].vehicle().thrust_max_N)
    assert "rov2" not in back.thrust_bounds_N  # six thrusters were recorded, that fleet's has eight
    with pytest.raises(ShoalError, match="'no_such_fleet' is unknown"):
        read_runs(tmp_path / "bag", fleet="no_such_fleet")


def test_a_recording_in_which_nobody_must_see_anybody(tmp_path: Path) -> None:
    write_bag(run(must_see=()), tmp_path / "bag")
    (back,) = read_runs(tmp_path / "bag")
    assert back.must_see == ()


def test_the_older_name_of_truth_is_read(tmp_path: Path) -> None:
    bag = OtherBag(tmp_path / "bag", StoragePlugin.MCAP)
    measured, true = np.zeros(13), np.zeros(13)
    measured[3] = true[3] = 1.0
    true[0] = 7.0
    with bag.writer:
        for t in np.arange(1.0, 9.0, 0.1):
            bag.odometry(t, t, "a", measured)
            data = odometry_to_bytes(Odometry(t, true), "a")
            bag.write(t, replace(topics.TRUTH, name="/{vehicle}/ground_truth"), data, vehicle="a")
            bag.write(t, topics.SETPOINT, pose_to_bytes(t, np.zeros(3)))
    (back,) = read_runs(tmp_path / "bag")
    assert np.allclose(back.states[:, 0, 0], 7.0) and np.allclose(back.odometry[:, 0, 0], 0.0)


class OtherBag:
    """As `ros2 bag record` leaves it: the nodes' topics, log times of the wall clock, SQLite or MCAP."""

    def __init__(self, folder: Path, storage: StoragePlugin) -> None:
        self.writer = Writer(folder, version=9, storage_plugin=storage)
        self.connections: dict[str, Any] = {}

    def write(self, log_s: float, topic: Topic, data: bytes, **blanks: str) -> None:
        name = topic.of(**blanks)
        if name not in self.connections:
            self.connections[name] = self.writer.add_connection(name, kind_of(topic.type), typestore=store())
        self.writer.write(self.connections[name], round(log_s * 1e9), data)

    def odometry(self, log_s: float, stamp_s: float, vehicle: str, state: Any) -> None:
        self.write(log_s, topics.ODOMETRY, odometry_to_bytes(Odometry(stamp_s, state), vehicle), vehicle=vehicle)


def text(data: object) -> bytes:
    return text_to_bytes(json.dumps(data))


def write_as_nodes_do(record: Recording, folder: Path, storage: StoragePlugin, lead_s: float = 0.0) -> None:
    """Odometry every instant but jittered per vehicle; the test begins `lead_s` into the recording."""
    wall_s, bag, half = 1.7e9, OtherBag(folder, storage), 0.5 * (record.times_s[1] - record.times_s[0])
    test = {"test": "circle", "duration_s": record.duration_s, "sequence": ["circle"]}
    with bag.writer:
        for early in np.arange(0.0, lead_s, 0.1):
            log = wall_s + early / 4
            for v, name in enumerate(record.names):
                bag.odometry(log, 100.0 + early, name, record.states[0, v] + np.array([9.0] + [0.0] * 12))  # far off
            bag.write(log, topics.SETPOINT, pose_to_bytes(100.0 + early, record.reference_m[0]))
            waiting = {**test, "state": "waiting", "t_s": 0.0, "stamp_s": 100.0 + early}
            bag.write(log, topics.TEST_STATUS, text(waiting))
        for k, t in enumerate(record.times_s):
            now, log = t + 100.0 + lead_s, wall_s + (t + lead_s) / 4  # a simulation at four times real time
            for v, name in enumerate(record.names):
                bag.odometry(log, now + half * v / len(record.names), name, record.states[k, v])
                for i, newton in enumerate(record.thrust_N[name][k]):
                    thruster = f"thruster{i + 1}"
                    bag.write(log, topics.THRUST, float_to_bytes(newton), vehicle=name, thruster=thruster)
            bag.write(log, topics.SETPOINT, pose_to_bytes(now, record.reference_m[k]))
            bag.write(log, topics.GOAL_POSE, pose_to_bytes(now, np.zeros(3)))
            if k == 0:
                sight = [["rov1", "rov2"], ["rov2", "rov1"]]
                bag.write(log, topics.FORMATION, text({"sight": sight}))
            if k % 2 == 0 and lead_s:
                bag.write(log, topics.TEST_STATUS, text({**test, "state": "running", "t_s": t, "stamp_s": now}))


@pytest.mark.parametrize("storage", [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
def test_recordings_of_others_by_type(tmp_path: Path, storage: StoragePlugin) -> None:
    record = replace(run(), mode=np.zeros((301, 2), dtype=np.int8))
    write_as_nodes_do(record, tmp_path / "bag", storage)
    (back,) = read_runs(tmp_path / "bag", fleet="two")
    bag, own = summarise(back), summarise(record)
    assert back.names == record.names and back.must_see == ((0, 1), (1, 0))
    near = {"fov_max_deg": 0.5, "distance_min_m": 0.03, "time_shift_x_s": 0.05, "time_shift_y_s": 0.05}
    for name, tolerance in near.items():
        assert bag.value(name) == pytest.approx(own.value(name), abs=tolerance), name
    assert bag.value("rmse_m") == pytest.approx(own.value("rmse_m"), rel=0.05)
    assert bag.value("thrust_rms_N") == pytest.approx(own.value("thrust_rms_N"), rel=1e-3)
    assert bag.value("setpoint_error_rms_m") is None  # nobody recorded where each vehicle belonged
    assert bag.failed == own.failed


def test_own_setpoints_follow_from_reference_and_formation(tmp_path: Path) -> None:
    """A line turned by the reference's headings, from 5 s on by the formation's own yaw, from 10 s on farther apart."""
    bag, state = OtherBag(tmp_path / "bag", StoragePlugin.MCAP), np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])
    offsets = {"a": np.array([1.0, 0.0, 0.0]), "b": np.array([-1.0, 0.0, 0.0])}
    with bag.writer:
        for t in np.arange(1.0, 20.0, 0.1):
            times, velocity = t + np.arange(0.0, 4.0, 0.5), np.array([0.2, 0.0, 0.0])
            path = times[:, None] * velocity
            headings = np.full(len(times), np.pi / 2) if t < 5.95 else None
            reference = preview_to_bytes(Preview(times, path, 0 * path + velocity, headings), t)
            if round(t * 10) % 5 == 0:  # every half second
                bag.write(t, topics.REFERENCE, reference)
            for name in offsets:
                bag.odometry(t, t, name, state)
            bag.write(t, topics.SETPOINT, pose_to_bytes(t, path[0]))
            if round(t * 10) in (10, 110):
                placement = Placement(offsets, 1.0 if t < 10 else 2.0, None, np.pi, ("a", "b"), (("a", "b"),))
                bag.write(t, topics.FORMATION, text_to_bytes(formation_to_json(placement)))
    (back,) = read_runs(tmp_path / "bag")
    arms = back.setpoints_m - back.reference_m[:, None]
    for t_s, arm in {2.0: [0, 1, 0], 4.5: [0, 1, 0], 6.0: [-1, 0, 0], 9.0: [-1, 0, 0], 12.0: [-2, 0, 0]}.items():
        k = int(np.argmin(np.abs(back.times_s - t_s)))
        np.testing.assert_allclose(arms[k, 0], arm, atol=1e-6, err_msg=f"at {t_s} s")
        np.testing.assert_allclose(arms[k, 1], -np.array(arm), atol=1e-6)
    assert back.must_see == ((0, 1),)


def test_each_test_is_a_run_of_its_own(tmp_path: Path) -> None:
    record = run()
    write_as_nodes_do(record, tmp_path / "bag", StoragePlugin.MCAP, lead_s=6.0)
    (back,) = read_runs(tmp_path / "bag")
    assert (back.about.task, back.about.path) == ("follow_path", "circle") and back.duration_s == pytest.approx(
        30.0, abs=0.2
    )
    assert back.about.start_stamp_s == pytest.approx(106.0, abs=0.1)
    path_error_m = [summarise(r).value("path_error_max_m") for r in (back, record)]
    assert path_error_m[0] == pytest.approx(path_error_m[1], abs=0.02)
    (part,) = read_runs(tmp_path / "bag", from_s=20.0, to_s=30.0)
    assert part.duration_s == pytest.approx(10.0, abs=0.1)
    with pytest.raises(ShoalError, match="no recording there"):
        read_runs(tmp_path / "bag", from_s=1000.0)


def test_after_a_reset_only_the_last_try_counts(tmp_path: Path) -> None:
    bag = OtherBag(tmp_path / "bag", StoragePlugin.MCAP)
    state = np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])
    with bag.writer:
        for attempt, length_s in enumerate((20.0, 30.0)):
            for t in np.arange(1.0, length_s, 0.1):
                log = 1000.0 + attempt * 100 + t
                there = state + np.array([50.0 * (1 - attempt), *[0.0] * 12])
                bag.odometry(log, t, "a", there)
                bag.write(log, topics.SETPOINT, pose_to_bytes(t, state[POSITION]))
    (back,) = read_runs(tmp_path / "bag")
    assert back.duration_s == pytest.approx(28.9, abs=0.2)
    assert summarise(back).value("rmse_whole_m") == pytest.approx(0.0, abs=1e-9)


def test_nonsense_and_gaps_are_events(tmp_path: Path) -> None:
    bag = OtherBag(tmp_path / "bag", StoragePlugin.MCAP)
    state = np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])
    with bag.writer:
        for t in np.arange(1.0, 40.0, 0.1):
            if not 20 < t < 23:
                broken = state * np.nan if 10 < t < 10.5 else state
                bag.odometry(t, t, "a", broken)
            bag.write(t, topics.SETPOINT, pose_to_bytes(t, state[POSITION]))
    (back,) = read_runs(tmp_path / "bag")
    found = {issue.code: (event.t_s, issue.value) for event in back.events for issue in event.issues}
    assert found[Code.ODOMETRY_NOT_FINITE] == pytest.approx((9.0, 5.0))
    assert found[Code.ODOMETRY_STALE] == pytest.approx((19.0, 3.0), abs=0.11)
    assert not summarise(back).broke("not_a_number_share")


def test_bags_without_a_run_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ShoalError, match="not found"):
        read_runs(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ShoalError, match="rosbag2"):
        read_runs(tmp_path / "empty")
    bag = OtherBag(tmp_path / "bag", StoragePlugin.MCAP)
    with bag.writer:
        bag.odometry(1.0, 1.0, "a", np.ones(13))
    with pytest.raises(ShoalError, match="no setpoint"):
        read_runs(tmp_path / "bag")


def test_command_line(tmp_path: Path) -> None:
    write_bag(run(), tmp_path / "bag")
    done = CliRunner().invoke(app, ["bag", "report", str(tmp_path / "bag")])
    assert done.exit_code == 0, done.output
    assert "largest FOV angle" in done.output and "report.html" in done.output.replace("\n", "")
    assert (tmp_path / "bag" / "report" / "report.html").stat().st_size > 10_000
    again = CliRunner().invoke(app, ["bag", "report", str(tmp_path / "bag"), "--json"])
    (summary,) = json.loads(again.output)
    assert summary["seed"] == 7 and summary["path"] == "circle"
    bad = CliRunner().invoke(app, ["bag", "report", str(tmp_path)])
    assert bad.exit_code == 2 and "rosbag2" in bad.output


def test_a_torn_recording_is_reported_as_far_as_it_goes_and_repaired_on_demand(tmp_path: Path) -> None:
    write_bag(run(), tmp_path / "bag")
    file = next((tmp_path / "bag").glob("*.mcap"))
    os.truncate(file, int(file.stat().st_size * 0.6))
    torn = file.read_bytes()
    (back,) = read_runs(tmp_path / "bag")
    assert 3.0 < back.duration_s < 30.0 and file.read_bytes() == torn
    done = CliRunner().invoke(app, ["bag", "repair", str(tmp_path / "bag")])
    assert done.exit_code == 0 and "repaired" in done.output
    assert repair(tmp_path / "bag").was_whole
    (fixed,) = read_runs(tmp_path / "bag")
    assert fixed.duration_s == back.duration_s


def test_resampling() -> None:
    times, rows = resample.in_order(np.array([2.0, 1.0, 2.0]), np.array([5.0, 1.0, 6.0]))
    assert times.tolist() == [1.0, 2.0] and rows.tolist() == [1.0, 6.0]
    assert resample.held(np.array([0.5, 1.0, 9.0]), times, rows, np.nan).tolist()[1:] == [1.0, 6.0]
    q = np.array([np.cos(0.1), 0, 0, np.sin(0.1)])
    state = np.zeros((2, 13))
    state[0, ATTITUDE], state[1, ATTITUDE] = [1, 0, 0, 0], -q  # the same attitude with the other sign
    middle = resample.states(np.array([0.5]), np.array([0.0, 1.0]), state)[0, 3:7]
    assert np.allclose(np.abs(middle @ [np.cos(0.05), 0, 0, np.sin(0.05)]), 1.0)
