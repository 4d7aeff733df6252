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
from shoal.messages.state import ATTITUDE, POSITION
from shoal.recordings import resample
from shoal.recordings import ros_messages as msg
from shoal.recordings.bag_reader import read_runs
from shoal.recordings.bag_repair import repair
from shoal.recordings.mcap_writer import write_mcap
from shoal.recordings.recording import Limits, RunRecord
from synthetic_runs import make_record

ABOUT_THE_MACHINE = {"solve_ms", "wall_s", "real_time_factor"}


def run(**changes: Any) -> RunRecord:
    """Two vehicles on the circle, late and noisy, with a stretch of fallback and one that turns away."""
    record = make_record(duration_s=30.0, shift_s=0.8, noise_m=0.02, meta={"seed": 7})
    mode = record.mode.copy()
    mode[100:140, 1] = 2
    states = record.states.copy()
    turn = np.radians(np.interp(record.times_s, [12, 16, 20], [0, 50, 0]))
    states[:, 0, 3], states[:, 0, 6] = np.cos(turn / 2), np.sin(turn / 2)
    return replace(record, mode=mode, states=states, **changes)


def assert_same_verdict(bag: Any, run_: Any, tolerance: float) -> None:
    for name, value in run_.model_dump().items():
        if name not in ABOUT_THE_MACHINE:
            got = bag.model_dump()[name]
            if isinstance(value, float):
                assert got == pytest.approx(value, rel=tolerance, abs=1e-6), name
            elif isinstance(value, tuple) and None not in value:
                assert got == pytest.approx(value, rel=tolerance, abs=1e-3, nan_ok=True), name
            else:
                assert got == value, name


def test_equals_the_simulations_own_metrics(tmp_path: Path) -> None:
    record = run(limits=Limits(fov_hard_deg=45.0))  # so that it fails, with a pair and a time
    write_mcap(record, tmp_path / "bag")
    (back,) = read_runs(tmp_path / "bag")
    assert summarise(record).fov_failed and summarise(back).failure == summarise(record).failure
    assert_same_verdict(summarise(back), summarise(record), 1e-6)
    assert np.allclose(back.times_s, record.times_s, atol=1e-9)
    assert np.allclose(back.states[..., POSITION], record.states[..., POSITION], atol=1e-9)
    assert np.allclose(np.abs(np.sum(back.states[..., ATTITUDE] * record.states[..., ATTITUDE], axis=2)), 1.0)
    assert np.allclose(back.thrust_N, record.thrust_N)
    assert np.array_equal(back.mode, record.mode)
    assert back.events[0][1:] == ("bluerov3", "station_keeping: STATION_KEEPING")


class OtherBag:
    """As `ros2 bag record` leaves it: the nodes' topics, log times of the wall clock, SQLite or MCAP."""

    def __init__(self, folder: Path, storage: StoragePlugin) -> None:
        self.writer = Writer(folder, version=9, storage_plugin=storage)
        self.connections: dict[str, Any] = {}

    def write(self, log_s: float, topic: str, kind: str, message: Any) -> None:
        if topic not in self.connections:
            self.connections[topic] = self.writer.add_connection(topic, kind, typestore=msg.STORE)
        self.writer.write(self.connections[topic], round(log_s * 1e9), msg.STORE.serialize_cdr(message, kind))


def text(data: object) -> Any:
    return msg.STORE.types["std_msgs/msg/String"](data=json.dumps(data))


def write_as_nodes_do(
    record: RunRecord, folder: Path, storage: StoragePlugin, wall_s: float = 1.7e9, lead_s: float = 0.0
) -> None:
    """Odometry every instant but jittered per vehicle; the test begins `lead_s` into the recording."""
    wall_s, bag, half = 1.7e9, OtherBag(folder, storage), 0.5 * (record.times_s[1] - record.times_s[0])
    test = {"test": "circle", "duration_s": record.duration_s, "sequence": ["circle"]}
    with bag.writer:
        for k, t in enumerate(record.times_s):
            now, log = t + 100.0 + lead_s, wall_s + (t + lead_s) / 4  # a simulation at four times real time
            if k == 0 and lead_s:
                for early in np.arange(0.0, lead_s, 0.1):
                    for v, name in enumerate(record.names):
                        state = record.states[0, v] + np.array([9.0] + [0.0] * 12)  # far off before the test
                        odometry = msg.odometry(100.0 + early, name, state)
                        bag.write(wall_s + early / 4, f"/{name}/odometry", "nav_msgs/msg/Odometry", odometry)
                    pose = msg.pose_stamped(100.0 + early, record.reference_m[0])
                    bag.write(wall_s + early / 4, "/fleet/setpoint", "geometry_msgs/msg/PoseStamped", pose)
                    status = text({**test, "state": "waiting", "t_s": 0.0, "stamp_s": 100.0 + early})
                    bag.write(wall_s + early / 4, "/fleet/test_status", "std_msgs/msg/String", status)
            for v, name in enumerate(record.names):
                late = half * v / len(record.names)
                state = record.states[k, v]
                bag.write(log, f"/{name}/odometry", "nav_msgs/msg/Odometry", msg.odometry(now + late, name, state))
                for i, newton in enumerate(record.thrust_N[k, v]):
                    topic = f"/model/{name}/joint/thruster{i + 1}_joint/cmd_thrust"
                    bag.write(log, topic, "std_msgs/msg/Float64", msg.float64(newton))
            pose = msg.pose_stamped(now, record.reference_m[k])
            bag.write(log, "/fleet/setpoint", "geometry_msgs/msg/PoseStamped", pose)
            bag.write(log, "/goal_pose", "geometry_msgs/msg/PoseStamped", msg.pose_stamped(now, np.zeros(3)))
            if k == 0:
                sight = [["bluerov2", "bluerov3"], ["bluerov3", "bluerov2"]]
                bag.write(log, "/fleet/formation", "std_msgs/msg/String", text({"sight": sight}))
            if k % 2 == 0 and lead_s:
                status = text({**test, "state": "running", "t_s": t, "stamp_s": now})
                bag.write(log, "/fleet/test_status", "std_msgs/msg/String", status)


