"""Bridge files: as agreed (golden files), no topic shared by two vehicles, names as Gazebo and the fleet have them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from shoal.fleet.file import load_fleet
from shoal_gazebo.bridge import SHARED, TO_GAZEBO, TO_ROS, bridge_entries, render_bridge
from shoal_gazebo.sdf_reader import read_model

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"
FLEETS = {"one": 1, "two": 2, "ring5": 5}
KNOWN_PAIRS = {  # ros_gz_bridge's README, Jazzy
    "nav_msgs/msg/Odometry": "gz.msgs.Odometry",
    "std_msgs/msg/Float64": "gz.msgs.Double",
    "sensor_msgs/msg/Image": "gz.msgs.Image",
    "sensor_msgs/msg/CameraInfo": "gz.msgs.CameraInfo",
    "rosgraph_msgs/msg/Clock": "gz.msgs.Clock",
    "geometry_msgs/msg/Vector3": "gz.msgs.Vector3d",
}


@pytest.mark.parametrize("fleet", FLEETS)
def test_golden_files(fleet: str) -> None:
    texts = render_bridge(load_fleet(fleet), "ocean")
    golden = {p.stem.removeprefix("bridge_"): p.read_text(encoding="utf-8") for p in (GOLDEN / fleet).glob("*.yaml")}
    assert texts == golden, f"if this is meant: shoal gazebo bridge {fleet} -o {GOLDEN / fleet}"


@pytest.mark.parametrize(("fleet", "count"), FLEETS.items())
def test_no_two_vehicles_share_a_topic(fleet: str, count: int) -> None:
    files = bridge_entries(load_fleet(fleet), "ocean")
    assert len(files) == count + 1
    entries = [entry for group in files.values() for entry in group]
    for side in ("ros_topic", "gz_topic"):
        used = Counter(getattr(entry, side) for entry in entries)
        assert [topic for topic, times in used.items() if times > 1] == []
    for vehicle, group in files.items():
        if vehicle != SHARED:
            assert len(group) == 11  # odometry, eight thrusters, image, camera info
            assert all(vehicle in e.ros_topic.split("/") and vehicle in e.gz_topic.split("/") for e in group)


def test_topics_are_those_of_the_model() -> None:
    """What Gazebo derives from the model's name, joint by joint, is what the bridge listens to and publishes."""
    model = read_model(ROOT / "models/bluerov2_heavy/model.sdf")
    entries = bridge_entries(load_fleet("two"), "tank")["rov2"]
    joints = [s.values["joint_name"] for s in model.systems("Thruster")]
    commands = [e for e in entries if e.direction == TO_GAZEBO]
    assert [e.gz_topic for e in commands] == [f"/model/rov2/joint/{joint}/cmd_thrust" for joint in joints]
    assert [e.ros_topic for e in commands] == [f"/model/rov2/joint/thruster{i}_joint/cmd_thrust" for i in range(1, 9)]
    (camera,) = model.cameras
    scoped = f"/world/tank/model/rov2/link/{camera.link}/sensor/{camera.name}"
    readings = {e.ros_topic: e.gz_topic for e in entries if e.direction == TO_ROS}
    assert readings == {
        "/rov2/odometry": "/model/rov2/odometry",
        "/rov2/camera/image": f"{scoped}/image",
        "/rov2/camera/camera_info": f"{scoped}/camera_info",
    }


def test_files_are_what_ros_gz_bridge_reads() -> None:
    allowed = {"ros_topic_name", "gz_topic_name", "ros_type_name", "gz_type_name", "direction"}
    for text in render_bridge(load_fleet("two"), "ocean").values():
        for entry in yaml.safe_load(text):
            assert allowed <= entry.keys() <= allowed | {"publisher_queue", "subscriber_queue", "lazy"}
            assert KNOWN_PAIRS[entry["ros_type_name"]] == entry["gz_type_name"]
            assert entry["direction"] in (TO_ROS, TO_GAZEBO), "one way only: both ways would echo"


def test_without_camera() -> None:
    entries = bridge_entries(load_fleet("one"), "ocean", camera=False)["rov1"]
    assert len(entries) == 9


def test_images_only_cross_when_someone_looks() -> None:
    for entry in bridge_entries(load_fleet("one"), "ocean")["rov1"]:
        assert entry.lazy == ("camera" in entry.ros_topic)
