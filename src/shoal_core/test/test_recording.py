"""Recordings read back: by rosbags, by mcap_ros2 (as Foxglove would), and Parquet to the same recording."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from mcap_ros2.reader import read_ros2_messages
from rosbags.highlevel import AnyReader

from shoal.errors import ShoalError
from shoal.evaluation.metrics import summarise
from shoal.evaluation.run_directory import read_summary, write_run
from shoal.messages.health import Mode
from shoal.messages.state import POSITION, VELOCITY
from shoal.recordings.parquet import read_parquet, write_parquet
from shoal.recordings.recording import HealthEvent, Outcome, Recording
from synthetic_runs import make_record

RECORD = replace(
    make_record(duration_s=5.0, shift_s=0.2, noise_m=0.02, seed=4),
    thrust_bounds_N={"rov2": np.array([[-1.0] * 6, [2.0] * 6])},
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "run"
    write_run(RECORD, summarise(RECORD), folder)
    return folder


def test_directory_is_complete_and_leaves_nothing_beside_it(run: Path) -> None:
    assert {p.name for p in run.iterdir()} == {"recording", "summary.json", "timeseries.parquet", "plans.parquet"}
    assert {p.name for p in (run / "recording").iterdir()} == {"recording_0.mcap", "metadata.yaml"}
    assert [p.name for p in run.parent.iterdir()] == ["run"]


def test_topics_and_types(run: Path) -> None:
    expected = {
        "/fleet/setpoint": "geometry_msgs/msg/PoseStamped",
        "/fleet/reference": "trajectory_msgs/msg/MultiDOFJointTrajectory",
        "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
        "/tf": "tf2_msgs/msg/TFMessage",
        "/rov1/distance/rov2": "std_msgs/msg/Float64",
    }
    for name, other in (("rov1", "rov2"), ("rov2", "rov1")):
        expected[f"/{name}/odometry"] = expected[f"/{name}/truth"] = "nav_msgs/msg/Odometry"
        expected[f"/{name}/setpoint"] = "geometry_msgs/msg/PoseStamped"
        expected[f"/{name}/plan"] = "trajectory_msgs/msg/MultiDOFJointTrajectory"
        expected[f"/{name}/plan_path"] = "nav_msgs/msg/Path"
        expected[f"/{name}/fov/{other}"] = "std_msgs/msg/Float64"
        for i in range(1, RECORD.thrust_N[name].shape[1] + 1):
            expected[f"/model/{name}/joint/thruster{i}_joint/cmd_thrust"] = "std_msgs/msg/Float64"
    with AnyReader([run / "recording"]) as reader:
        assert {c.topic: c.msgtype for c in reader.connections} == expected
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts["/rov1/odometry"] == counts["/fleet/setpoint"] == len(RECORD.times_s)
    assert counts["/rov1/plan"] == len(RECORD.plan_times_s)


def test_metadata_is_what_ros2_bag_reads(run: Path) -> None:
    info = yaml.safe_load((run / "recording" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert info["storage_identifier"] == "mcap"
    assert info["relative_file_paths"] == ["recording_0.mcap"]
    assert info["duration"]["nanoseconds"] == 5_000_000_000
    assert info["compression_mode"] == ""  # chunks are compressed inside the MCAP file, rosbag2 need not know


def test_values_with_rosbags(run: Path) -> None:
    """Position, attitude and twist arrive in ENU/FLU."""
    k = 17
    with AnyReader([run / "recording"]) as reader:
        wanted = [c for c in reader.connections if c.topic in ("/rov2/truth", "/rov2/odometry")]
        found = {}
        for connection, stamp, raw in reader.messages(wanted):
            if stamp == round(RECORD.times_s[k] * 1e9):
                found[connection.topic] = reader.deserialize(raw, connection.msgtype)
    truth = found["/rov2/truth"]
    n, e, d = RECORD.states[k, 1, POSITION]
    p = truth.pose.pose.position
    assert (p.x, p.y, p.z) == pytest.approx((e, n, -d))
    assert truth.header.frame_id == "map" and truth.child_frame_id == "rov2/base_link"
    q = truth.pose.pose.orientation  # heading south: forward is -y in ENU, a yaw of -90 degrees
    assert 2 * np.degrees(np.arctan2(q.z, q.w)) % 360 == pytest.approx(270.0)
    measured = found["/rov2/odometry"].twist.twist
    u, v, w = RECORD.odometry[k, 1, VELOCITY]
    assert (measured.linear.x, measured.linear.y, measured.linear.z) == pytest.approx((u, -v, -w))


def test_values_with_mcap_ros2(run: Path) -> None:
    seen: dict[str, list[object]] = {}
    for item in read_ros2_messages(run / "recording" / "recording_0.mcap"):
        seen.setdefault(item.channel.topic, []).append(item.ros_msg)
    assert [m.data for m in seen["/model/rov1/joint/thruster8_joint/cmd_thrust"]] == [7.0] * len(RECORD.times_s)  # type: ignore[attr-defined]
    shown: Any = seen["/rov1/plan_path"][3]
    assert len(shown.poses) == len(RECORD.plan_dt_s)
    assert shown.poses[0].pose.position.y == pytest.approx(RECORD.plans_m[3, 0, 0, 0])
    sent: Any = seen["/rov2/plan"][3]
    assert list(sent.joint_names) == ["rov2", "seq=3", "committed=1"]
    last = sent.points[-1]
    assert last.transforms[0].translation.z == pytest.approx(-RECORD.plans_m[3, 1, -1, 2])
    assert last.time_from_start.nanosec * 1e-9 + last.time_from_start.sec == pytest.approx(RECORD.plan_dt_s[-1])
    ahead: Any = seen["/fleet/reference"][3].points[-1]  # type: ignore[attr-defined]
    then = int(np.argmin(np.abs(RECORD.times_s - RECORD.plan_times_s[3] - RECORD.plan_dt_s[-1])))
    assert ahead.transforms[0].translation.x == pytest.approx(RECORD.reference_m[then, 1], abs=1e-6)
    assert ahead.velocities[0].linear.x == pytest.approx(RECORD.reference_velocity_mps[then, 1], abs=1e-6)
    sentences = " ".join(s.message for m in seen["/diagnostics"] for s in m.status)  # type: ignore[attr-defined]
    assert "stale plan from rov2" in sentences and "following" in sentences


def test_messages_are_in_order_of_time(run: Path) -> None:
    stamps = [item.log_time_ns for item in read_ros2_messages(run / "recording" / "recording_0.mcap")]
    assert stamps == sorted(stamps) and stamps[0] == 0


def test_parquet_gives_the_record_back(run: Path) -> None:
    back = read_parquet(run)
    for field in fields(Recording):
        before, after = getattr(RECORD, field.name), getattr(back, field.name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(after, before, err_msg=field.name)
        elif field.name == "thrust_bounds_N":
            assert {name: bounds.tolist() for name, bounds in after.items()} == {"rov2": [[-1.0] * 6, [2.0] * 6]}
        elif field.name == "thrust_N":
            assert [(name, thrust.shape) for name, thrust in after.items()] == [
                ("rov1", (51, 8)),
                ("rov2", (51, 6)),
            ]
            for name in before:
                np.testing.assert_array_equal(after[name], before[name])
        else:
            assert after == before, field.name
    assert summarise(back) == summarise(RECORD)


def test_parquet_keeps_an_outcome_and_a_vehicle_without_thrusters(tmp_path: Path) -> None:
    no_thrust = {"rov1": RECORD.thrust_N["rov1"], "rov2": np.zeros((len(RECORD.times_s), 0))}
    for outcome in (Outcome("all in place", 3.25), Outcome("all in place", None)):
        write_parquet(replace(RECORD, outcome=outcome, thrust_N=no_thrust), tmp_path)
        back = read_parquet(tmp_path)
        assert back.outcome == outcome and back.thrust_N["rov2"].shape == (len(RECORD.times_s), 0)


def test_parquet_of_an_older_version_still_loads(tmp_path: Path) -> None:
    """As written before health had codes: sentences, `slot`, limits of the FOV, and `meta` for all the rest."""
    write_parquet(RECORD, tmp_path)
    table = pq.read_table(tmp_path / "timeseries.parquet")
    head = json.loads(table.schema.metadata[b"shoal"])
    for key in ("about", "outcome", "issue_shares"):
        del head[key]
    head["limits"] = {"fov_hard_deg": 50.0, "distance_hard_m": 0.7, "fov_soft_deg": 25.0, "distance_soft_m": 1.9}
    head["events"] = [[1.5, "rov1", "shifted_plan: solver failed with status 3"], [2.5, "rov1", "nmpc"]]
    head["meta"] = {"path": "circle", "fleet": "two", "condition": "default", "seed": 4, "controller": "nmpc",
                    "version": "0.1.0", "warnings": {"plans of rov2 come late": 0.25}, "wall_s": 4.0,
                    "goal": "all in place", "goal_s": 3.0}  # fmt: skip
    names = [column.replace("setpoint", "slot") for column in table.column_names]
    old = table.rename_columns(names).replace_schema_metadata({b"shoal": json.dumps(head).encode()})
    pq.write_table(old, tmp_path / "timeseries.parquet")
    back = read_parquet(tmp_path)
    assert (back.limits.sight_hard_deg, back.limits.sight_soft_deg, back.limits.distance_hard_m) == (50.0, 25.0, 0.7)
    assert back.events == (
        HealthEvent(1.5, "rov1", Mode.PREVIOUS_PLAN),
        HealthEvent(2.5, "rov1", Mode.CONTROLLER),
    )
    assert (back.about.path, back.about.seed, back.about.wall_s) == ("circle", 4, 4.0)
    assert back.outcome == Outcome("all in place", 3.0)
    assert back.issue_shares == {"plans of rov2 come late": 0.25}
    np.testing.assert_array_equal(back.setpoints_m, RECORD.setpoints_m)


def test_parquet_columns_are_what_their_names_say(run: Path) -> None:
    frame = pd.read_parquet(run / "timeseries.parquet")
    for column, index in {"n_m": 0, "d_m": 2, "eta": 3, "e1": 4, "e3": 6, "v_mps": 8, "r_radps": 12}.items():
        np.testing.assert_array_equal(frame[f"rov2.{column}"], RECORD.states[:, 1, index], err_msg=column)
        np.testing.assert_array_equal(frame[f"rov2.measured_{column}"], RECORD.odometry[:, 1, index])
    np.testing.assert_array_equal(frame["rov1.thrust8_N"], 7.0)
    np.testing.assert_array_equal(frame["reference_e_m"], RECORD.reference_m[:, 1])


def test_summary_json_has_the_promised_keys(run: Path) -> None:
    data = json.loads((run / "summary.json").read_text())
    assert {"task", "path", "fleet", "condition", "controller", "seed", "failed", "duration_s"} <= data.keys()
    assert {"fov_max_deg", "distance_min_m", "rmse_m", "fallbacks"} <= data["metrics"].keys()
    assert read_summary(run) == summarise(RECORD)


def test_a_second_run_replaces_the_first_but_foreign_files_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_run(RECORD, summarise(RECORD), folder, recording=False)
    again = make_record(duration_s=5.0, seed=5)
    write_run(again, summarise(again), folder, recording=False)
    assert read_summary(folder).seed == 5
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "paper.tex").write_text("precious")
    with pytest.raises(ShoalError, match="holds other files; expected"):
        write_run(RECORD, summarise(RECORD), tmp_path / "home")
    assert (tmp_path / "home" / "paper.tex").read_text() == "precious"


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.recordings.run_messages._health", lambda recording: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_run(RECORD, summarise(RECORD), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShoalError, match=r"holds no timeseries\.parquet; expected a run directory"):
        read_parquet(tmp_path)
    with pytest.raises(ShoalError, match=r"holds no summary\.json"):
        read_summary(tmp_path)