@pytest.mark.parametrize("storage", [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
def test_recordings_of_others_by_type(tmp_path: Path, storage: StoragePlugin) -> None:
    record = replace(run(), mode=np.zeros((301, 2), dtype=np.int8))
    write_as_nodes_do(record, tmp_path / "bag", storage)
    (back,) = read_runs(tmp_path / "bag", fleet="two")
    bag, own = summarise(back), summarise(record)
    assert back.names == record.names and back.must_see == ((0, 1), (1, 0))
    assert bag.fov_max_deg == pytest.approx(own.fov_max_deg, abs=0.5)
    assert bag.distance_min_m == pytest.approx(own.distance_min_m, abs=0.03)
    assert bag.rmse_m == pytest.approx(own.rmse_m, rel=0.05)
    assert bag.time_shift_s[:2] == pytest.approx(own.time_shift_s[:2], abs=0.05)
    assert bag.thrust_rms_N == pytest.approx(own.thrust_rms_N, rel=1e-3)
    assert bag.failed == own.failed


def test_each_test_is_a_run_of_its_own(tmp_path: Path) -> None:
    record = run()
    write_as_nodes_do(record, tmp_path / "bag", StoragePlugin.MCAP, lead_s=6.0)
    (back,) = read_runs(tmp_path / "bag")
    assert back.meta["path"] == "circle" and back.duration_s == pytest.approx(30.0, abs=0.2)
    assert back.meta["start_stamp_s"] == pytest.approx(106.0, abs=0.1)
    assert summarise(back).path_error_max_m == pytest.approx(summarise(record).path_error_max_m, abs=0.02)
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
                bag.write(log, "/a/odometry", "nav_msgs/msg/Odometry", msg.odometry(t, "a", there))
                bag.write(log, "/fleet/setpoint", "geometry_msgs/msg/PoseStamped", msg.pose_stamped(t, state[:3]))
    (back,) = read_runs(tmp_path / "bag")
    assert back.duration_s == pytest.approx(28.9, abs=0.2)
    assert summarise(back).rmse_whole_m == pytest.approx(0.0, abs=1e-9)


def test_nonsense_and_gaps_are_told(tmp_path: Path) -> None:
    bag = OtherBag(tmp_path / "bag", StoragePlugin.MCAP)
    state = np.array([0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0.0])
    with bag.writer:
        for t in np.arange(1.0, 40.0, 0.1):
            if not 20 < t < 23:
                broken = state * np.nan if 10 < t < 10.5 else state
                bag.write(t, "/a/odometry", "nav_msgs/msg/Odometry", msg.odometry(t, "a", broken))
            bag.write(t, "/fleet/setpoint", "geometry_msgs/msg/PoseStamped", msg.pose_stamped(t, state[:3]))
    (back,) = read_runs(tmp_path / "bag")
    said = [event[2] for event in back.events]
    assert any("not numbers" in s for s in said) and any("no odometry for 3." in s for s in said)
    assert not summarise(back).broken


def test_bags_without_a_run_are_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ShoalError, match="not found"):
        read_runs(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ShoalError, match="rosbag2"):
        read_runs(tmp_path / "empty")
    bag = OtherBag(tmp_path / "bag", StoragePlugin.MCAP)
    with bag.writer:
        bag.write(1.0, "/a/odometry", "nav_msgs/msg/Odometry", msg.odometry(1.0, "a", np.ones(13)))
    with pytest.raises(ShoalError, match="no setpoint"):
        read_runs(tmp_path / "bag")


def test_command_line(tmp_path: Path) -> None:
    write_mcap(run(), tmp_path / "bag")
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
    write_mcap(run(), tmp_path / "bag")
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
