"""Shared files agree with the code: RViz and Foxglove show topics that exist, teleop.launch.py starts its nodes."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from rosbags.highlevel import AnyReader

import foxglove_layout
from foxglove_layout import known
from shoal.recordings.run_messages import write_bag
from shoal.recordings.typestore import store
from shoal.tasks.run import RunSpec, simulate
from shoal_teleop.nodes import teleop_nodes

ROOT = Path(__file__).resolve().parents[3]


def all_values(data: Any, key: str) -> list[Any]:
    """Every value under `key`, however deep."""
    if isinstance(data, dict):
        here = [data[key]] if key in data else []
        return here + [v for value in data.values() for v in all_values(value, key)]
    return [v for value in data for v in all_values(value, key)] if isinstance(data, list) else []


def test_rviz_shows_topics_of_the_table_with_their_qos() -> None:
    data = yaml.safe_load((ROOT / "config/rviz/shoal.rviz").read_text())
    assert data["Visualization Manager"]["Global Options"]["Fixed Frame"] == "map"
    shown = [t for t in all_values(data, "Topic") if isinstance(t, dict)]
    assert {"/markers", "/fleet/setpoint", "/fleet/waypoints", "/goal_pose"} <= {t["Value"] for t in shown}
    for entry in shown:
        topic = known(entry["Value"])
        assert topic is not None, entry
        latched = entry["Durability Policy"] == "Transient Local"
        assert latched == (topic.qos == "latched"), entry  # asking for more than is offered shows nothing
        assert entry["Reliability Policy"] == "Reliable" and topic.qos in ("latched", "latest", "reliable")


@pytest.mark.parametrize("name", foxglove_layout.NAMES)
def test_foxglove_layout_is_whole_and_its_panels_have_what_they_read(name: str) -> None:
    data = foxglove_layout.load(name)

    def panels(node: Any) -> list[str]:
        if isinstance(node, str):
            return [node]
        assert set(node) == {"direction", "first", "second", "splitPercentage"} and node["direction"] in "row column"
        return panels(node["first"]) + panels(node["second"])

    assert {"configById", "globalVariables", "layout"} <= set(data)  # without these an import is refused
    assert sorted(panels(data["layout"])) == sorted(data["configById"])
    for key, panel in data["configById"].items():
        needed, allowed = foxglove_layout.SETTINGS[key.split("!")[0]]
        assert needed <= set(panel) <= needed | allowed | foxglove_layout.TITLE, key
        for series in panel.get("paths", ()):
            assert foxglove_layout.SERIES[0] <= set(series) <= set.union(*foxglove_layout.SERIES), (key, series)
            assert series["timestampMethod"] in ("receiveTime", "headerStamp")
        if "legendDisplay" in panel:
            assert panel["legendDisplay"] in ("floating", "top", "left", "none") and panel["xAxisVal"] == "timestamp"


@pytest.mark.parametrize("name", foxglove_layout.NAMES)
def test_foxglove_layout_shows_fields_that_exist(name: str) -> None:
    """By the table of topics and the messages' own definitions; what is plotted is a number."""
    data = foxglove_layout.load(name)
    for path in foxglove_layout.plotted(data):
        assert re.fullmatch(r"u?int\d+|float\d+", foxglove_layout.type_at(path)), path
    for path in foxglove_layout.shown(data):
        assert foxglove_layout.type_at(path), path
    sent = [p for p in data["configById"].values() if "datatype" in p]
    for panel in sent:
        topic = known(panel["topicName"])
        assert topic is not None and panel["datatype"].replace("/msg/", "/") == topic.type
        assert set(json.loads(panel["value"])) == {"data"}
    assert len(foxglove_layout.topics_of(data)) > 10
    with pytest.raises(KeyError):
        foxglove_layout.type_at("/rov1/odometry.pose.pose.posture.x")


RUNS = {
    "shoal": RunSpec(path="circle", fleet="two", seed=1, duration_s=1.0),
    "docking": RunSpec(task="dock", fleet="two", seed=1, duration_s=1.0),
    "platform": RunSpec(task="assemble", fleet="vessels3", condition="tank_offsets", seed=107, duration_s=1.0),
}
# Topics of nodes that a simulated run does without: they are in what `shoal up --record --display` records.
NODES_ONLY = {"/markers", "/fleet/mode", "/fleet/test_status", "/fleet/waypoints", "/fleet/assembly", "/fleet/platform",
              "/fleet/set_docking", "/fleet/set_platform"}  # fmt: skip


@pytest.mark.parametrize("name", foxglove_layout.NAMES)
def test_a_simulated_recording_has_what_its_foxglove_layout_shows(name: str, tmp_path: Path) -> None:
    write_bag(simulate(RUNS[name]), tmp_path / "recording")
    with AnyReader([tmp_path / "recording"], default_typestore=store()) as reader:
        recorded = {c.topic: c.msgtype.replace("/msg/", "/") for c in reader.connections if c.msgcount}
    wanted = foxglove_layout.topics_of(foxglove_layout.load(name))
    nodes_only = {t for t in wanted if t in NODES_ONLY or re.search(r"/(docking|fiducial|owner)(/|$)", t)}
    assert wanted - nodes_only <= set(recorded)
    for topic in wanted - nodes_only:
        table = known(topic)
        assert table is not None and table.type == recorded[topic]


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem.replace(".", "_"), file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("driver, nodes", [("shoal", 2), ("joy", 2), ("none", 1)])
def test_teleop_launch_starts_the_list_of_nodes(monkeypatch: pytest.MonkeyPatch, driver: str, nodes: int) -> None:
    load(ROOT / "src/shoal_gazebo/test/launch_stand_in.py").install(monkeypatch)
    module = load(ROOT / "launch/teleop.launch.py")
    given = {name: default for name, (default, _, _) in module.ARGUMENTS.items()} | {"driver": driver}
    actions = module.start(SimpleNamespace(launch_configurations=given))
    started = [a.options for a in actions if type(a).__name__ == "Node"]
    expected = teleop_nodes("xbox", driver, 0)
    assert len(started) == len(expected) == nodes
    for option, spec in zip(started, expected, strict=True):
        assert (option["package"], option["executable"], option["name"]) == (spec.package, spec.executable, spec.name)
        assert option["parameters"] == [dict(spec.parameters)]
    assert type(actions[0]).__name__ == "SetEnvironmentVariable"  # this machine only, unless asked for more


real_launch = importlib.util.find_spec("launch_ros") is not None


@pytest.mark.skipif(not real_launch, reason="launch and launch_ros come with a ROS 2 install only")
def test_teleop_launch_with_the_real_launch() -> None:
    from launch import LaunchContext

    module = load(ROOT / "launch/teleop.launch.py")
    context = LaunchContext()
    description = module.generate_launch_description()
    for action in description.entities[:-1]:
        action.execute(context)
    assert len(module.start(context)) == 3


def test_wrong_choices_are_told_before_anything_starts() -> None:
    from shoal.errors import ShoalError

    for bad in ({"layout": "no_such_pad"}, {"driver": "bluetooth"}):
        with pytest.raises(ShoalError):
            teleop_nodes(**bad)
